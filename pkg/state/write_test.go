//go:build unix

package state_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"postern/pkg/state"
)

func TestReplaceFile(t *testing.T) { // C1, C2
	dir := filepath.Join(privateDir(t), "new")
	other := privateDir(t)
	before, err := os.Stat(other)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", other)
	path := filepath.Join(dir, "f")
	for _, step := range []struct {
		data    string
		changed bool
	}{{"one", true}, {"one", false}, {"two", true}, {"", true}, {"", false}} {
		changed, err := state.ReplaceFile(path, []byte(step.data))
		if err != nil || changed != step.changed || content(t, path) != step.data {
			t.Fatalf("%q: changed %v, %v, content %q", step.data, changed, err, content(t, path))
		}
		wantMode(t, path, 0o600)
	}
	wantMode(t, dir, 0o700)
	wantEntries(t, dir, "f")
	if after, err := os.Stat(other); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("the temporary file did not lie beside the target, %v", err)
	}
}

func TestReplaceFileNarrows(t *testing.T) { // C1, MB-222
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	dir := privateDir(t)
	path := filepath.Join(dir, "f")
	write(t, path, "same", 0o644)
	if changed, err := state.ReplaceFile(path, []byte("same")); err != nil || changed {
		t.Fatalf("%v, %v", changed, err)
	}
	wantMode(t, path, 0o600)
	chmod(t, path, 0o666)
	if _, err := state.ReplaceFile(path, []byte("other")); err != nil {
		t.Fatal(err)
	}
	wantMode(t, path, 0o600)
}

func TestReplaceFileUnchangedKeepsTheStamp(t *testing.T) { // C2
	path := filepath.Join(privateDir(t), "f")
	write(t, path, "same", 0o600)
	before, _ := state.StampOf(path)
	if _, err := state.ReplaceFile(path, []byte("same")); err != nil {
		t.Fatal(err)
	}
	if after, _ := state.StampOf(path); after != before {
		t.Error("an equal file was written")
	}
}

func TestReplaceFileKeepsSymlinks(t *testing.T) { // C2
	base := privateDir(t)
	own, dots := filepath.Join(base, "own"), filepath.Join(base, "dots")
	mkdir(t, own, 0o700)
	mkdir(t, dots, 0o755)
	write(t, filepath.Join(dots, "real"), "old", 0o600)
	for _, link := range []struct{ name, to, target string }{
		{"absolute", filepath.Join(dots, "real"), "real"},
		{"relative", "../dots/real", "real"},
		{"twice", "relative", "real"},
		{"dangling", "../dots/fresh", "fresh"},
	} {
		symlink(t, link.to, filepath.Join(own, link.name))
		if changed, err := state.ReplaceFile(filepath.Join(own, link.name), []byte(link.name)); err != nil || !changed {
			t.Fatalf("%s: %v, %v", link.name, changed, err)
		}
		if to, err := os.Readlink(filepath.Join(own, link.name)); err != nil || to != link.to {
			t.Errorf("%s now points to %q, %v", link.name, to, err)
		}
		if got := content(t, filepath.Join(dots, link.target)); got != link.name {
			t.Errorf("%s: the target has %q", link.name, got)
		}
	}
	wantMode(t, dots, 0o755) // not ours to narrow
	wantEntries(t, dots, "fresh", "real")
	wantEntries(t, own, "absolute", "dangling", "relative", "twice")

	loop := filepath.Join(own, "loop")
	symlink(t, "loop", loop)
	if _, err := state.ReplaceFile(loop, nil); err == nil {
		t.Error("a loop of links was followed")
	}
}

func TestReplaceFileRefusesWhatIsNoFile(t *testing.T) {
	dir := privateDir(t)
	link := filepath.Join(dir, "f")
	symlink(t, "/dev/null", link) // root could replace it
	_, err := state.ReplaceFile(link, []byte("x"))
	wantUnsafe(t, err, "/dev/null")
	_, err = state.ReplaceFile(dir, []byte("x"))
	wantUnsafe(t, err, dir)
}

