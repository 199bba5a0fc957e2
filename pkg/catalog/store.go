package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"postern/pkg/config"
	"postern/pkg/state"
)

// Provenance says how a list of tools is known.
type Provenance string

// The provenances. A stale list is still shown, and asked for again when its
// server next starts; for whoever wants what is known it is as good as missing.
const (
	Live    Provenance = "live"    // the running server said so
	Cached  Provenance = "cached"  // recorded, and young enough
	Stale   Provenance = "stale"   // recorded, and too old
	Missing Provenance = "missing" // nothing usable is recorded
)

// maxSeen bounds what a Store keeps in memory; a process that meets more
// declarations than this reads some files again.
const maxSeen = 512

// Store is the folder of recorded catalogs. It may be used concurrently, and by
// several processes on one folder: files are replaced whole, and a replaced file
// is noticed at the next Read (MB-111).
type Store struct {
	dir string
	now func() time.Time

	mu   sync.Mutex
	seen map[string]seenFile

	reading singleflight.Group // one version of a file is read by one at a time
}

// seenFile is what a version of a file held; nil when it held no catalog.
type seenFile struct {
	stamp   state.Stamp
	catalog *Catalog
}

// NewStore is the store in dir, which need not exist: Write makes it. now tells
// the time, nil is the clock.
func NewStore(dir string, now func() time.Time) *Store {
	if now == nil {
		now = time.Now
	}
	return &Store{dir: dir, now: now, seen: map[string]seenFile{}}
}

// Read is what is recorded of a declaration. A file that is malformed, too
// large, of another version, of another declaration or dated in the future, and
// one that others could have written (C5), is Missing like one that is not
// there; the Catalog is nil then. Reading an unchanged file again costs one
// stat.
func (s *Store) Read(id Identity) (*Catalog, Provenance) {
	c := s.load(s.path(id), id.Project)
	now := s.now()
	switch {
	case c == nil || c.Identity != id || c.At.After(now):
		return nil, Missing
	case c.fresh(now):
		return c, Cached
	}
	return c, Stale
}

func (s *Store) path(id Identity) string { return filepath.Join(s.dir, id.stem()+".json") }

func (s *Store) load(path, project string) *Catalog {
	stamp, err := state.StampOf(path)
	if err != nil || stamp == (state.Stamp{}) {
		s.forget(path)
		return nil
	}
	s.mu.Lock()
	known, ok := s.seen[path]
	s.mu.Unlock()
	if ok && known.stamp == stamp {
		return known.catalog
	}
	c, _, _ := s.reading.Do(fmt.Sprint(path, stamp), func() (any, error) { return s.read(path, project), nil })
	return c.(*Catalog)
}

// read is load of a file that is not known as it is.
func (s *Store) read(path, project string) *Catalog {
	data, stamp, err := state.ReadFile(path, state.Check{Max: config.MaxCatalogBytes, Private: true, Project: project})
	if err != nil {
		s.forget(path)
		return nil
	}
	c, err := decode(data)
	if err != nil {
		c = nil // remembered as bad, so that it is not read at each call
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) >= maxSeen {
		clear(s.seen)
	}
	s.seen[path] = seenFile{stamp, c}
	return c
}

func (s *Store) forget(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.seen, path)
}

// Write records c in place of what was known of its declaration, and forgets a
// failed discovery. A reader sees the old file or the new one. The error is for
// a place that cannot be written; the catalog itself is as good as before (C6).
func (s *Store) Write(c *Catalog) error {
	if _, err := state.ReplaceFile(s.path(c.Identity), c.encode()); err != nil {
		return err
	}
	if err := os.Remove(s.failedPath(c.Identity)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
