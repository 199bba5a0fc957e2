package policy

import "postern/pkg/config"

// Matches reports whether a pattern of a deny or ask list covers a tool, for
// those who look for patterns that cover nothing. A text that is no pattern
// covers nothing.
func Matches(text string, t Tool) bool {
	t.read()
	p, err := parsePattern(config.Pattern{Text: text})
	return err == nil && p.matches(&t, true)
}
