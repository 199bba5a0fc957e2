package state

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxLinks is how many symlinks in a row are followed, as in the kernel.
const maxLinks = 40

// ReplaceFile makes data the whole content of path, which lies in one of our
// own directories (made by EnsureDir when absent). A reader sees the old bytes
// or the new ones, never a part. The file is 0600. A symlink stays and its
// target is replaced. When the content is equal already nothing is written and
// changed is false.
func ReplaceFile(path string, data []byte) (changed bool, err error) {
	if err := EnsureDir(filepath.Dir(path)); err != nil {
		return false, err
	}
	target, err := linkTarget(path)
	if err != nil {
		return false, err
	}
	same, err := holds(target, data)
	if err != nil || same {
		return false, err
	}
	if err := replace(target, data); err != nil {
		return false, err
	}
	return true, syncDir(filepath.Dir(target))
}

// linkTarget follows path to what it names, which need not exist.
func linkTarget(path string) (string, error) {
	for range maxLinks {
		fi, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
		if err != nil {
			return "", err
		}
		if fi.Mode()&fs.ModeSymlink == 0 {
			return path, nil
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			// Joining would clean "x/.." by text, and x may itself be a link.
			to = filepath.Dir(path) + string(filepath.Separator) + to
		}
		path = to
	}
	return "", &UnsafeError{Path: path, Why: "is behind too many symlinks"}
}

// holds reports whether target has exactly data. It narrows a lax mode on the
// way, since an equal file is not written again.
func holds(target string, data []byte) (bool, error) {
	f, err := os.OpenFile(target, os.O_RDONLY|openNonblock, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return false, err
	}
	if !fi.Mode().IsRegular() {
		return false, &UnsafeError{Path: target, Why: "is not a regular file"}
	}
	if fi.Size() != int64(len(data)) {
		return false, nil
	}
	old, err := io.ReadAll(io.LimitReader(f, int64(len(data))+1))
	if err != nil || !bytes.Equal(old, data) {
		return false, err
	}
	return true, narrow(f, fi, fileMode)
}
