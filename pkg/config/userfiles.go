package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"postern/pkg/state"
)

// user reads the user's files: mcp.yaml, then mcp.d/*.yaml in the order of
// their names (C13). They are one configuration. What is wrong in one of them
// outside a server refuses them all: a drop-in may hold the deny, the `path:`
// or the log setting that the operator counts on.
func (l *loader) user(dirs state.Dirs) {
	u := newUserFile()
	paths := []string{filepath.Join(dirs.Config, "mcp.yaml")}
	for _, path := range append(paths, l.dropIns(filepath.Join(dirs.Config, "mcp.d"))...) {
		data, stamp, err := state.ReadFile(path, state.Check{Max: MaxFileBytes, Private: true, Project: l.c.Project})
		r := &reader{file: path, source: realPath(path), scope: User, claims: l.claims}
		top := l.open(r, data, stamp, err, parseYAML)
		u.read(r, top)
	}
	u.finish()
	l.c.userFiles = map[string]string{}
	for _, f := range u.files {
		l.c.Diagnostics = append(l.c.Diagnostics, f.r.diags...)
		l.c.Refused = l.c.Refused || f.r.outside
		for id, at := range l.claims {
			if strings.HasPrefix(at, f.r.source+":") {
				l.c.userFiles[id] = f.r.file
			}
		}
	}
	if l.c.Refused {
		// What may be logged and how long it is kept is not known: no arguments,
		// and no row is removed.
		l.c.Log.Args, l.c.Log.Days = "none", 0
		l.c.Hub.IdleExit = HubIdleExit
		return
	}
	l.c.Servers, l.c.Policies, l.c.Defaults = u.servers, u.policies, u.defaults
	l.c.Log, l.c.NamesMax, l.c.Path, l.c.Secrets = u.log, u.namesMax, u.path, u.secrets
	l.c.TerminalHosts, l.c.Hub = u.terminalHosts, u.hub
}

// dropIns lists the drop-in files in dir. Editors and package managers leave
// other files beside them, which mean nothing; only a .yml is probably meant.
func (l *loader) dropIns(dir string) []string {
	l.c.Stamps[dir], _ = state.StampOf(dir) // before it is read, so that a later file is noticed
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		l.refuse(dir, "cannot be read: "+cause(err))
		return nil
	}
	var paths []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case filepath.Ext(path) == ".yaml":
			paths = append(paths, path)
		case filepath.Ext(path) == ".yml":
			l.c.Diagnostics = append(l.c.Diagnostics, Diagnostic{File: path, Warning: true,
				Problem: "is not read; the name of a drop-in file ends in .yaml"})
		}
	}
	if len(paths) > MaxDropIns {
		l.refuse(dir, "holds more files than can be read")
		return nil
	}
	return paths
}

// refuse makes the user's files count as absent for what is wrong with path.
func (l *loader) refuse(path, problem string) {
	l.c.Diagnostics = append(l.c.Diagnostics, Diagnostic{File: path, Problem: problem})
	l.c.Refused = true
}
