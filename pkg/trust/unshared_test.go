package trust

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"postern/pkg/config"
	"postern/pkg/secret"
)

// agentOf is w.env as an agent's session has it.
func (w *world) agentOf(session, dir string) *Environ {
	env := *w.env
	env.Session, env.Dir = session, dir
	return &env
}

func (w *world) launchOf(srv *config.Server, env *Environ) (*Approved, Launch) {
	w.t.Helper()
	a, err := Check(w.records(), srv, env)
	if err != nil {
		w.t.Fatal(err)
	}
	l, err := a.Launch()
	if err != nil {
		w.t.Fatal(err)
	}
	return a, l
}

// R20, MB-049: what is not shared has a key for each session and runs in its
// agent's directory; what is shared has neither.
func TestSessionsOfOneServer(t *testing.T) {
	w := newWorld(t)
	mine := w.user("/bin/true")
	first, second := w.agentOf("s1", w.project), w.agentOf("s2", w.project)

	a, l := w.launchOf(mine, first)
	b, _ := w.launchOf(mine, second)
	if a.Key() != b.Key() || a.Session() != "" || filepath.Base(l.Dir) != "home" {
		t.Errorf("shared: %q in %s, keys equal %v", a.Session(), l.Dir, a.Key() == b.Key())
	}

	mine.Shared = false
	var nobody *UnavailableError
	if _, err := Check(w.records(), mine, w.agentOf("", w.project)); !errors.As(err, &nobody) {
		t.Errorf("for no session: %v", err)
	}
	a1, l := w.launchOf(mine, first)
	a2, _ := w.launchOf(mine, first)
	b, _ = w.launchOf(mine, second)
	elsewhere, _ := w.launchOf(mine, w.agentOf("s1", w.path("tools")))
	if a1.Session() != "s1" || b.Session() != "s2" || l.Dir != w.project {
		t.Errorf("not shared: %q and %q in %s", a1.Session(), b.Session(), l.Dir)
	}
	if a1.Key() != a2.Key() || a1.Key() == b.Key() || a1.Key() == a.Key() || a1.Key() == elsewhere.Key() {
		t.Error("the keys do not tell sessions and directories apart")
	}
}

// C32: language, time zone and terminal of a server that is not shared are its
// agent's, the absence of one included; all else is the hub's.
func TestLocaleOfTheAgent(t *testing.T) {
	w := newWorld(t)
	w.env.Hub = append(w.env.Hub, "LC_ALL=C", "TZ=UTC")
	w.env.Agent = []string{"LANG=de_DE", "LC_TIME=fr_FR", "TERM=vt100", "OTHER=o", "HOME=/else", "PATH=/evil", "XDG_DATA_HOME=/x", "LC_TIME=it_IT"}
	env := w.agentOf("s1", "")
	alone := *env
	alone.Agent = nil
	home, path := w.env.Hub[1], w.env.Hub[0]
	const mark = "POSTERN_DEPTH=1"
	for name, c := range map[string]struct {
		env    *Environ
		change func(*config.Server)
		want   []string
	}{
		"shared":        {env, func(s *config.Server) { s.Shared = true }, []string{home, "LANG=C", "LC_ALL=C", path, "TZ=UTC", mark}},
		"not shared":    {env, func(*config.Server) {}, []string{home, "LANG=de_DE", "LC_TIME=it_IT", path, "TERM=vt100", mark}},
		"nobody's":      {&alone, func(*config.Server) {}, []string{home, "LANG=C", "LC_ALL=C", path, "TZ=UTC", mark}},
		"declared":      {env, func(s *config.Server) { s.Env = []config.EnvVar{{Name: "TERM", Value: "dumb"}} }, []string{home, "LANG=de_DE", "LC_TIME=it_IT", path, "TERM=dumb", mark}},
		"inherits none": {env, func(s *config.Server) { s.InheritEnv.Mode = "none" }, []string{mark}},
		"inherits listed": {env, func(s *config.Server) {
			s.InheritEnv = secret.Inherit{Mode: "list", Names: []string{"TZ", "TERM", "OTHER"}}
		}, []string{"TERM=vt100", mark}},
	} {
		mine := w.user("/bin/true")
		mine.Shared = false
		c.change(mine)
		if _, l := w.launchOf(mine, c.env); !slices.Equal(l.Env, c.want) {
			t.Errorf("%s: %q\nwant %q", name, l.Env, c.want)
		}
	}
}

