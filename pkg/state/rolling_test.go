package state

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A rolling file and the one before it hold what came last, and no more than
// their bound.
func TestRolling(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own", "hub.log")
	r, err := OpenRolling(path, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for k := range 4 {
		wg.Go(func() {
			for n := range 100 {
				if err := r.Append([]byte(fmt.Sprintf("writer %d line %2d\n", k, n))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := r.Append([]byte("last\n")); err != nil {
		t.Fatal(err)
	}
	r.Close()
	r.Close()
	if err := r.Append([]byte("too late")); err != nil {
		t.Error(err)
	}
	for _, name := range []string{path, path + ".1"} {
		text, err := os.ReadFile(name)
		if err != nil || len(text) > 1000 || !strings.HasSuffix(string(text), "\n") {
			t.Errorf("%s: %d bytes, %v", name, len(text), err)
		}
		for line := range strings.Lines(string(text)) {
			if len(line) != len("writer 0 line  0\n") && line != "last\n" {
				t.Errorf("a damaged line %q", line)
			}
		}
		if fi, err := os.Stat(name); err != nil || hasOwners && fi.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, fi.Mode(), err)
		}
	}
	if text, _ := os.ReadFile(path); !strings.HasSuffix(string(text), "last\n") {
		t.Error("the last line is not the last")
	}
}

// One entry over the bound is kept whole, alone.
func TestRollingLongEntry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hub.log")
	r, err := OpenRolling(path, 10)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, text := range []string{"twenty characters aa", "b"} {
		if err := r.Append([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	now, _ := os.ReadFile(path)
	old, _ := os.ReadFile(path + ".1")
	if string(now) != "b" || string(old) != "twenty characters aa" {
		t.Errorf("%q, before it %q", now, old)
	}
}

// Where nothing can be written nothing is kept, and that is said once.
func TestRollingUnwritable(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := OpenRolling(filepath.Join(dir, "file", "hub.log"), 10)
	if err == nil {
		t.Error("it was opened")
	}
	if err := r.Append([]byte("x")); err != nil {
		t.Error(err)
	}
	r.Close()
}
