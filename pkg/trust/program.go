package trust

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"postern/pkg/config"
	"postern/pkg/state"
)

// program is the executable that a command leads to.
type program struct {
	path      string // absolute, as found
	real      string // without symlinks
	stamp     state.Stamp
	rootOwned bool
	binary    bool // can be started by descriptor
	searched  bool // found by its bare name
}

func (p *program) source() source {
	return source{path: p.path, max: config.MaxExecutable, open: func() (*os.File, error) {
		return os.OpenFile(p.path, os.O_RDONLY|openNonblock, 0)
	}}
}

// find resolves an expanded command (C34). dir is where a relative path counts
// from, lookIn the list of directories for a bare name.
func find(srv *config.Server, command, dir, lookIn, sessionProject string) (*program, error) {
	fail := func(why string, searched ...string) error {
		return &ExecutableError{Server: srv.ID, Command: command, Why: why, Searched: searched}
	}
	path, relative, searched := "", false, false
	switch {
	case command == "":
		return nil, fail("is empty")
	case config.IsShell(command):
		return nil, fail("is a shell, which is never started")
	case filepath.IsAbs(command):
		path = filepath.Clean(command)
	case strings.ContainsAny(command, `/`+string(filepath.Separator)):
		if srv.Scope == config.User {
			return nil, fail("is a relative path: write it from the root on")
		}
		path, relative = filepath.Join(dir, command), true
	default:
		found, dirs := search(command, lookIn, srv.Project, sessionProject)
		if found == "" {
			return nil, fail("is not found", dirs...)
		}
		path, searched = found, true
	}
	p, err := inspect(path)
	if err != nil {
		return nil, fail(err.Error())
	}
	if _, ok := within(srv.Project, p.real); relative && !ok {
		return nil, fail("leads out of the project")
	}
	p.searched = searched
	return p, nil
}

// search looks a bare name up in a path list and tells what it looked at.
func search(name, list string, projects ...string) (path string, searched []string) {
	for _, dir := range filepath.SplitList(list) {
		if why := skip(dir, projects); why != "" {
			searched = append(searched, fmt.Sprintf("%q (skipped: %s)", dir, why))
			continue
		}
		searched = append(searched, dir)
		for _, ending := range executableEndings {
			candidate := filepath.Join(dir, name+ending)
			if fi, err := os.Stat(candidate); err == nil && executable(candidate, fi) == nil {
				return candidate, searched
			}
		}
	}
	if len(searched) == 0 {
		searched = []string{"an empty PATH"}
	}
	return "", searched
}

// skip says why a directory of a path list is not looked in; "" = it is.
func skip(dir string, projects []string) string {
	switch {
	case dir == "":
		return "empty"
	case !filepath.IsAbs(dir):
		return "relative"
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "" // nothing will be found in it
	}
	for _, project := range projects {
		if _, ok := within(project, real); ok {
			return "inside a project"
		}
	}
	if fi, err := os.Stat(real); err == nil && writableByAll(fi) {
		return "writable by others"
	}
	return ""
}

// inspect looks at the file at path. Its error completes "command X ".
func inspect(path string) (*program, error) {
	stamp, err := state.StampOf(path)
	if err != nil {
		return nil, errors.New("cannot be looked at: " + err.Error())
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, errors.New("is not found at " + path)
	}
	fi, err := os.Stat(real)
	if err != nil {
		return nil, errors.New("cannot be looked at: " + err.Error())
	}
	if err := executable(real, fi); err != nil {
		return nil, err
	}
	return &program{path: path, real: real, stamp: stamp, rootOwned: rootOwned(real, fi), binary: startsLikeBinary(real)}, nil
}

var errNotExecutable = errors.New("is not executable")

// startsLikeBinary tells an ELF file from a script.
func startsLikeBinary(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	var magic [4]byte
	_, err = f.ReadAt(magic[:], 0)
	return err == nil && string(magic[:]) == "\x7fELF"
}

// isSelf reports whether p is one of postern's own binaries (C23), also by
// another name or link, or another build of the gateway.
func isSelf(p *program, self []string) bool {
	base := strings.TrimSuffix(filepath.Base(p.real), ".exe")
	if base == "mcp-serve" {
		return true
	}
	fi, err := os.Stat(p.real)
	if err != nil {
		return false
	}
	for _, own := range self {
		if other, err := os.Stat(own); err == nil && os.SameFile(fi, other) {
			return true
		}
	}
	return false
}
