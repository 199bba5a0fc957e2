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
	Slow     bool      `json:"slow,omitempty"` // it had not failed yet when nobody waited any longer
}

func (s *Store) failedPath(id Identity) string { return filepath.Join(s.dir, id.stem()+".failed") }

// Failed reports whether this declaration could not be listed within the last
// config.FailedDiscovery, and why, so that nobody starts it only to find out
// again (MB-057). Anything doubtful about the record means that it was not.
func (s *Store) Failed(id Identity) (why string, ok bool) {
	f, ok := s.failure(id)
	return f.Why, ok && !f.Slow
}

// Slow reports whether this declaration took longer to list than somebody would
// wait, within the last config.FailedDiscovery: it may be tried again, but
// nobody waits for it once more.
func (s *Store) Slow(id Identity) bool {
	f, ok := s.failure(id)
	return ok && f.Slow
}

// Failure is the last discovery of a declaration, when it gave no list.
type Failure struct {
	At   time.Time
	Why  string
	Slow bool // it had not failed yet when nobody waited any longer
}

// LastFailure is the discovery that failed after the last one that did not,
// however long ago: for people who ask why a server has no tools.
func (s *Store) LastFailure(id Identity) (Failure, bool) {
	f, ok := s.readFailure(id)
	return Failure{At: f.At, Why: f.Why, Slow: f.Slow}, ok
}

// failure is the record as long as it counts.
func (s *Store) failure(id Identity) (failure, bool) {
	f, ok := s.readFailure(id)
	return f, ok && s.now().Sub(f.At) < config.FailedDiscovery
}

func (s *Store) readFailure(id Identity) (f failure, ok bool) {
	check := state.Check{Max: config.MaxFailureBytes, Private: true, Project: id.Project}
	data, _, err := state.ReadFile(s.failedPath(id), check)
	if err != nil {
		return f, false
	}
	if json.Unmarshal(data, &f) != nil || f.V != 1 || f.Identity != id {
		return f, false
	}
	return f, !f.At.After(s.now())
}

// SetFailed remembers a failed discovery. The catalog of the declaration stays
// as it is (C71). why is kept up to config.MaxFailureText bytes and holds no
// secret: the caller has redacted it.
func (s *Store) SetFailed(id Identity, why string) error { return s.setFailure(id, why, false) }

// SetSlow remembers that a discovery took longer than why says. A failure, or a
// list that is written, takes its place.
func (s *Store) SetSlow(id Identity, why string) error { return s.setFailure(id, why, true) }

func (s *Store) setFailure(id Identity, why string, slow bool) error {
	if len(why) > config.MaxFailureText {
		why = why[:config.MaxFailureText]
	}
	why = strings.ToValidUTF8(why, "")
	data := mustJSON(failure{V: 1, Identity: id, At: s.now().Round(0).UTC(), Why: why, Slow: slow})
	_, err := state.ReplaceFile(s.failedPath(id), append(data, '\n'))
	return err
}
