//go:build unix

package state_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"postern/pkg/state"
)

// The runtime directory is where all programs of a user look for it: TMPDIR, which
// differs between them, is not asked.
func TestLocateRuntime(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	locate := func(env map[string]string) string {
		t.Helper()
		env["HOME"] = "/home/u"
		d, err := state.Locate(func(name string) string { return env[name] })
		if err != nil {
			t.Fatal(err)
		}
		return d.Runtime
	}
	for want, env := range map[string]map[string]string{
		"/r/p":       {"POSTERN_RUNTIME_DIR": "/r//p/", "XDG_RUNTIME_DIR": "/run/x"},
		"/x/postern": {"XDG_RUNTIME_DIR": "/x"},
	} {
		if got := locate(env); got != want {
			t.Errorf("%v: %s, not %s", env, got, want)
		}
	}
	uid := strconv.Itoa(os.Geteuid())
	if got := locate(map[string]string{"XDG_RUNTIME_DIR": "x"}); got != "/run/user/"+uid+"/postern" && got != "/tmp/postern-"+uid {
		t.Errorf("without a variable it is %s", got)
	}
	if _, err := state.Locate(func(name string) string {
		return map[string]string{"HOME": "/home/u", "POSTERN_RUNTIME_DIR": "run"}[name]
	}); err == nil || !strings.Contains(err.Error(), "POSTERN_RUNTIME_DIR") {
		t.Errorf("a relative one: %v", err)
	}
}

// C1: made at 0700; what is there otherwise is an error that says what to do, and
// never narrowed or replaced.
func TestEnsureRuntime(t *testing.T) {
	base := privateDir(t)
	made := filepath.Join(base, "a", "run")
	if err := state.EnsureRuntime(made); err != nil {
		t.Fatal(err)
	}
	wantMode(t, made, 0o700)
	if err := state.EnsureRuntime(made); err != nil {
		t.Errorf("a second time: %v", err)
	}

	open := filepath.Join(base, "open")
	mkdir(t, open, 0o755)
	if e := wantUnsafe(t, state.EnsureRuntime(open), open); e.Fix != "chmod 700 "+open {
		t.Errorf("the fix is %q", e.Fix)
	}
	wantMode(t, open, 0o755)

	link := filepath.Join(base, "link")
	symlink(t, made, link)
	wantUnsafe(t, state.EnsureRuntime(link), link)

	file := filepath.Join(base, "file")
	write(t, file, "x", 0o600)
	wantUnsafe(t, state.EnsureRuntime(file), file)

	loose := filepath.Join(base, "loose") // whoever writes here can put another run in its place
	mkdir(t, loose, 0o700)
	mkdir(t, filepath.Join(loose, "run"), 0o700)
	chmod(t, loose, 0o777)
	wantUnsafe(t, state.EnsureRuntime(filepath.Join(loose, "run")), loose)

	if err := state.CheckRuntime(filepath.Join(base, "none"), ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent one: %v", err)
	}
}

// C1, C5: a directory of another user is not ours, whatever its mode is.
func TestRuntimeOfOthers(t *testing.T) {
	dir := filepath.Join(privateDir(t), "run")
	mkdir(t, dir, 0o700)
	chown(t, dir, 4711)
	wantUnsafe(t, state.EnsureRuntime(dir), dir)
}

// C5: inside the project of the session its programs could put a socket there.
func TestRuntimeInProject(t *testing.T) {
	project := privateDir(t)
	dir := filepath.Join(project, "run")
	if err := state.EnsureRuntime(dir); err != nil {
		t.Fatal(err)
	}
	wantUnsafe(t, state.CheckRuntime(dir, project), dir)
	if err := state.CheckRuntime(dir, filepath.Join(project, "other")); err != nil {
		t.Errorf("beside a project: %v", err)
	}
}

// One that cannot be made or looked at, as below another user's XDG_RUNTIME_DIR or on
// a read-only file system, is an error that says what to do; one that is absent stays
// known as that.
func TestRuntimeElsewhere(t *testing.T) {
	file := filepath.Join(privateDir(t), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(file, "run")
	for _, err := range []error{state.EnsureRuntime(run), state.CheckRuntime(run, "")} {
		if err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "POSTERN_RUNTIME_DIR") {
			t.Errorf("%v", err)
		}
	}
	if err := state.CheckRuntime(file+"-absent", ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
