package state

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Check is what a reader demands of a file before it believes it.
type Check struct {
	Max     int64  // bytes; a larger file is a TooLargeError
	Private bool   // C5: ours, and nobody else can change or replace it
	Project string // root of the session's project; a Private file must lie outside. "" = there is none
}

// ReadFile opens path once, judges that descriptor by c, and reads it. The
// stamp is that of the opened file, taken before the first byte, so that a file
// changed while it is read differs from it afterwards. Absent and empty are
// fs.ErrNotExist (an empty file keeps its stamp); other refusals are
// *UnsafeError and *TooLargeError. Symlinks are followed; what Private demands
// then holds for the link's directory and for its target's.
func ReadFile(path string, c Check) ([]byte, Stamp, error) {
	f, err := Open(path, c)
	if err != nil {
		return nil, Stamp{}, err
	}
	defer f.Close()
	data, stamp, err := readOpen(f, path, c.Max)
	if err == nil && len(data) == 0 {
		return nil, stamp, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	return data, stamp, err
}

// Open opens path for reading in pieces, as the call log is read, after the
// judgement of ReadFile; c.Max is not looked at. Only regular files are opened,
// and none is waited for. The caller closes it and bounds what it reads.
func Open(path string, c Check) (*os.File, error) {
	real, flag := path, os.O_RDONLY|openNonblock
	if c.Private {
		var err error
		if real, err = checkPlace(path, c.Project); err != nil {
			return nil, err
		}
		flag |= openNoFollow // real has no link in it any more
	}
	f, err := os.OpenFile(real, flag, 0)
	if err != nil {
		return nil, err
	}
	err = checkOpen(f, path, func(fi fs.FileInfo) error {
		if !c.Private {
			return nil
		}
		return checkPrivateFile(path, fi)
	})
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// checkPlace applies the part of C5 that is about where a file lies, and
// returns its real path.
func checkPlace(path, project string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", err
	}
	dirs := []string{dir}
	if d := filepath.Dir(real); d != dir {
		dirs = append(dirs, d)
	}
	for _, d := range dirs {
		if err := checkFolder(d, project); err != nil {
			return "", err
		}
	}
	return real, nil
}

// checkFolder is checkPlace for the real path of the folder itself.
func checkFolder(dir, project string) error {
	if err := checkPrivateDir(dir); err != nil {
		return err
	}
	return checkOutside(dir, project)
}

// ReadInRoot reads a file of a project by its handle: no symlink leads out of
// root, and only regular files are read, without waiting for one to become
// readable. The file must belong to us or to root (C21), else *UnsafeError. An
// empty file is returned as such; a larger one than max is *TooLargeError.
func ReadInRoot(root *os.Root, name string, max int64) ([]byte, Stamp, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, Stamp{}, err
	}
	defer f.Close()
	path := filepath.Join(root.Name(), name)
	err = checkOpen(f, path, func(fi fs.FileInfo) error {
		if uid := ownerOf(fi); hasOwners && uid != os.Geteuid() && uid != 0 {
			return &UnsafeError{Path: path, Why: fmt.Sprintf("belongs to user id %d, neither to yours (%d) nor to root", uid, os.Geteuid())}
		}
		return nil
	})
	if err != nil {
		return nil, Stamp{}, err
	}
	return readOpen(f, path, max)
}

// checkOpen judges one open file; path is only for messages.
func checkOpen(f *os.File, path string, judge func(fs.FileInfo) error) error {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	if !fi.Mode().IsRegular() {
		return &UnsafeError{Path: path, Why: "is not a regular file"}
	}
	return judge(fi)
}

// readOpen reads one open file that was judged already.
func readOpen(f *os.File, path string, max int64) ([]byte, Stamp, error) {
	fi, err := f.Stat()
	if err != nil {
		return nil, Stamp{}, err
	}
	if fi.Size() > max {
		return nil, Stamp{}, &TooLargeError{Path: path, Max: max}
	}
	// The size is only a hint: the file may grow, and /proc has files of size 0.
	data, err := io.ReadAll(io.LimitReader(f, max+1))
	if err != nil {
		return nil, Stamp{}, err
	}
	if int64(len(data)) > max {
		return nil, Stamp{}, &TooLargeError{Path: path, Max: max}
	}
	return data, stampOf(fi), nil
}
