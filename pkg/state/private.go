package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600
	// othersWrite are the bits that let someone else change a file or a directory.
	othersWrite fs.FileMode = 0o022
	// unmapped owns, as a user namespace shows it, what belongs to nobody inside
	// it: "/" and "/home" for a confined agent. It cannot be our own files' owner.
	unmapped = 65534
)

// checkPrivateFile judges an open file (C5): ours, and not writable by others.
func checkPrivateFile(path string, fi fs.FileInfo) error {
	if !hasOwners {
		return nil
	}
	if err := checkOurs(path, fi); err != nil {
		return err
	}
	return checkWritable(path, fi)
}

func checkOurs(path string, fi fs.FileInfo) error {
	if uid := ownerOf(fi); uid != os.Geteuid() {
		return &UnsafeError{Path: path, Why: fmt.Sprintf("belongs to user id %d, not to yours (%d)", uid, os.Geteuid())}
	}
	return nil
}

func checkWritable(path string, fi fs.FileInfo) error {
	if fi.Mode().Perm()&othersWrite == 0 {
		return nil
	}
	return &UnsafeError{Path: path, Why: "can be written by other users", Fix: "chmod go-w " + shellWord(path)}
}

// checkPrivateDir judges dir, a real path: it must be ours and writable by us
// alone, and nobody else may be able to rename one of the folders above it.
func checkPrivateDir(dir string) error {
	if !hasOwners {
		return nil
	}
	fi, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if err := checkPrivateFile(dir, fi); err != nil {
		return err
	}
	for up := filepath.Dir(dir); ; up = filepath.Dir(up) {
		fi, err := os.Lstat(up)
		if err != nil {
			return err
		}
		if uid := ownerOf(fi); uid != os.Geteuid() && uid != 0 && uid != unmapped {
			return &UnsafeError{Path: up, Why: fmt.Sprintf("belongs to user id %d, who can replace %s", uid, dir)}
		}
		// In a sticky directory such as /tmp only the owner renames an entry.
		if fi.Mode()&fs.ModeSticky == 0 {
			if err := checkWritable(up, fi); err != nil {
				return err
			}
		}
		if up == filepath.Dir(up) {
			return nil
		}
	}
}

// checkOutside refuses a path inside the project, whose programs could write it.
func checkOutside(path, project string) error {
	if project == "" {
		return nil
	}
	real, err := filepath.EvalSymlinks(project)
	if errors.Is(err, fs.ErrNotExist) {
		real, err = filepath.Abs(project) // gone: nothing of it leads here, and path is not what is absent
	}
	if err != nil {
		return &UnsafeError{Path: path, Why: "cannot be told apart from the project " + project + ": " + err.Error()}
	}
	rel, err := filepath.Rel(real, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return nil // no relative path between them: another volume
	}
	return &UnsafeError{Path: path, Why: "lies inside the project " + real + ", whose programs could write it: keep it elsewhere"}
}

// shellWord quotes path for sh when it needs quoting.
func shellWord(path string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+,:@%", r)
	}
	if path != "" && strings.IndexFunc(path, func(r rune) bool { return !plain(r) }) < 0 {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
