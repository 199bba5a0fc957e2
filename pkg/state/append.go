package state

import (
	"errors"
	"os"
	"path/filepath"
)

// AppendFile opens path, which lies in one of our own directories (made by
// EnsureDir when absent), so that each single Write lands whole at the file's
// end whoever else appends. It is created 0600, narrowed to that when laxer, and
// can be read as well. Anything but a regular file of ours is an *UnsafeError.
// The caller closes it.
func AppendFile(path string) (*os.File, error) { return appendFile(path, 0) }

// AppendNewFile is AppendFile for a file that must not exist yet: otherwise the
// error is fs.ErrExist. Of several who try only one succeeds.
func AppendNewFile(path string) (*os.File, error) { return appendFile(path, os.O_EXCL) }

func appendFile(path string, flag int) (*os.File, error) {
	if err := EnsureDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|openNonblock|flag, fileMode)
	if err != nil {
		return nil, err
	}
	if err := checkAppend(f, path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func checkAppend(f *os.File, path string) error {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	if !fi.Mode().IsRegular() {
		return &UnsafeError{Path: path, Why: "is not a regular file"}
	}
	if hasOwners {
		if err := checkOurs(path, fi); err != nil {
			return err
		}
	}
	return narrow(f, fi, fileMode)
}
