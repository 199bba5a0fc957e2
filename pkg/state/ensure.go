package state

import (
	"io/fs"
	"os"
)

// EnsureDir makes path one of our own directories: created with its parents at
// mode 0700 when absent, narrowed to 0700 when it exists and is laxer (C1). A
// directory of another owner, or one shared by nature such as /tmp, is an
// *UnsafeError and stays as it is.
func EnsureDir(path string) error {
	if err := os.MkdirAll(path, dirMode); err != nil {
		return err
	}
	d, err := os.OpenFile(path, os.O_RDONLY|openDirectory|openNonblock, 0)
	if err != nil {
		return err
	}
	defer d.Close()
	fi, err := d.Stat()
	if err != nil || !hasOwners {
		return err
	}
	if err := checkOurs(path, fi); err != nil {
		return err
	}
	if fi.Mode()&fs.ModeSticky != 0 {
		return &UnsafeError{Path: path, Why: "is shared with other users: choose a directory of your own"}
	}
	return narrow(d, fi, dirMode)
}

// narrow takes away, on the descriptor, every permission that want does not have.
func narrow(f *os.File, fi fs.FileInfo, want fs.FileMode) error {
	if !hasOwners || fi.Mode().Perm()&^want == 0 {
		return nil
	}
	return f.Chmod(fi.Mode().Perm() & want)
}
