package trust

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"postern/pkg/config"
	"postern/pkg/secret"
)

// MB-188, C52: nothing of a project starts before somebody decided, and an
// approval gives exactly what was shown.
func TestProjectNeedsARecord(t *testing.T) {
	w := newWorld(t)
	_, err := w.check()
	wantNotTrusted(t, err, Untrusted)
	w.allow(w.srv)
	a := w.approved()
	l, err := a.Launch()
	if err != nil {
		t.Fatal(err)
	}
	if l.Path != w.path("srv.sh") || l.Dir != w.project || l.File != nil {
		t.Errorf("launch is %+v", l)
	}
	if want := []string{"tools/server.js", "--config=conf.json", "one"}; !slices.Equal(l.Args, want) {
		t.Errorf("args are %q, want %q", l.Args, want)
	}
	if a.Class() != config.ClassRead || a.Server() != w.srv || len(a.Key()) != 64 {
		t.Errorf("class %s, key %q", a.Class(), a.Key())
	}
	if got := a.SecretOrigins(); got["SECRET"] != secret.FromAgent || got["FROM_FILE"] != secret.FromEnvFile {
		t.Errorf("origins are %v", got)
	}
}

// C32, C23: the child gets the inherited and the declared part, our depth mark,
// and nothing that steers postern or belongs to the agent alone.
func TestChildEnvironment(t *testing.T) {
	w := newWorld(t)
	w.allow(w.srv)
	l, err := w.approved().Launch()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"FILE=f", "HOME=" + filepath.Join(filepath.Dir(w.project), "home"), "LANG=C", "PATH=/usr/bin:/bin", "TOKEN=s3cret", "POSTERN_DEPTH=1"}
	if !slices.Equal(l.Env, want) {
		t.Errorf("environment is %q, want %q", l.Env, want)
	}
}

// changeCase is one change after an approval, and what the next Check says.
type changeCase struct {
	name   string
	change func(*world)
	want   func(*testing.T, error)
	held   bool // an Approved from before refuses too
}

func remove(rel string) func(*world) {
	return func(w *world) {
		if err := os.Remove(w.path(rel)); err != nil {
			w.t.Fatal(err)
		}
	}
}

func rewrite(rel, text string) func(*world) {
	return func(w *world) { w.write(rel, text, 0o755) }
}

func linkTo(rel, target string) func(*world) {
	return func(w *world) {
		remove(rel)(w)
		if err := os.Symlink(target, w.path(rel)); err != nil {
			w.t.Fatal(err)
		}
	}
}

func declare(f func(*config.Server)) func(*world) {
	return func(w *world) { s := *w.srv; f(&s); w.srv = redigest(&s) }
}

func wantStale(t *testing.T, err error) { t.Helper(); wantNotTrusted(t, err, Stale) }

func wantChanged(path string) func(*testing.T, error) {
	return func(t *testing.T, err error) {
		t.Helper()
		if e, ok := err.(*ChangedError); !ok || filepath.Base(e.Path) != path {
			t.Errorf("got %v, want a change of %s", err, path)
		}
	}
}

func wantAs[E error](t *testing.T, err error) {
	t.Helper()
	if _, ok := err.(E); !ok {
		t.Errorf("got %v", err)
	}
}

