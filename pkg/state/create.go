package state

import (
	"errors"
	"os"
	"path/filepath"
)

// CreateFile makes path, which must not exist yet, with parts one after the
// other as its content, in one of our own directories (made by EnsureDir when
// absent). The file is 0600. It is not synced: this is for what may be lost when
// the machine stops, and a reader must be able to tell a part from the whole.
// When anything fails there is no file.
func CreateFile(path string, parts ...[]byte) error {
	if err := EnsureDir(filepath.Dir(path)); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|openNoFollow, fileMode)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if err == nil {
			_, err = f.Write(part)
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
