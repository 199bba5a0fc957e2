//go:build unix

package config

import (
	"os"
	"path/filepath"
	"testing"
)

// C21 and MB-194.
func TestFindProject(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(base, filepath.FromSlash(name)) }
	for _, dir := range []string{"home/src/app/.git", "home/src/app/deep/er", "home/src/app/sub/.postern", "home/src/none/x",
		"home/.git", ".git", "other/.git", "other/in"} {
		if err := os.MkdirAll(at(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, at("home/src/json/.mcp.json"), "{}")
	write(t, at("home/src/worktree/.git"), "gitdir: elsewhere\n")
	if err := os.Symlink(at("home/src/app/deep"), at("link")); err != nil {
		t.Fatal(err)
	}
	home := at("home")
	for dir, want := range map[string]string{
		"home/src/app":         "home/src/app",
		"home/src/app/deep/er": "home/src/app",
		"home/src/app/sub":     "home/src/app/sub",
		"home/src/json":        "home/src/json",
		"home/src/worktree":    "home/src/worktree",
		"home/src/app/../json": "home/src/json",
		"link/er":              "home/src/app",
		"home/src/none/x":      "", // home itself is never a project
		"home":                 "",
		".":                    "", // nor what is above home
		"other/in":             "other",
	} {
		got, err := FindProject(at(dir), home)
		if want != "" {
			want = at(want)
		}
		if err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", dir, got, err, want)
		}
	}
	if err := os.Symlink(home, at("homelink")); err != nil {
		t.Fatal(err)
	}
	if got, _ := FindProject(at("home/src/none"), at("homelink")); got != "" {
		t.Errorf("home by a link: %q", got)
	}
	if got, _ := FindProject("/", ""); got != "" {
		t.Errorf("the root: %q", got)
	}
	if _, err := FindProject(at("gone"), home); err == nil {
		t.Error("a directory that is not there")
	}
	if _, err := FindProject(at("home/src/json/.mcp.json"), home); err == nil {
		t.Error("a file")
	}
}

// C21: the walk ends at another owner and at another mount.
func TestFindProjectStopsAtBorders(t *testing.T) {
	base := t.TempDir()
	if err := os.MkdirAll(filepath.Join(base, "outer", ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	inner := filepath.Join(base, "outer", "theirs", "mine")
	if err := os.MkdirAll(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root to give a directory away")
	}
	if err := os.Chown(filepath.Join(base, "outer", "theirs"), 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if got, err := FindProject(inner, ""); got != "" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	marker := filepath.Join(inner, ".mcp.json")
	write(t, marker, "{}")
	if got, _ := FindProject(inner, ""); got == "" {
		t.Error("our own directory below is a project")
	}
	if err := os.Lchown(marker, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if got, _ := FindProject(inner, ""); got != "" {
		t.Errorf("another user's marker makes no project: %q", got)
	}
	if fi, err := os.Stat("/proc"); err == nil {
		if here, err := os.Stat(base); err == nil && sameMount(fi, here) {
			t.Error("/proc is another mount")
		}
	}
}