func changeCases() []changeCase {
	reordered := []string{"--config=conf.json", "tools/server.js", "${ROOT_ARG}"}
	return []changeCase{
		{"declared command", declare(func(s *config.Server) { s.Command = "./conf.json" }), wantStale, false},
		{"declared order of arguments", declare(func(s *config.Server) { s.Args = reordered }), wantStale, false},
		{"declared variable", declare(func(s *config.Server) { s.Env = []config.EnvVar{{Name: "TOKEN", Value: "other"}} }), wantStale, false},
		{"declared directory", declare(func(s *config.Server) { s.CWD = "tools" }), wantStale, false},
		{"value of an argument", func(w *world) { w.env.Agent = []string{"SECRET=s", "ROOT_ARG=two"} }, wantStale, false},
		{"executable", rewrite("srv.sh", script+"more\n"), wantChanged("srv.sh"), true},
		{"executable, same size at once", rewrite("srv.sh", strings.Replace(script, "first", "other", 1)), wantChanged("srv.sh"), true},
		{"executable gone", remove("srv.sh"), wantAs[*ExecutableError], true},
		{"script argument", rewrite("tools/server.js", "other()\n"), wantChanged("server.js"), true},
		{"script argument gone", remove("tools/server.js"), wantChanged("server.js"), true},
		{"file after =", rewrite("conf.json", "[]\n"), wantChanged("conf.json"), true},
		{"env_file", rewrite("server.env", "FROM_FILE=g\n"), wantChanged("server.env"), true},
		{"a file that an argument names now", rewrite("one", "x"), wantChanged("one"), false},
		{"a link to another file", linkTo("tools/server.js", "../srv.sh"), wantChanged("server.js"), true},
		{"a link out of the project", linkTo("tools/server.js", "/etc/hostname"), wantAs[*UnavailableError], true},
	}
}

// Every change of what an approval holds refuses the next Check, and for files
// also the Verify and the Launch of an Approved made before (MB-190, MB-193).
func TestChangeAfterApproval(t *testing.T) {
	for _, c := range changeCases() {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.allow(w.srv)
			held := w.approved()
			c.change(w)
			_, err := w.check()
			c.want(t, err)
			if err == nil {
				t.Fatal("it may still start")
			}
			if !c.held {
				return
			}
			var change *ChangedError
			if err := held.Verify(); !errors.As(err, &change) {
				t.Errorf("Verify of the earlier approval says %v", err)
			}
			if _, err := held.Launch(); !errors.As(err, &change) {
				t.Errorf("Launch of the earlier approval says %v", err)
			}
			d := Describe(w.records(), w.srv, w.env)
			if d.Status == Trusted && d.Problem == nil {
				t.Error("the description calls it trusted")
			}
		})
	}
}

// A link is held by its own name: turned to another file, it is a change for the
// approval made before as well.
func TestLinkTurned(t *testing.T) {
	w := newWorld(t)
	w.write("tools/v1.js", "one()\n", 0o644)
	w.write("tools/v2.js", "two()\n", 0o644)
	link := w.path("tools/current.js")
	if err := os.Symlink("v1.js", link); err != nil {
		t.Fatal(err)
	}
	w.srv.Args = []string{"tools/current.js"}
	redigest(w.srv)
	w.allow(w.srv)
	a := w.approved()
	if err := errors.Join(os.Remove(link), os.Symlink("v2.js", link)); err != nil {
		t.Fatal(err)
	}
	var e *ChangedError
	if err := a.Verify(); !errors.As(err, &e) {
		t.Errorf("Verify says %v", err)
	}
	if _, err := w.check(); !errors.As(err, &e) {
		t.Errorf("Check says %v", err)
	}
}

// What is not part of an approval does not disturb it: other files, the values
// of environment variables, formatting (which the digest does not see).
func TestHarmlessChanges(t *testing.T) {
	w := newWorld(t)
	w.allow(w.srv)
	w.write("README.md", "new", 0o644)
	w.env.Agent = []string{"SECRET=rotated", "ROOT_ARG=one"}
	a := w.approved()
	if err := a.Verify(); err != nil {
		t.Error(err)
	}
}

// R20: equal values give equal keys; a rotated secret is another instance.
func TestKey(t *testing.T) {
	w := newWorld(t)
	w.allow(w.srv)
	first, again := w.approved().Key(), w.approved().Key()
	if first != again {
		t.Error("two approvals of the same have two keys")
	}
	w.env.Agent = []string{"SECRET=rotated", "ROOT_ARG=one"}
	if w.approved().Key() == first {
		t.Error("another value has the same key")
	}
}

// What runs is what was approved: once changed code is approved, the old one is
// another instance, and the same code approved again is not.
func TestKeyOfChangedCode(t *testing.T) {
	w := newWorld(t)
	w.allow(w.srv)
	first := w.approved().Key()
	w.allow(w.srv)
	if w.approved().Key() != first {
		t.Error("the same, approved again, is another instance")
	}
	for _, file := range []string{"tools/server.js", "srv.sh"} {
		w.write(file, "changed\n", 0o755)
		w.allow(w.srv)
		next := w.approved().Key()
		if next == first {
			t.Errorf("changed %s has the same key", file)
		}
		first = next
	}
}

