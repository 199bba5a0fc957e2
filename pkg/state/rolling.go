package state

import (
	"os"
	"sync"
)

// Rolling is a text file in one of our own directories that is only appended to
// and stays small: when it would grow past its bound it is renamed to NAME.1,
// in place of the one before, and begun anew. It may be used concurrently, and
// several processes may append to one file. Whoever opened it calls Close.
type Rolling struct {
	path string
	max  int64
	mu   sync.Mutex
	file *os.File // nil once it cannot be written, or is closed
}

// OpenRolling opens or makes the file, of at most max bytes. The error is
// AppendFile's; the Rolling is usable all the same and keeps nothing.
func OpenRolling(path string, max int64) (*Rolling, error) {
	f, err := AppendFile(path)
	if err != nil {
		return &Rolling{}, err
	}
	return &Rolling{path: path, max: max, file: f}, nil
}

// Append adds text as one write. The first error ends the file: what comes
// later is dropped without another error.
func (r *Rolling) Append(text []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return nil
	}
	fi, err := r.file.Stat()
	if err == nil && fi.Size() > 0 && fi.Size()+int64(len(text)) > r.max {
		r.file.Close()
		if err = os.Rename(r.path, r.path+".1"); err == nil {
			r.file, err = AppendFile(r.path)
		}
	}
	if err == nil {
		_, err = r.file.Write(text)
	}
	if err != nil {
		r.close()
	}
	return err
}

// Close closes the file; what comes later is dropped. It may be called again.
func (r *Rolling) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.close()
}

func (r *Rolling) close() {
	if r.file != nil {
		r.file.Close()
		r.file = nil
	}
}
