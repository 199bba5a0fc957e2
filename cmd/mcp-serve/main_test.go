package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"postern/pkg/cmdmain/cmdtest"
	"postern/pkg/mcptest"
)

func TestMain(m *testing.M) {
	commands := mcptest.Commands()
	commands["mcp-serve"], commands["patient"] = main, patient
	testscript.Main(m, commands)
}

func TestHelp(t *testing.T) { cmdtest.Help(t, "mcp-serve", app) }

// TestScripts runs the gateway as an agent does, each script in a scratch home.
func TestScripts(t *testing.T) {
	fake := fakeServer(t)
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Setup: func(e *testscript.Env) error {
		home := filepath.Join(e.WorkDir, "home")
		e.Setenv("HOME", home)
		e.Setenv("FAKE", fake)
		e.Setenv("GORACE", "atexit_sleep_ms=0") // a process of a race-enabled test binary ends at once
		return private(e.WorkDir)
	}})
}

// fakeServer is a file of its own: the one that testscript makes is a link to
// the very file that mcp-serve is, and postern does not start itself (C23).
func fakeServer(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, mcptest.Name)
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// private makes everything a script brought writable by its owner alone (C5).
func private(dir string) error {
	return filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil || info.Mode()&os.ModeSymlink != 0 {
			return err
		}
		return os.Chmod(path, info.Mode().Perm()&^0o022)
	})
}
