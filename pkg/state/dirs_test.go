package state_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"postern/pkg/state"
)

func TestLocate(t *testing.T) {
	tests := []struct {
		name string
		env  map[string]string
		want state.Dirs
		err  string
	}{
		{"home only", map[string]string{"HOME": "/home/u"},
			state.Dirs{Config: "/home/u/.config/postern", State: "/home/u/.local/state/postern", Cache: "/home/u/.cache/postern"}, ""},
		{"xdg", map[string]string{"HOME": "/home/u", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s/", "XDG_CACHE_HOME": "/x"},
			state.Dirs{Config: "/c/postern", State: "/s/postern", Cache: "/x/postern"}, ""},
		{"a relative xdg is ignored", map[string]string{"HOME": "/home/u", "XDG_CONFIG_HOME": "c"},
			state.Dirs{Config: "/home/u/.config/postern", State: "/home/u/.local/state/postern", Cache: "/home/u/.cache/postern"}, ""},
		{"overrides beat xdg and need no home", map[string]string{"XDG_CONFIG_HOME": "/c", "POSTERN_CONFIG_DIR": "/a//b/", "POSTERN_STATE_DIR": "/s", "POSTERN_CACHE_DIR": "/x"},
			state.Dirs{Config: "/a/b", State: "/s", Cache: "/x"}, ""},
		{"a relative override", map[string]string{"HOME": "/home/u", "POSTERN_STATE_DIR": "./state"}, state.Dirs{}, "POSTERN_STATE_DIR"},
		{"a relative home", map[string]string{"HOME": "u"}, state.Dirs{}, "POSTERN_CONFIG_DIR"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := state.Locate(func(name string) string {
				if name == "POSTERN_RUNTIME_DIR" {
					return "/run/p"
				}
				return tt.env[name]
			})
			if tt.err == "" {
				tt.want.Runtime = "/run/p"
			}
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("error %v, want one with %q", err, tt.err)
			}
		})
	}
}

func TestLocateCreatesNothing(t *testing.T) {
	home := t.TempDir()
	d, err := state.Locate(func(name string) string { return map[string]string{"HOME": home}[name] })
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{d.Config, d.State, d.Cache} {
		if !strings.HasPrefix(dir, home) {
			t.Errorf("%s is outside the home", dir)
		}
	}
	if entries, err := os.ReadDir(home); err != nil || len(entries) != 0 {
		t.Errorf("home has %v, %v", entries, err)
	}
}

func TestEnsureDir(t *testing.T) { // C1
	base := t.TempDir()
	dir := filepath.Join(base, "a", "b")
	if err := state.EnsureDir(dir); err != nil {
		t.Fatal(err)
	}
	wantMode(t, dir, 0o700)
	wantMode(t, filepath.Dir(dir), 0o700)

	lax := filepath.Join(base, "lax")
	mkdir(t, lax, 0o775)
	if err := state.EnsureDir(lax); err != nil {
		t.Fatal(err)
	}
	wantMode(t, lax, 0o700)

	narrow := filepath.Join(base, "narrow")
	mkdir(t, narrow, 0o500)
	if err := state.EnsureDir(narrow); err != nil {
		t.Fatal(err)
	}
	wantMode(t, narrow, 0o500) // taken from, never given to
}

func TestEnsureDirRefuses(t *testing.T) {
	base := t.TempDir()
	shared := filepath.Join(base, "shared")
	mkdir(t, shared, os.ModeSticky|0o777)
	wantUnsafe(t, state.EnsureDir(shared), shared)
	wantMode(t, shared, 0o777)

	file := filepath.Join(base, "file")
	write(t, file, "x", 0o600)
	if err := state.EnsureDir(file); err == nil {
		t.Error("a file passed as a directory")
	}

	foreign := filepath.Join(base, "foreign")
	mkdir(t, foreign, 0o755)
	chown(t, foreign, 12345)
	wantUnsafe(t, state.EnsureDir(foreign), foreign)
	wantMode(t, foreign, 0o755)
}
