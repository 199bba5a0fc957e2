package gateway

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"postern/pkg/config"
	"postern/pkg/state"
)

// resultScheme is what the name of a kept result begins with.
const resultScheme = "postern://results/"

// errNoResult is the one answer for a result that never was, is over, was
// damaged, or belongs to somebody else.
var errNoResult = errors.New("no such result")

// owner is whom a kept result belongs to. Nobody else can read it through the
// gateway.
type owner struct {
	Caller  string `json:"caller"`  // "" is anonymous
	Project string `json:"project"` // real root, "" for none
}

// results keeps whole results in state/results; doc.go describes the files. It
// may be used concurrently, and by several processes on one folder.
type results struct {
	dir string
	now func() time.Time

	mu      sync.Mutex
	counted time.Time // when the folder was last looked at
	bytes   int64     // in it, as far as is known
}

// head is the first line of a file.
type head struct {
	V int `json:"v"`
	owner
	Bytes int `json:"bytes"` // of the result behind it
}

// put keeps a result and returns the id that it is read by. Older results make
// room for it. An error means that there is none; nothing is left behind then.
func (s *results) put(o owner, raw []byte) (id string, err error) {
	var random [16]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", err
	}
	first, err := json.Marshal(head{V: 1, owner: o, Bytes: len(raw)})
	if err != nil {
		return "", err
	}
	first = append(first, '\n')
	size := int64(len(first) + len(raw))
	if err := s.makeRoom(size); err != nil {
		return "", err
	}
	id = hex.EncodeToString(random[:])
	if err := state.CreateFile(filepath.Join(s.dir, id), first, raw); err != nil {
		_ = s.makeRoom(-size) // nothing is too large for that
		return "", err
	}
	return id, nil
}

// get is a kept result; the error is errNoResult.
func (s *results) get(o owner, id string) ([]byte, error) {
	if !isResultID(id) {
		return nil, errNoResult
	}
	path := filepath.Join(s.dir, id)
	fi, err := os.Lstat(path)
	if err != nil || s.over(fi) {
		return nil, errNoResult
	}
	data, _, err := state.ReadFile(path, state.Check{Max: config.ResultStoreBytes, Private: true, Project: o.Project})
	if err != nil {
		return nil, errNoResult
	}
	first, raw, found := bytes.Cut(data, []byte{'\n'})
	var h head
	if !found || json.Unmarshal(first, &h) != nil || h.V != 1 || h.owner != o || h.Bytes != len(raw) || !json.Valid(raw) {
		return nil, errNoResult
	}
	return raw, nil
}

func isResultID(id string) bool {
	return len(id) == 32 && strings.Trim(id, "0123456789abcdef") == ""
}

func (s *results) over(fi fs.FileInfo) bool { return s.now().Sub(fi.ModTime()) > config.ResultLife }

// tidy looks at the folder when a process begins to serve: what is over goes.
func (s *results) tidy() { _ = s.makeRoom(0) } // nothing is too large for 0 bytes

// makeRoom takes size bytes of the folder's share; a negative size gives them
// back. The folder is looked at now and then, for other processes use it too,
// and the oldest results go first.
func (s *results) makeRoom(size int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if size > config.ResultStoreBytes {
		return errors.New("the result is larger than all results may be together")
	}
	now := s.now()
	if s.counted.IsZero() || now.Sub(s.counted) > config.ResultCountEvery || now.Before(s.counted) || s.bytes+size > config.ResultStoreBytes {
		s.bytes, s.counted = s.prune(config.ResultStoreBytes-size), now
	}
	s.bytes += size
	return nil
}

// prune removes what is over, and the oldest of the rest until at most most
// bytes are left. What cannot be removed counts.
func (s *results) prune(most int64) (left int64) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return 0 // not there yet, or not readable: put will say so
	}
	var files []fs.FileInfo
	for _, e := range entries {
		fi, err := e.Info()
		if err != nil || !fi.Mode().IsRegular() || !isResultID(fi.Name()) {
			continue
		}
		files = append(files, fi)
		left += fi.Size()
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, fi := range files {
		if left <= most && !s.over(fi) {
			break
		}
		if err := os.Remove(filepath.Join(s.dir, fi.Name())); err == nil || errors.Is(err, fs.ErrNotExist) {
			left -= fi.Size()
		}
	}
	return left
}