// C52: a denial is by project and id, and survives every edit of the
// declaration; only a new decision ends it (MB-196).
func TestDenialSurvivesEdits(t *testing.T) {
	w := newWorld(t)
	w.allow(w.srv)
	rec := Record{Project: w.project, Source: w.srv.Source, Server: "docs", Digest: w.srv.Digest}
	if err := Deny(context.Background(), w.dirs, rec); err != nil {
		t.Fatal(err)
	}
	_, err := w.check()
	wantNotTrusted(t, err, Denied)
	w.srv.Args = nil
	w.srv.Source = filepath.Join(w.project, ".postern", "mcp.yaml")
	redigest(w.srv)
	_, err = w.check()
	wantNotTrusted(t, err, Denied)
	if all := w.records().All(); len(all) != 1 || all[0].Executable != nil {
		t.Errorf("records are %+v", all)
	}
	w.allow(w.srv)
	w.approved()
	if err := Revoke(context.Background(), w.dirs, w.project, "docs"); err != nil {
		t.Fatal(err)
	}
	_, err = w.check()
	wantNotTrusted(t, err, Untrusted)
	var none *NoRecordError
	if err := Revoke(context.Background(), w.dirs, w.project, "docs"); !errors.As(err, &none) {
		t.Errorf("a second revoke says %v", err)
	}
}

// MB-192, C52: a record is for that path, not for a copy, a folder above or
// below, another file of the same project, or another id.
func TestRecordHoldsForItsPathOnly(t *testing.T) {
	w := newWorld(t)
	w.allow(w.srv)
	for _, project := range []string{w.project + "2", filepath.Dir(w.project), w.path("tools"), "", "/"} {
		other := w.server("docs", project)
		other.Digest = w.srv.Digest
		_, err := Check(w.records(), other, w.env)
		wantNotTrusted(t, err, Untrusted)
	}
	other := *w.srv
	other.Project = w.path("tools")
	_, err := Check(w.records(), &other, w.env)
	wantNotTrusted(t, err, Untrusted)
	other = *w.srv
	other.Source = w.path(".postern/mcp.yaml")
	_, err = Check(w.records(), &other, w.env)
	wantNotTrusted(t, err, Untrusted)
	other = *w.srv
	other.ID = "docs2"
	_, err = Check(w.records(), &other, w.env)
	wantNotTrusted(t, err, Untrusted)
	other = *w.srv
	other.Scope = "" // an unknown scope is nobody's own file
	if _, err = Check(&Records{}, &other, w.env); err == nil {
		t.Error("a server without scope may start")
	}
}

func TestExpiredRecord(t *testing.T) {
	w := newWorld(t)
	w.allow(w.srv)
	r := *w.records()
	r.all = r.All()
	past, future := time.Now().Add(-time.Second), time.Now().Add(time.Hour)
	r.all[0].Expires = &past
	_, err := Check(&r, w.srv, w.env)
	wantNotTrusted(t, err, Expired)
	r.all[0].Expires = &future
	if _, err := Check(&r, w.srv, w.env); err != nil {
		t.Error(err)
	}
}

func TestDisabledAndUnavailable(t *testing.T) {
	w := newWorld(t)
	w.allow(w.srv)
	off := *w.srv
	off.Enabled = false
	var disabled *DisabledError
	if _, err := Check(w.records(), &off, w.env); !errors.As(err, &disabled) {
		t.Errorf("got %v", err)
	}
	input := *w.srv
	input.Unavailable = "it asks for ${input:key}"
	var unavailable *UnavailableError
	if _, err := Check(w.records(), &input, w.env); !errors.As(err, &unavailable) {
		t.Errorf("got %v", err)
	}
	if d := Describe(w.records(), &input, w.env); d.Problem == nil {
		t.Error("the description knows of no problem")
	}
}

