package state

import (
	"fmt"
	"path/filepath"
)

// Dirs are postern's directories, as clean absolute paths. They need not exist.
type Dirs struct {
	Config string // what the operator declared and decided
	State  string // what must survive: call log, child stderr
	Cache  string // what can be made again: catalogs
	// Runtime is where the shared process listens. It lives as long as the user is
	// signed in; see EnsureRuntime.
	Runtime string
}

// Locate finds the directories from the environment that getenv reads (the
// package doc has the order) and creates nothing. A POSTERN_*_DIR must be
// absolute. A relative XDG_* is ignored, as the XDG specification asks.
func Locate(getenv func(string) string) (Dirs, error) {
	var d Dirs
	for _, w := range []struct {
		to                  *string
		override, xdg, home string
	}{
		{&d.Config, "POSTERN_CONFIG_DIR", "XDG_CONFIG_HOME", ".config"},
		{&d.State, "POSTERN_STATE_DIR", "XDG_STATE_HOME", ".local/state"},
		{&d.Cache, "POSTERN_CACHE_DIR", "XDG_CACHE_HOME", ".cache"},
	} {
		dir, err := locate(getenv, w.override, w.xdg, w.home)
		if err != nil {
			return Dirs{}, err
		}
		*w.to = dir
	}
	runtime, err := locateRuntime(getenv)
	if err != nil {
		return Dirs{}, err
	}
	d.Runtime = runtime
	return d, nil
}

func locate(getenv func(string) string, override, xdg, underHome string) (string, error) {
	if dir, err := overridden(getenv, override); dir != "" || err != nil {
		return dir, err
	}
	if base := getenv(xdg); filepath.IsAbs(base) {
		return filepath.Join(base, "postern"), nil
	}
	home, _ := Home(getenv)
	if !filepath.IsAbs(home) {
		return "", fmt.Errorf("%s is %q, not an absolute path: set it, or set %s", homeVariable, home, override)
	}
	return filepath.Join(home, filepath.FromSlash(underHome), "postern"), nil
}

// overridden is the directory that a variable of postern's own names, "" when
// it is not set.
func overridden(getenv func(string) string, override string) (string, error) {
	dir := getenv(override)
	if dir == "" {
		return "", nil
	}
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("%s is %q: it must be an absolute path", override, dir)
	}
	return filepath.Clean(dir), nil
}