// C20, R10: the agent's directory is checked as a declared one is.
func TestDirectoryOfTheAgent(t *testing.T) {
	w := newWorld(t)
	outside := filepath.Dir(w.project)
	for link, target := range map[string]string{"in": "tools", "out": outside} {
		if err := os.Symlink(target, w.path(link)); err != nil {
			t.Fatal(err)
		}
	}
	w.srv.Shared = false
	redigest(w.srv)
	w.allow(w.srv)
	for _, c := range []struct {
		name     string
		project  bool // else the user's own server
		dir, cwd string
		want     string // the directory, or a part of the error
	}{
		{"a folder of the project", true, w.path("in"), "", w.path("tools")},
		{"none", true, "", "", w.project},
		{"outside", true, outside, "", "its agent's directory " + outside + " lies outside the project, and no cwd is declared"},
		{"leads out", true, w.path("out"), "", "lies outside the project"},
		{"not there", true, w.path("no"), "", "does not exist"},
		{"a file", true, w.path("conf.json"), "", "is not a directory"},
		{"relative", true, "tools", "", `its agent's directory "tools" is not absolute`},
		{"the user's server anywhere", false, outside, "", outside},
		{"the user's server at home", false, "", "", filepath.Join(outside, "home")},
		{"the user's server nowhere", false, w.path("no"), "", "does not exist"},
		{"a declared one wins", false, w.path("no"), w.path("tools"), w.path("tools")},
	} {
		srv := w.user("/bin/true")
		srv.Shared, srv.CWD = false, c.cwd
		if c.project {
			srv = w.srv
		}
		a, err := Check(w.records(), srv, w.agentOf("s1", c.dir))
		var bad *UnavailableError
		switch {
		case err == nil:
			if a.plan.dir != c.want {
				t.Errorf("%s: %s, want %s", c.name, a.plan.dir, c.want)
			}
		case !errors.As(err, &bad) || !strings.Contains(bad.Why, c.want):
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// C51: an approval looked at relative arguments from the project's root. From
// another folder they name other files, which nobody approved, whether these
// are there already or come later.
func TestArgumentsInTheDirectoryOfTheAgent(t *testing.T) {
	w := newWorld(t)
	w.srv.Shared = false
	redigest(w.srv)
	w.allow(w.srv)
	env := w.agentOf("s1", w.path("tools"))
	a, l := w.launchOf(w.srv, env)
	if l.Dir != w.path("tools") || l.Path != w.path("srv.sh") {
		t.Errorf("%+v", l)
	}
	if err := os.MkdirAll(w.path("tools/tools"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.write("tools/tools/server.js", "evil()\n", 0o644)
	_, err := Check(w.records(), w.srv, env)
	for name, err := range map[string]error{"checked again": err, "launched again": func() error { _, err := a.Launch(); return err }()} {
		var changed *ChangedError
		if !errors.As(err, &changed) || changed.Path != "tools/tools/server.js" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, l := w.launchOf(w.srv, w.agentOf("s1", w.project)); l.Dir != w.project {
		t.Errorf("from the root: %+v", l)
	}
}

// A link that turns out of the project between Check and the start.
func TestArgumentThatLeadsOutLater(t *testing.T) {
	w := newWorld(t)
	w.srv.Args = []string{"later"}
	redigest(w.srv)
	w.allow(w.srv)
	a := w.approved()
	if err := os.Symlink(filepath.Dir(w.project), w.path("later")); err != nil {
		t.Fatal(err)
	}
	_, err := a.Launch()
	var bad *UnavailableError
	if !errors.As(err, &bad) || !strings.Contains(bad.Why, "leads out") {
		t.Errorf("%v", err)
	}
}

// What is known before a start is looked at in the agent's directory as well.
func TestReadyInTheDirectoryOfTheAgent(t *testing.T) {
	w := newWorld(t)
	mine := w.user("/bin/true")
	env := w.agentOf("s1", w.path("no"))
	if err := Ready(mine, env, "", nil); err != nil {
		t.Errorf("shared: %v", err)
	}
	mine.Shared = false
	if err := Ready(mine, env, "", nil); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("not shared: %v", err)
	}
}
