package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"postern/pkg/config"
	"postern/pkg/state"
)

// R76: a file counts when something is in it, and only one that is read.
func TestDeclared(t *testing.T) {
	for _, tc := range []struct {
		path, text string
		want       bool
	}{
		{"config/mcp.yaml", "version: 1\n", true},
		{"config/mcp.yaml", "", false},
		{"config/mcp.yaml", " \r\n\n", false},
		{"config/mcp.d/a.yaml", "#", true},
		{"config/mcp.d/a.yaml", "", false},
		{"config/mcp.d/.a.yaml", "#", false},
		{"config/mcp.d/a.yml", "#", false},
		{"config/trust.json", "{}", false},
		{"project/.mcp.json", "{}", true},
		{"project/.postern/mcp.yaml", "#", true},
		{"project/mcp.yaml", "#", false},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, tc.path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		dirs := state.Dirs{Config: filepath.Join(dir, "config")}
		if got := config.Declared(dirs, filepath.Join(dir, "project")); got != tc.want {
			t.Errorf("%s of %q: %v", tc.path, tc.text, got)
		}
		if got := config.Declared(dirs, ""); got != (tc.want && tc.path[0] == 'c') {
			t.Errorf("%s of %q without project: %v", tc.path, tc.text, got)
		}
	}
	// What leads nowhere may be meant: whoever reads it says so.
	loop := filepath.Join(t.TempDir(), "mcp.yaml")
	if err := os.Symlink(loop, loop); err != nil {
		t.Skip(err)
	}
	if !config.Declared(state.Dirs{Config: filepath.Dir(loop)}, "") {
		t.Error("a loop of links counts as nothing")
	}
}