func TestReplaceFileFailsWhole(t *testing.T) {
	dir := privateDir(t)
	path := filepath.Join(dir, "missing", "f")
	symlink(t, path, filepath.Join(dir, "f"))
	if changed, err := state.ReplaceFile(filepath.Join(dir, "f"), []byte("x")); changed || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, %v", changed, err)
	}
	wantEntries(t, dir, "f")
}

func TestAppendFile(t *testing.T) { // C1, MB-222
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	dir := filepath.Join(privateDir(t), "calls")
	path := filepath.Join(dir, "f")
	for range 2 {
		f, err := state.AppendFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte("line\n")); err != nil {
			t.Fatal(err)
		}
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, 4); err != nil || last[0] != '\n' {
			t.Errorf("cannot be read: %q, %v", last, err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		wantMode(t, path, 0o600)
		chmod(t, path, 0o644)
	}
	if got := content(t, path); got != "line\nline\n" {
		t.Errorf("content %q", got)
	}
	chown(t, path, 12345)
	_, err := state.AppendFile(path)
	wantUnsafe(t, err, path)
}

func TestUpdate(t *testing.T) { // C4
	path := filepath.Join(privateDir(t), "f")
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			err := state.Update(context.Background(), path, state.Check{Max: 1000, Private: true}, func(old []byte) ([]byte, error) {
				return fmt.Appendf(old, "%d\n", i), nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := strings.Count(content(t, path), "\n"); n != 20 {
		t.Errorf("%d of 20 changes are there", n)
	}
	wantEntries(t, filepath.Dir(path), "f", "f.lock")
	wantMode(t, path+".lock", 0o600)
}

func TestUpdateLeavesWhatItCannotRead(t *testing.T) { // C3
	path := filepath.Join(privateDir(t), "f")
	write(t, path, "too long", 0o600)
	called := false
	change := func([]byte) ([]byte, error) { called = true; return []byte("x"), nil }
	var large *state.TooLargeError
	if err := state.Update(context.Background(), path, state.Check{Max: 3}, change); !errors.As(err, &large) {
		t.Errorf("too large: %v", err)
	}
	chmod(t, path, 0o666)
	wantUnsafe(t, state.Update(context.Background(), path, state.Check{Max: 30, Private: true}, change), path)
	if called || content(t, path) != "too long" {
		t.Errorf("changed to %q", content(t, path))
	}
	no := errors.New("no")
	err := state.Update(context.Background(), path, state.Check{Max: 30}, func([]byte) ([]byte, error) { return []byte("x"), no })
	if !errors.Is(err, no) || content(t, path) != "too long" {
		t.Errorf("%v, content %q", err, content(t, path))
	}
}

// Where others may replace a file, none is made that would not be believed then (C5).
func TestUpdateMakesNothingUnbelievable(t *testing.T) {
	above := filepath.Join(privateDir(t), "above")
	path := filepath.Join(above, "ours", "f")
	if err := os.Mkdir(above, 0o700); err != nil {
		t.Fatal(err)
	}
	chmod(t, above, 0o770)
	update := func() error {
		return state.Update(t.Context(), path, state.Check{Max: 30, Private: true}, func([]byte) ([]byte, error) { return []byte("x"), nil })
	}
	wantUnsafe(t, update(), above)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was made: %v", err)
	}
	chmod(t, above, 0o700)
	if err := update(); err != nil || content(t, path) != "x" {
		t.Errorf("%v, content %q", err, content(t, path))
	}
}

func wantEntries(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s has %v, want %v", dir, got, want)
	}
}

func TestAppendNewFile(t *testing.T) { // C82
	path := filepath.Join(t.TempDir(), "d", "f")
	f, err := state.AppendNewFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("a"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := state.AppendNewFile(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("the second time: %v", err)
	}
}
