package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"postern/pkg/config"
	"postern/pkg/secret"
)

// plan is what a declaration comes to on this machine at this moment.
type plan struct {
	command, cwd string // expanded
	args         []string
	dir          string // real path of the working directory
	program      *program
	files        []string // of the project, relative to its root, sorted
	outside      []string // files and folders that arguments name and that are not covered
	expanded     string   // digest of command, args and cwd
	env          []string // the child's environment; set by Check only
	origins      map[string]secret.Origin
}

// newPlan expands what decides what will run: command, arguments, directory.
// Environment values are not needed for it, but for PATH.
func newPlan(v *values, env *Environ, sessionProject string) (*plan, error) {
	srv := v.srv
	p := &plan{origins: v.origins}
	var err error
	if p.command, err = v.expand(srv.Command); err != nil {
		return nil, err
	}
	if p.args, err = v.expandAll(srv.Args); err != nil {
		return nil, err
	}
	v.learnArguments(p.args)
	if p.cwd, err = v.expand(srv.CWD); err != nil {
		return nil, err
	}
	if p.dir, err = workingDirectory(srv, p.cwd, env); err != nil {
		return nil, err
	}
	list, err := pathList(v, env)
	if err != nil {
		return nil, err
	}
	from := p.dir
	if p.cwd == "" {
		from = srv.Base() // the program is the same wherever its agent is
	}
	if p.program, err = find(srv, p.command, from, list, sessionProject); err != nil {
		return nil, err
	}
	p.expanded = sha(struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
		CWD     string   `json:"cwd"`
	}{p.command, p.args, p.cwd})
	if srv.Scope == config.User {
		return p, nil
	}
	return p, p.cover(srv)
}

// pathList is where a bare command is looked up: the entry's own PATH, else
// `path:`, else the hub's PATH (C34).
func pathList(v *values, env *Environ) (string, error) {
	for _, e := range v.srv.Env {
		if e.Name == "PATH" {
			return v.expand(e.Value)
		}
	}
	if len(env.Path) > 0 {
		return strings.Join(env.Path, string(filepath.ListSeparator)), nil
	}
	list, _ := variables(env.Hub)("PATH")
	return list, nil
}

// workingDirectory resolves cwd with its symlinks; without one it is the agent's
// directory for a server of one session, the project's root or the home else. In
// a project it lies inside.
func workingDirectory(srv *config.Server, cwd string, env *Environ) (string, error) {
	fail := func(why string) error {
		return &UnavailableError{Server: srv.ID, Why: why}
	}
	dir := absolute(srv.Base(), cwd)
	switch {
	case cwd != "":
	case !srv.Shared && env.Dir != "":
		if dir = env.Dir; !filepath.IsAbs(dir) {
			return "", fail(fmt.Sprintf("its agent's directory %q is not absolute", dir))
		}
	case srv.Scope == config.User:
		home, _ := variables(env.Hub)("HOME")
		if !filepath.IsAbs(home) {
			return "", fail("HOME is not set and no cwd is declared")
		}
		dir = home
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fail(fmt.Sprintf("its directory %s does not exist", dir))
	}
	if fi, err := os.Stat(real); err != nil || !fi.IsDir() {
		return "", fail(dir + " is not a directory")
	}
	if _, ok := within(srv.Project, real); srv.Scope != config.User && !ok {
		if dir == env.Dir {
			return "", fail(fmt.Sprintf("its agent's directory %s lies outside the project, and no cwd is declared", dir))
		}
		return "", fail(fmt.Sprintf("its directory %s leads out of the project", dir))
	}
	return real, nil
}

// cover finds the files of the project that the record has to hold: env_file,
// and what arguments name (C51).
func (p *plan) cover(srv *config.Server) error {
	if srv.EnvFile != "" {
		rel, ok := within(srv.Project, absolute(srv.Base(), srv.EnvFile))
		if !ok {
			return &UnavailableError{Server: srv.ID, Why: "env_file " + srv.EnvFile + " lies outside the project"}
		}
		p.files = append(p.files, filepath.ToSlash(rel))
	}
	for _, arg := range p.args {
		candidates := []string{arg}
		if _, value, ok := strings.Cut(arg, "="); ok {
			candidates = append(candidates, value)
		}
		for _, c := range candidates {
			if err := p.coverArgument(srv, c); err != nil {
				return err
			}
		}
	}
	slices.Sort(p.files)
	p.files = slices.Compact(p.files)
	return nil
}

func (p *plan) coverArgument(srv *config.Server, arg string) error {
	if arg == "" || strings.ContainsRune(arg, 0) {
		return nil
	}
	path := absolute(p.dir, arg)
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil // names no file, now
	}
	fi, err := os.Stat(real)
	if err != nil {
		return nil
	}
	rel, inside := within(srv.Project, real)
	named, nameInside := within(srv.Project, path)
	switch {
	case !inside && (nameInside || !filepath.IsAbs(arg)):
		return &UnavailableError{Server: srv.ID, Why: fmt.Sprintf("argument %q leads out of the project", arg)}
	case inside && fi.Mode().IsRegular():
		if nameInside {
			rel = named // by its name, so that a link turned elsewhere is a change
		}
		p.files = append(p.files, filepath.ToSlash(rel))
	default:
		p.outside = append(p.outside, path)
	}
	return nil
}

// projectFile is the source of one covered file, opened by the project's
// handle, so that no symlink leads elsewhere.
func projectFile(project, rel string) source {
	return source{path: filepath.Join(project, rel), max: config.MaxCoveredFile, open: func() (*os.File, error) {
		root, err := os.OpenRoot(project)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		return root.OpenFile(filepath.FromSlash(rel), os.O_RDONLY|openNonblock, 0)
	}}
}

// sha is the hex digest of v as JSON; v holds strings only.
func sha(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
