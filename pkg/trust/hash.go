package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"postern/pkg/state"
)

// settled is the age from which a file's times can be believed to tell its
// versions apart: a file written twice within one tick of the clock of its file
// system may keep its stamp.
const settled = 2 * time.Second

// maxHashes bounds the memory of hashes; when it is full it starts again.
const maxHashes = 4096

// hashes remembers the digests of files by path and stamp. It is safe for
// concurrent use; the nil hashes remembers nothing.
type hashes struct {
	mu    sync.Mutex
	known map[string]hashed
	trees trees
}

type hashed struct {
	stamp state.Stamp
	sum   string
}

func newHashes() *hashes { return &hashes{known: map[string]hashed{}} }

// source is one file to be hashed: where its stamp is taken, how it is opened,
// and how large it may be.
type source struct {
	path string
	max  int64
	open func() (*os.File, error)
}

var (
	errMoving     = errors.New("it changes while it is read")
	errNotRegular = errors.New("it is not a regular file")
)

// sum returns the hex sha256 of a file. While its stamp stays the same it costs
// one stat.
func (h *hashes) sum(s source) (string, error) {
	stamp, err := state.StampOf(s.path)
	if err != nil {
		return "", err
	}
	if sum, ok := h.lookup(s.path, stamp); ok {
		return sum, nil
	}
	f, sum, err := h.opened(s)
	if err != nil {
		return "", err
	}
	return sum, f.Close()
}

// opened returns the open file together with the digest of its content.
func (h *hashes) opened(s source) (f *os.File, sum string, err error) {
	before, err := state.StampOf(s.path)
	if err != nil {
		return nil, "", err
	}
	if f, err = s.open(); err != nil {
		return nil, "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
			f = nil
		}
	}()
	sum, known := h.lookup(s.path, before)
	fresh := false
	if !known {
		if sum, fresh, err = digest(f, s); err != nil {
			return f, "", err
		}
	}
	// Stamps hold the inode's change time: equal before and after means that the
	// open file is the one at path, and that it did not change in between.
	after, err := state.StampOf(s.path)
	if err == nil && after != before {
		err = &fs.PathError{Op: "read", Path: s.path, Err: errMoving}
	}
	if err != nil {
		return f, "", err
	}
	if !known && !fresh {
		h.keep(s.path, before, sum)
	}
	return f, sum, nil
}

// digest reads f from its beginning. fresh tells that it was written so lately
// that a later version could have the same stamp.
func digest(f *os.File, s source) (sum string, fresh bool, err error) {
	fi, err := f.Stat()
	if err != nil {
		return "", false, err
	}
	if !fi.Mode().IsRegular() {
		return "", false, &fs.PathError{Op: "read", Path: s.path, Err: errNotRegular}
	}
	hash := sha256.New()
	n, err := io.Copy(hash, io.NewSectionReader(f, 0, s.max+1))
	if err != nil {
		return "", false, err
	}
	if n > s.max {
		return "", false, &state.TooLargeError{Path: s.path, Max: s.max}
	}
	return hex.EncodeToString(hash.Sum(nil)), time.Since(fi.ModTime()) < settled, nil
}

func (h *hashes) lookup(path string, stamp state.Stamp) (string, bool) {
	if h == nil {
		return "", false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	k, ok := h.known[path]
	return k.sum, ok && k.stamp == stamp
}

func (h *hashes) keep(path string, stamp state.Stamp, sum string) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.known) >= maxHashes {
		clear(h.known)
	}
	h.known[path] = hashed{stamp: stamp, sum: sum}
}
