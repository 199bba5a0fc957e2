package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// locateRuntime names the runtime directory. TMPDIR is not asked: two programs of
// one user must come to the same answer.
func locateRuntime(getenv func(string) string) (string, error) {
	if dir, err := overridden(getenv, "POSTERN_RUNTIME_DIR"); dir != "" || err != nil {
		return dir, err
	}
	if base := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(base) {
		return filepath.Join(base, "postern"), nil
	}
	uid := strconv.Itoa(os.Geteuid())
	base := filepath.Join("/run/user", uid)
	if fi, err := os.Stat(base); err == nil && fi.IsDir() && ownerOf(fi) == os.Geteuid() {
		return filepath.Join(base, "postern"), nil
	}
	return filepath.Join(sharedTemp(), "postern-"+uid), nil
}

// EnsureRuntime makes path the runtime directory of this user: created at mode
// 0700 when absent, and then judged as CheckRuntime does. Unlike EnsureDir it
// repairs nothing: whoever else made the directory may hold it open.
func EnsureRuntime(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), dirMode); err != nil {
		return elsewhere(err)
	}
	if err := os.Mkdir(path, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return elsewhere(err)
	}
	return CheckRuntime(path, "")
}

// elsewhere is err with what to do: the directory that the environment names may be
// another user's, as after su, or on a file system that cannot be written.
func elsewhere(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fmt.Errorf("%w: set POSTERN_RUNTIME_DIR to a directory of yours", err)
}

// CheckRuntime judges a runtime directory (C1, C5): a directory and no symlink,
// ours, of mode 0700, that nobody else can put another one in the place of, and
// not inside project, where one is given. The error is an *UnsafeError, or wraps
// fs.ErrNotExist when there is none.
func CheckRuntime(path, project string) error {
	fi, err := os.Lstat(path)
	switch {
	case err != nil:
		return elsewhere(err)
	case fi.Mode()&fs.ModeSymlink != 0:
		return &UnsafeError{Path: path, Why: "is a symlink, not the runtime directory itself: remove it, or set POSTERN_RUNTIME_DIR"}
	case !fi.IsDir():
		return &UnsafeError{Path: path, Why: "is no directory: remove it, or set POSTERN_RUNTIME_DIR"}
	}
	if hasOwners {
		if err := checkOurs(path, fi); err != nil {
			return err
		}
		if mode := fi.Mode().Perm(); mode != dirMode {
			return &UnsafeError{Path: path, Why: fmt.Sprintf("has mode %#o, not 0700", mode), Fix: "chmod 700 " + shellWord(path)}
		}
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if err := checkPrivateDir(real); err != nil {
		return err
	}
	return checkOutside(real, project)
}
