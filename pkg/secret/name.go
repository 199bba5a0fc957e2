package secret

import (
	"errors"
	"fmt"
)

// ValidName reports whether name may name a variable: a letter or underscore,
// then letters, digits and underscores, all ASCII (C12).
func ValidName(name string) bool { return name != "" && nameLen(name) == len(name) }

// nameLen is the length of the name that s begins with, 0 if there is none.
func nameLen(s string) int {
	for i := 0; i < len(s); i++ {
		c := s[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return i
		}
	}
	return len(s)
}

// MissingError is a name without a value in any place that may be asked (C30).
type MissingError struct {
	Name string
	// InAgent tells that an environment has the name but may not be asked for
	// it: the agent's, when the name is not in agent_env; for a project's
	// server also the hub's, when the name was not recorded by an approval.
	InAgent bool
}

func (e *MissingError) Error() string { return fmt.Sprintf("%s is not set", e.Name) }

// IsMissing reports whether err is a *MissingError.
func IsMissing(err error) bool {
	var m *MissingError
	return errors.As(err, &m)
}
