//go:build unix

package state_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"postern/pkg/state"
)

func TestReadFile(t *testing.T) {
	dir := privateDir(t)
	path := filepath.Join(dir, "f")
	write(t, path, "12345", 0o600)

	got, stamp, err := state.ReadFile(path, state.Check{Max: 5})
	if err != nil || string(got) != "12345" {
		t.Fatalf("got %q, %v", got, err)
	}
	if now, err := state.StampOf(path); err != nil || now != stamp {
		t.Errorf("stamps %+v and %+v differ, %v", stamp, now, err)
	}

	var large *state.TooLargeError
	if _, _, err := state.ReadFile(path, state.Check{Max: 4}); !errors.As(err, &large) || large.Max != 4 {
		t.Errorf("got %v, want a TooLargeError", err)
	}
	if _, _, err := state.ReadFile("/proc/self/status", state.Check{Max: 10}); err != nil && !errors.As(err, &large) && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that lies about its size: %v", err) // it says 0 and has more
	}
}

func TestReadFileAbsentAndEmpty(t *testing.T) { // C3
	dir := privateDir(t)
	for _, c := range []state.Check{{Max: 10}, {Max: 10, Private: true}} {
		got, stamp, err := state.ReadFile(filepath.Join(dir, "none"), c)
		if !errors.Is(err, fs.ErrNotExist) || got != nil || stamp != (state.Stamp{}) {
			t.Errorf("absent: %q, %v, %v", got, stamp, err)
		}
		if _, _, err := state.ReadFile(filepath.Join(dir, "no", "where"), c); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("absent directory: %v", err)
		}
		empty := filepath.Join(dir, "empty")
		write(t, empty, "", 0o600)
		_, stamp, err = state.ReadFile(empty, c)
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("empty: %v", err)
		}
		if now, err := state.StampOf(empty); err != nil || stamp != now {
			t.Errorf("an empty file has stamp %+v, want %+v, %v", stamp, now, err)
		}
	}
}

func TestReadFileDoesNotWaitForAFifo(t *testing.T) {
	path := filepath.Join(privateDir(t), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := state.ReadFile(path, state.Check{Max: 10, Private: true})
	wantUnsafe(t, err, path)
	_, err = state.AppendFile(path)
	wantUnsafe(t, err, path)
}

// TestPrivate is C5: who else could change what is read. Each remedy is run.
func TestPrivate(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(t *testing.T, dir, file string) (blamed string)
		fixed bool // whether there is a command that mends it
	}{
		{"group may write the file", func(t *testing.T, _, file string) string { chmod(t, file, 0o620); return file }, true},
		{"others may write the file", func(t *testing.T, _, file string) string { chmod(t, file, 0o602); return file }, true},
		{"group may write the directory", func(t *testing.T, dir, _ string) string { chmod(t, dir, 0o720); return dir }, true},
		{"the directory is shared like /tmp", func(t *testing.T, dir, _ string) string { chmod(t, dir, os.ModeSticky|0o777); return dir }, true},
		{"others may rename the directory", func(t *testing.T, dir, _ string) string { chmod(t, filepath.Dir(dir), 0o707); return filepath.Dir(dir) }, true},
		{"another's file", func(t *testing.T, _, file string) string { chown(t, file, 12345); return file }, false},
		{"another's directory", func(t *testing.T, dir, _ string) string { chown(t, dir, 12345); return dir }, false},
		{"another's parent directory", func(t *testing.T, dir, _ string) string { chown(t, filepath.Dir(dir), 12345); return filepath.Dir(dir) }, false},
		{"a link to a file that others may write", func(t *testing.T, _, file string) string {
			target := file + "-target"
			write(t, target, "x", 0o666)
			relink(t, target, file)
			return file
		}, true},
		{"a link into a directory that others may write", func(t *testing.T, dir, file string) string {
			open := filepath.Join(filepath.Dir(dir), "open")
			mkdir(t, open, 0o777)
			write(t, filepath.Join(open, "f"), "x", 0o600)
			relink(t, filepath.Join(open, "f"), file)
			return open
		}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(privateDir(t), "it's here")
			mkdir(t, dir, 0o700)
			file := filepath.Join(dir, "f")
			write(t, file, "x", 0o600)
			check := state.Check{Max: 10, Private: true}
			if _, _, err := state.ReadFile(file, check); err != nil {
				t.Fatalf("before: %v", err)
			}
			blamed := tt.spoil(t, dir, file)
			got, _, err := state.ReadFile(file, check)
			unsafe := wantUnsafe(t, err, blamed)
			if got != nil || (unsafe.Fix != "") != tt.fixed {
				t.Fatalf("got %q, remedy %q", got, unsafe.Fix)
			}
			if _, _, err := state.ReadFile(file, state.Check{Max: 10}); err != nil {
				t.Errorf("without Private: %v", err)
			}
			if !tt.fixed {
				return
			}
			if out, err := exec.Command("sh", "-c", unsafe.Fix).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", unsafe.Fix, err, out)
			}
			if _, _, err := state.ReadFile(file, check); err != nil {
				t.Errorf("after %s: %v", unsafe.Fix, err)
			}
		})
	}
}

