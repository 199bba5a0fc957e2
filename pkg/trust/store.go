package trust

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"postern/pkg/config"
	"postern/pkg/state"
)

// Store reads trust.json and remembers it, and the digests of files, for as
// long as their stamps stay the same. It is safe for concurrent use.
type Store struct {
	path   string
	hashes *hashes
	mu     sync.Mutex
	stamp  state.Stamp
	loaded map[string]outcome // by project; all of one stamp
	all    []Record           // of that stamp, which they share
}

// outcome is what a whole reading of the file came to: records, or a *FileError
// with the empty records that go with it.
type outcome struct {
	records *Records
	err     error
}

// NewStore makes a store over config/trust.json. It reads nothing yet.
func NewStore(dirs state.Dirs) *Store {
	return &Store{path: filepath.Join(dirs.Config, fileName), hashes: newHashes()}
}

// Records returns the decisions as the file holds them now, for a session in
// project ("" = none): one stat when nothing changed (R90), in a file that is
// not valid either. When the file cannot
// be believed the error says why (*FileError, *state.UnsafeError, …), and the
// records returned beside it are empty but usable: no project's server is
// trusted (C5, C50).
func (s *Store) Records(project string) (*Records, error) {
	stamp, err := state.StampOf(s.path)
	if err != nil {
		return s.none(project), err
	}
	s.mu.Lock()
	if stamp != s.stamp || s.loaded == nil {
		s.stamp, s.loaded, s.all = stamp, map[string]outcome{}, nil
	}
	known, ok := s.loaded[project]
	s.mu.Unlock()
	if ok {
		return known.records, known.err
	}
	r, read, err := s.read(project)
	var bad *FileError
	if err != nil && !errors.As(err, &bad) {
		return r, err // for its owner, its mode or its disk, which may be mended with the file the same
	}
	s.mu.Lock()
	if s.stamp == read && s.loaded != nil {
		if len(s.loaded) >= config.KeptRecords {
			clear(s.loaded)
		}
		if err == nil && s.all == nil {
			s.all = r.all
		}
		if err == nil {
			r.all = s.all
		}
		s.loaded[project] = outcome{r, err}
	}
	s.mu.Unlock()
	return r, err
}

func (s *Store) none(project string) *Records {
	return &Records{project: project, hashes: s.hashes}
}

// read gives the records of the file, empty ones beside an error.
func (s *Store) read(project string) (*Records, state.Stamp, error) {
	data, stamp, err := state.ReadFile(s.path, fileCheck(project))
	if errors.Is(err, fs.ErrNotExist) {
		return s.none(project), stamp, nil
	}
	r := s.none(project)
	if err != nil {
		return r, stamp, err
	}
	records, err := parse(data)
	if err != nil {
		return r, stamp, &FileError{Path: s.path, Why: err.Error()}
	}
	r.all = records
	return r, stamp, nil
}

func fileCheck(project string) state.Check {
	return state.Check{Max: config.MaxTrustFile, Private: true, Project: project}
}

// Records are the decisions of one moment. They do not change; they are safe
// for concurrent use. The zero Records holds none.
type Records struct {
	project string // of the session
	hashes  *hashes
	all     []Record
}

// All returns a copy of every decision, in the order of the file.
func (r *Records) All() []Record { return slices.Clone(r.all) }

// Status says what was decided about the declaration, by digest alone: Check
// looks at the executable and the files as well. The record that decided is nil
// when there is none, as always for the user's own servers, which are trusted.
func (r *Records) Status(srv *config.Server) (Status, *Record) {
	if srv.Scope == config.User {
		return Trusted, nil
	}
	var approved *Record
	for i := range r.all {
		rec := &r.all[i]
		if rec.Project != srv.Project || rec.Server != srv.ID {
			continue
		}
		if rec.Decision == deny {
			return Denied, rec
		}
		if rec.Source == srv.Source && (approved == nil || rec.Digest == srv.Digest) {
			approved = rec
		}
	}
	switch {
	case approved == nil || srv.Project == "":
		return Untrusted, nil
	case approved.Digest != srv.Digest || srv.Digest == "":
		return Stale, approved
	case approved.Expires != nil && !time.Now().Before(*approved.Expires):
		return Expired, approved
	}
	return Trusted, approved
}
