package catalog

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	"postern/pkg/config"
	"postern/pkg/state"
)

// failure is the file of a failed discovery, see doc.go.
type failure struct {
	V        int       `json:"v"`
	Identity Identity  `json:"identity"`
	At       time.Time `json:"at"`
	Why      string    `json:"why"`
}

func (s *Store) failedPath(id Identity) string { return filepath.Join(s.dir, id.stem()+".failed") }

// Failed reports whether this declaration could not be listed within the last
// config.FailedDiscovery, and why, so that nobody starts it only to find out
// again (MB-057). Anything doubtful about the record means that it was not.
func (s *Store) Failed(id Identity) (why string, ok bool) {
	check := state.Check{Max: config.MaxFailureBytes, Private: true, Project: id.Project}
	data, _, err := state.ReadFile(s.failedPath(id), check)
	if err != nil {
		return "", false
	}
	var f failure
	if json.Unmarshal(data, &f) != nil || f.V != 1 || f.Identity != id {
		return "", false
	}
	if age := s.now().Sub(f.At); age < 0 || age >= config.FailedDiscovery {
		return "", false
	}
	return f.Why, true
}

// SetFailed remembers a failed discovery. The catalog of the declaration stays
// as it is (C71). why is kept up to config.MaxFailureText bytes and holds no
// secret: the caller has redacted it.
func (s *Store) SetFailed(id Identity, why string) error {
	if len(why) > config.MaxFailureText {
		why = why[:config.MaxFailureText]
	}
	why = strings.ToValidUTF8(why, "")
	data := mustJSON(failure{V: 1, Identity: id, At: s.now().Round(0).UTC(), Why: why})
	_, err := state.ReplaceFile(s.failedPath(id), append(data, '\n'))
	return err
}