// C30: what is missing is named together with the place where it belongs, and
// is never replaced by nothing.
func TestMissingVariable(t *testing.T) {
	w := newWorld(t)
	w.allow(w.srv)
	w.env.Agent = []string{"ROOT_ARG=one"}
	_, err := w.check()
	var e *UnavailableError
	if !errors.As(err, &e) || e.Name != "SECRET" || e.Hint == "" {
		t.Fatalf("got %v", err)
	}
	mine := w.user("/bin/true")
	mine.Args = []string{"${SECRET}"}
	w.env.Agent = []string{"SECRET=s3cret"}
	_, err = Check(w.records(), mine, w.env)
	if !errors.As(err, &e) || !strings.Contains(e.Hint, "agent_env") {
		t.Fatalf("got %v", err)
	}
	if strings.Contains(err.Error()+e.Hint, "s3cret") {
		t.Error("an error holds a value")
	}
	mine.AgentEnv = []string{"SECRET"}
	a, err := Check(w.records(), mine, w.env)
	if err != nil {
		t.Fatal(err)
	}
	if l, _ := a.Launch(); !slices.Equal(l.Args, []string{"s3cret"}) {
		t.Errorf("args are %q", l.Args)
	}
}

// C30: a project's server gets nothing from secrets:, whatever it asks for.
func TestProjectGetsNoSecrets(t *testing.T) {
	w := newWorld(t)
	file := filepath.Join(w.dirs.Config, "token")
	if err := os.WriteFile(file, []byte("hidden"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.env.Secrets = secret.NewStore(map[string]string{"SECRET": "file:" + file})
	w.allow(w.srv)
	w.env.Agent = []string{"ROOT_ARG=one"}
	var e *UnavailableError
	if _, err := w.check(); !errors.As(err, &e) || e.Name != "SECRET" {
		t.Fatalf("got %v", err)
	}
	mine := w.user("/bin/true")
	mine.Args = []string{"${SECRET}"}
	if a, err := Check(w.records(), mine, w.env); err != nil || a.SecretOrigins()["SECRET"] != secret.FromSecrets {
		t.Errorf("the user's own server: %v", err)
	}
}

// C33: variables that change what code runs need their own consent, at the
// approval and again at the check.
func TestCodeVariables(t *testing.T) {
	w := newWorld(t)
	w.srv.Env = append(w.srv.Env, config.EnvVar{Name: "NODE_OPTIONS", Value: "--require ./x.js"})
	w.srv.InheritEnv = secret.Inherit{Mode: "list", Names: []string{"LD_PRELOAD", "OTHER"}}
	redigest(w.srv)
	d := Describe(w.records(), w.srv, w.env)
	_, err := d.Approval(config.ClassRead, []string{"LD_PRELOAD"}, "")
	var e *CodeVariablesError
	if !errors.As(err, &e) || !slices.Equal(e.Names, []string{"NODE_OPTIONS"}) {
		t.Fatalf("got %v", err)
	}
	var unused *UnusedVariableError
	if _, err := d.Approval(config.ClassRead, []string{"LD_PRELOAD", "NODE_OPTIONS", "NOTHING"}, ""); !errors.As(err, &unused) {
		t.Errorf("got %v", err)
	}
	w.allow(w.srv, "NODE_OPTIONS", "LD_PRELOAD")
	l, err := w.approved().Launch()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(l.Env, "OTHER=o") || slices.Contains(l.Env, "HOME="+filepath.Join(filepath.Dir(w.project), "home")) {
		t.Errorf("environment is %q", l.Env)
	}
	r := *w.records()
	r.all = r.All()
	r.all[0].Env = []string{"SECRET", "FROM_FILE", "ROOT_ARG", "LD_PRELOAD", "OTHER"}
	_, err = Check(&r, w.srv, w.env)
	wantNotTrusted(t, err, Stale)
}

// C20: nothing of a project resolves outside it, symlinks included.
func TestNothingLeadsOutOfTheProject(t *testing.T) {
	for name, change := range map[string]func(*world){
		"command": func(w *world) { w.srv.Command = "../outside.sh" },
		"command by link": func(w *world) {
			w.srv.Command = "./link.sh"
			if err := os.Symlink("../outside.sh", w.path("link.sh")); err != nil {
				w.t.Fatal(err)
			}
		},
		"argument": func(w *world) { w.srv.Args = []string{"../outside.sh"} },
		"env_file": func(w *world) { w.srv.EnvFile = "../outside.env" },
		"env_file by link": func(w *world) {
			w.srv.EnvFile = "link.env"
			if err := os.Symlink("../outside.env", w.path("link.env")); err != nil {
				w.t.Fatal(err)
			}
		},
		"directory": func(w *world) { w.srv.CWD = ".." },
		"directory by link": func(w *world) {
			w.srv.CWD = "up"
			if err := os.Symlink("..", w.path("up")); err != nil {
				w.t.Fatal(err)
			}
		},
		"a shell by its variable": func(w *world) { w.srv.Command = "${SH}"; w.env.Hub = append(w.env.Hub, "SH=/bin/sh") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for file, mode := range map[string]os.FileMode{"outside.sh": 0o755, "outside.env": 0o600} {
				if err := os.WriteFile(filepath.Join(filepath.Dir(w.project), file), []byte("A=b\n"), mode); err != nil {
					t.Fatal(err)
				}
			}
			change(w)
			redigest(w.srv)
			d := Describe(w.records(), w.srv, w.env)
			if _, err := d.Approval(config.ClassRead, nil, ""); err == nil {
				t.Error("it can be approved")
			}
		})
	}
}

// C23, MB-042: postern never starts itself, under whatever name.
func TestSelf(t *testing.T) {
	w := newWorld(t)
	dir := filepath.Dir(w.project)
	own := filepath.Join(dir, "own")
	if err := os.WriteFile(own, []byte("x"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.env.Self = []string{own}
	for name, link := range map[string]func(string, string) error{"hard": os.Link, "soft": os.Symlink} {
		if err := link(own, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "mcp-serve"), []byte("y"), 0o755); err != nil {
		t.Fatal(err)
	}
	var self *SelfError
	for _, name := range []string{"own", "hard", "soft", "mcp-serve"} {
		if _, err := Check(w.records(), w.user(filepath.Join(dir, name)), w.env); !errors.As(err, &self) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := Check(w.records(), w.user("/bin/true"), w.env); err != nil {
		t.Error(err)
	}
	w.env.Depth = config.MaxPosternDepth
	if _, err := Check(w.records(), w.user("/bin/true"), w.env); !errors.As(err, &self) || self.Depth == 0 {
		t.Errorf("at full depth: %v", err)
	}
}

// The user's own server needs no record and is not held to its executable.
func TestUserServer(t *testing.T) {
	w := newWorld(t)
	mine := w.user(w.path("srv.sh"))
	a, err := Check(w.records(), mine, w.env)
	if err != nil {
		t.Fatal(err)
	}
	w.write("srv.sh", "#!/bin/true\nupgraded\n", 0o755)
	if err := a.Verify(); err != nil {
		t.Error(err)
	}
	l, err := a.Launch()
	if err != nil || a.Class() != config.ClassExecute || filepath.Base(l.Dir) != "home" {
		t.Errorf("launch %+v, %v", l, err)
	}
	if !slices.Contains(l.Env, "LANG=C") {
		t.Errorf("environment is %q", l.Env)
	}
}

// A binary of a project is started from the descriptor whose content was
// compared, even when the path leads elsewhere a moment later.
func TestLaunchByDescriptor(t *testing.T) {
	w := newWorld(t)
	w.write("bin", "\x7fELF first", 0o755)
	w.srv.Command = "./bin"
	redigest(w.srv)
	w.allow(w.srv)
	l, err := w.approved().Launch()
	if err != nil || l.File == nil {
		t.Fatalf("launch %+v, %v", l, err)
	}
	defer l.File.Close()
	if err := os.Rename(w.path("srv.sh"), w.path("bin")); err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(io.NewSectionReader(l.File, 0, 100))
	if err != nil || string(data) != "\x7fELF first" {
		t.Errorf("the descriptor holds %q, %v", data, err)
	}
}
