package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"postern/pkg/hub"
	"postern/pkg/state"
)

// hard is a home with everything in its paths that systemd would read differently,
// and a program with what it takes of that.
func hard(t *testing.T) (place hub.Place, executable string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a b%n$HOME")
	executable = filepath.Join(dir, "mcp-serve")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(executable, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return hub.Place{
		Dirs:   state.Dirs{Config: dir + `/"c\n`, State: dir + "/s", Cache: dir + "/x", Runtime: "/run/100%/p"},
		Socket: "/run/100%/p/hub-1-2.sock",
	}, executable
}

// The units say where this build of these directories is looked for, in systemd's
// own way of quoting.
func TestUnits(t *testing.T) {
	place, executable := hard(t)
	all := units(place, executable)
	dir := strings.ReplaceAll(filepath.Dir(executable), "%", "%%")
	for i, has := range [][]string{
		{"ListenStream=/run/100%%/p/hub-1-2.sock\n", "SocketMode=0600\n", "WantedBy=sockets.target\n"},
		{
			`ExecStart="` + dir + `/mcp-serve" hub` + "\n", `Environment="POSTERN_CONFIG_DIR=` + dir + `/\"c\\n"` + "\n",
			`Environment="POSTERN_RUNTIME_DIR=/run/100%%/p"` + "\n", "KillMode=mixed\n",
		},
	} {
		for _, h := range has {
			if !strings.Contains(all[i].text, h) {
				t.Errorf("no %s in %s:\n%s", h, all[i].name, all[i].text)
			}
		}
	}
}

// What systemd itself says of the units, where it is there to say it.
func TestUnitsAreValid(t *testing.T) {
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd here")
	}
	place, executable := hard(t)
	dir := t.TempDir()
	var paths []string
	for _, u := range units(place, executable) {
		path := filepath.Join(dir, u.name)
		if err := writeUnit(path, u.text); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	out, err := exec.Command(verify, append([]string{"verify", "--man=no"}, paths...)...).CombinedOutput()
	if err != nil || strings.Contains(string(out), "postern.") {
		t.Errorf("%v: %s", err, out)
	}
}

// A unit is replaced in one step, and one that says the same is left alone.
func TestWriteUnit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "systemd", "user", "postern.socket")
	for _, text := range []string{"a", "b"} {
		if err := writeUnit(path, text); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%q, %v", got, err)
		}
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeUnit(path, "b"); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) || after.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v", after, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}