func TestPrivateOutsideTheProject(t *testing.T) { // C5
	base := privateDir(t)
	project, other := filepath.Join(base, "p"), filepath.Join(base, "p2")
	mkdir(t, project, 0o700)
	mkdir(t, other, 0o700)
	symlink(t, project, filepath.Join(base, "alias"))
	inside, outside := filepath.Join(project, "f"), filepath.Join(other, "f")
	write(t, inside, "x", 0o600)
	write(t, outside, "x", 0o600)
	symlink(t, inside, filepath.Join(other, "in")) // ours, but the project changes its content
	symlink(t, outside, filepath.Join(project, "out"))

	for _, tt := range []struct {
		path, project string
		ok            bool
	}{
		{outside, project, true},
		{outside, "", true},
		{inside, "", true},
		{inside, project, false},
		{inside, filepath.Join(base, "alias"), false},
		{filepath.Join(base, "alias", "f"), project, false},
		{filepath.Join(other, "in"), project, false},
		{filepath.Join(project, "out"), project, false}, // the project can point it elsewhere
	} {
		_, _, err := state.ReadFile(tt.path, state.Check{Max: 10, Private: true, Project: tt.project})
		var unsafe *state.UnsafeError
		if tt.ok != (err == nil) || !tt.ok && !errors.As(err, &unsafe) {
			t.Errorf("%s in a session of %q: %v", tt.path, tt.project, err)
		}
	}
}

func TestReadInRoot(t *testing.T) {
	base := privateDir(t)
	dir := filepath.Join(base, "project")
	mkdir(t, dir, 0o755)
	write(t, filepath.Join(base, "secret"), "s", 0o600)
	write(t, filepath.Join(dir, "f"), "12345", 0o664)
	write(t, filepath.Join(dir, "empty"), "", 0o644)
	symlink(t, "f", filepath.Join(dir, "link"))
	symlink(t, "../secret", filepath.Join(dir, "out"))
	symlink(t, filepath.Join(base, "secret"), filepath.Join(dir, "abs"))
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()

	for _, tt := range []struct {
		name, want string
		ok         bool
	}{
		{"f", "12345", true},
		{"link", "12345", true},
		{"empty", "", true},
		{"out", "", false},
		{"abs", "", false},
		{"../secret", "", false},
		{"fifo", "", false},
		{".", "", false},
		{"none", "", false},
	} {
		got, stamp, err := state.ReadInRoot(root, tt.name, 5)
		if tt.ok != (err == nil) || string(got) != tt.want || tt.ok == (stamp == state.Stamp{}) {
			t.Errorf("%s: %q, %+v, %v", tt.name, got, stamp, err)
		}
	}
	var large *state.TooLargeError
	if _, _, err := state.ReadInRoot(root, "f", 4); !errors.As(err, &large) {
		t.Errorf("got %v, want a TooLargeError", err)
	}
	chown(t, filepath.Join(dir, "f"), 12345) // C21
	_, _, err = state.ReadInRoot(root, "f", 5)
	wantUnsafe(t, err, filepath.Join(dir, "f"))
}

func TestStamp(t *testing.T) {
	path := filepath.Join(privateDir(t), "f")
	if s, err := state.StampOf(path); err != nil || s != (state.Stamp{}) {
		t.Fatalf("absent: %+v, %v", s, err)
	}
	if _, err := state.ReplaceFile(path, []byte("one")); err != nil {
		t.Fatal(err)
	}
	one, err := state.StampOf(path)
	if err != nil || one == (state.Stamp{}) {
		t.Fatalf("%+v, %v", one, err)
	}
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	// Same size and same time: only the inode tells them apart.
	if _, err := state.ReplaceFile(path, []byte("two")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, fi.ModTime(), fi.ModTime()); err != nil {
		t.Fatal(err)
	}
	if two, err := state.StampOf(path); err != nil || two == one {
		t.Errorf("a replaced file has the stamp of the old one, %v", err)
	}
}

func chmod(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func relink(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	symlink(t, target, path)
}
