package state

import (
	"errors"
	"os"
	"path/filepath"
)

// replace does by hand what renameio does elsewhere: that module has no Windows
// code. os.Rename replaces an existing file there too, unless a reader holds it.
func replace(target string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target))
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails, as it should, after the rename
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), target)
}
