package trust

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"postern/pkg/config"
)

// C34: where a bare command is looked up, what is passed over, and that an error
// shows all of it.
func TestSearch(t *testing.T) {
	w := newWorld(t)
	base := filepath.Dir(w.project)
	make := func(rel string, mode os.FileMode) string {
		dir := filepath.Join(base, rel)
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.Chmod(dir, mode)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	tool := func(dir string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, "tool"), []byte("#!/bin/true\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	open, inside, good, plain := make("open", 0o777), make("project/bin", 0o755), make("good", 0o755), make("plain", 0o755)
	linked := filepath.Join(base, "linked")
	if err := os.Symlink(inside, linked); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{open, inside, good} {
		tool(dir, 0o755)
	}
	tool(plain, 0o644)
	list := strings.Join([]string{"", "bin", open, inside, linked, plain, filepath.Join(base, "absent"), good}, string(filepath.ListSeparator))
	path, searched := search("tool", list, w.project)
	if path != filepath.Join(good, "tool") {
		t.Errorf("found %q", path)
	}
	skipped := slices.DeleteFunc(searched, func(s string) bool { return !strings.Contains(s, "skipped") })
	if len(skipped) != 5 {
		t.Errorf("skipped %q", skipped)
	}
	w.env.Hub = []string{"PATH=" + open, "HOME=/"}
	_, err := Check(w.records(), w.user("tool"), w.env)
	var e *ExecutableError
	if !errors.As(err, &e) || !strings.Contains(err.Error(), open) {
		t.Errorf("got %v", err)
	}
}

// C34: the entry's own PATH, else path:, else the hub's PATH.
func TestPathOrder(t *testing.T) {
	w := newWorld(t)
	base := filepath.Dir(w.project)
	for _, dir := range []string{"own", "configured", "hub"} {
		if err := errors.Join(os.Mkdir(filepath.Join(base, dir), 0o755),
			os.WriteFile(filepath.Join(base, dir, "tool"), []byte("#!/bin/true\n"), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	srv := w.user("tool")
	found := func() string {
		a, err := Check(w.records(), srv, w.env)
		if err != nil {
			t.Fatal(err)
		}
		l, err := a.Launch()
		if err != nil {
			t.Fatal(err)
		}
		return filepath.Base(filepath.Dir(l.Path))
	}
	w.env.Hub = []string{"HOME=/", "PATH=" + filepath.Join(base, "hub")}
	if got := found(); got != "hub" {
		t.Errorf("found in %s", got)
	}
	w.env.Path = []string{filepath.Join(base, "configured")}
	if got := found(); got != "configured" {
		t.Errorf("found in %s", got)
	}
	srv.Env = []config.EnvVar{{Name: "PATH", Value: filepath.Join(base, "own")}}
	if got := found(); got != "own" {
		t.Errorf("found in %s", got)
	}
}

func TestFindRefuses(t *testing.T) {
	w := newWorld(t)
	for command, why := range map[string]string{
		"":                      "empty",
		"./srv.sh":              "relative",
		"/bin/bash":             "shell",
		w.path("conf.json"):     "not executable",
		w.path("tools"):         "not executable",
		"/nowhere/at/all":       "not found",
		"no-such-tool-anywhere": "not found",
	} {
		_, err := Check(w.records(), w.user(command), w.env)
		var e *ExecutableError
		if !errors.As(err, &e) || !strings.Contains(e.Why, why) {
			t.Errorf("%q: got %v, want %q", command, err, why)
		}
	}
}

// A bare command in a project is found on PATH and held by digest; when another
// file takes its place on the way, that is a change.
func TestAnotherExecutableOnThePath(t *testing.T) {
	w := newWorld(t)
	base := filepath.Dir(w.project)
	for _, dir := range []string{"first", "second"} {
		if err := os.Mkdir(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put := func(dir string) {
		if err := os.WriteFile(filepath.Join(base, dir, "tool"), []byte("#!/bin/true\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put("second")
	w.srv.Command = "tool"
	redigest(w.srv)
	w.env.Hub = []string{"HOME=/", "PATH=" + filepath.Join(base, "first") + ":" + filepath.Join(base, "second")}
	w.allow(w.srv)
	w.approved()
	put("first")
	var e *ChangedError
	if _, err := w.check(); !errors.As(err, &e) {
		t.Errorf("got %v", err)
	}
	if d := Describe(w.records(), w.srv, w.env); d.Status != Stale || len(d.Why) != 1 {
		t.Errorf("described as %s, %q", d.Status, d.Why)
	}
}

// C51: what root holds is held by path; the hash is only shown.
func TestRootOwnedExecutable(t *testing.T) {
	srv := &config.Server{ID: "x"}
	want := &Executable{Path: "/opt/tool", SHA256: strings.Repeat("0", 64), RootOwned: true}
	if err := compareProgram(nil, srv, want, &program{path: "/opt/tool", rootOwned: true}); err != nil {
		t.Error(err)
	}
	for _, p := range []*program{{path: "/opt/other", rootOwned: true}, {path: "/opt/tool"}} {
		if err := compareProgram(nil, srv, want, p); err == nil {
			t.Errorf("%+v passes", p)
		}
	}
}

// Verify of such a file stats it, and refuses once it is no longer root's.
func TestVerifyRootOwned(t *testing.T) {
	w := newWorld(t)
	w.allow(w.srv)
	r := *w.records()
	r.all = r.All()
	r.all[0].Executable = &Executable{Path: w.path("srv.sh"), SHA256: strings.Repeat("0", 64), RootOwned: true}
	if _, err := Check(&r, w.srv, w.env); err == nil {
		t.Fatal("a file that the user can write is held by its path")
	}
	a := w.approved()
	a.record = &r.all[0]
	a.plan.program.rootOwned = true // as it was at the check
	if err := a.Verify(); err != nil {
		t.Error(err)
	}
	w.write("srv.sh", script+"more", 0o755)
	var e *ChangedError
	if err := a.Verify(); !errors.As(err, &e) {
		t.Errorf("got %v", err)
	}
}

// What an approval does not hold is said.
func TestNotCovered(t *testing.T) {
	w := newWorld(t)
	w.srv.Args = []string{"tools", "/etc/hostname", "tools/server.js"}
	redigest(w.srv)
	d := Describe(w.records(), w.srv, w.env)
	if d.Problem != nil || len(d.Files) != 2 { // server.env and tools/server.js
		t.Fatalf("%v, %v", d.Files, d.Problem)
	}
	text := strings.Join(d.NotCovered, "\n")
	for _, want := range []string{w.path("tools"), "/etc/hostname", "interpreter"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
	for _, v := range d.Variables {
		if v.Name == "SECRET" && v.Origin != "agent" {
			t.Errorf("SECRET would come from %q", v.Origin)
		}
	}
}

// The digest of an unchanged file is not computed twice, once the file is old
// enough for its times to be believed.
func TestHashesRemember(t *testing.T) {
	w := newWorld(t)
	old := w.path("conf.json")
	h := newHashes()
	s := projectFile(w.project, "conf.json")
	if _, err := h.sum(s); err != nil || len(h.known) != 0 {
		t.Fatalf("a file written just now is remembered: %v, %v", h.known, err)
	}
	fi, err := os.Stat(old)
	if err != nil {
		t.Fatal(err)
	}
	past := fi.ModTime().Add(-2 * settled)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	sum, err := h.sum(s)
	if err != nil || len(h.known) != 1 {
		t.Fatalf("an old file is not remembered: %v, %v", h.known, err)
	}
	s.open = func() (*os.File, error) { return nil, errors.New("opened again") }
	if again, err := h.sum(s); err != nil || again != sum {
		t.Errorf("%s, %v", again, err)
	}
}

func TestHashBounds(t *testing.T) {
	w := newWorld(t)
	s := projectFile(w.project, "conf.json")
	s.max = 2
	if _, err := newHashes().sum(s); err == nil {
		t.Error("a file over the bound is hashed")
	}
	if _, err := newHashes().sum(projectFile(w.project, "tools")); err == nil {
		t.Error("a directory is hashed")
	}
}
