package config

import (
	"os"
	"path/filepath"
	"testing"

	"postern/pkg/state"
)

// userDir makes a configuration directory with one mcp.yaml.
func userDir(t testing.TB, yaml string) state.Dirs {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "mcp.yaml"), yaml)
	return state.Dirs{Config: dir}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func loadUser(t testing.TB, yaml string) *Config {
	t.Helper()
	return Load(LoadOptions{Dirs: userDir(t, yaml)})
}

// loadProject loads a project's files (relative name → text) beside the user's.
func loadProject(t testing.TB, user string, files map[string]string) *Config {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		write(t, filepath.Join(root, name), text)
	}
	return Load(LoadOptions{Dirs: userDir(t, user), Project: root})
}
