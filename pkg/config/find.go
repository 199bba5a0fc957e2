package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// FindProject returns the real path of the project that dir lies in (C21): the
// nearest directory upwards that holds .git, .postern or .mcp.json; "" when
// there is none. It is never the root of the file system, home, or a directory
// above home. The walk ends at a directory or marker that belongs neither to
// us nor to root, and at the border of a mount. home may be "".
func FindProject(dir, home string) (string, error) {
	given := dir
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", notThere(given, err)
	}
	if home != "" {
		if real, err := filepath.EvalSymlinks(home); err == nil {
			home = real
		}
		home = filepath.Clean(home)
	}
	start, err := os.Stat(dir)
	if err != nil {
		return "", notThere(given, err)
	}
	if !start.IsDir() {
		return "", fmt.Errorf("%s is no directory", given)
	}
	for here := start; ; {
		parent := filepath.Dir(dir)
		if parent == dir || holds(dir, home) || !mayOwn(here) || !sameMount(here, start) {
			return "", nil
		}
		if marked(dir) {
			return dir, nil
		}
		dir = parent
		if here, err = os.Stat(dir); err != nil {
			return "", nil // what cannot be looked at ends the walk
		}
	}
}

// notThere is err about a directory as it was given, without the name of what was
// tried on it.
func notThere(dir string, err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	return fmt.Errorf("%s: %w", dir, err)
}

// holds reports whether inner is dir or below it.
func holds(dir, inner string) bool {
	return inner == dir || strings.HasPrefix(inner, dir+string(filepath.Separator))
}

func marked(dir string) bool {
	for _, name := range []string{".git", ".postern", ".mcp.json"} {
		if fi, err := os.Lstat(filepath.Join(dir, name)); err == nil && mayOwn(fi) {
			return true
		}
	}
	return false
}
