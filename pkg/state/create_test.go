package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// A created file is private from the beginning, is never an old one.
func TestCreateFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	path := filepath.Join(dir, "new")
	if err := CreateFile(path, []byte("one "), nil, []byte("two")); err != nil {
		t.Fatal(err)
	}
	data, _, err := ReadFile(path, Check{Max: 100, Private: true})
	if err != nil || string(data) != "one two" {
		t.Errorf("%q, %v", data, err)
	}
	if fi, err := os.Stat(path); err != nil || hasOwners && fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi.Mode(), err)
	}
	if err := CreateFile(path, []byte("three")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("an old file: %v", err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), link); err == nil {
		if err := CreateFile(link, []byte("x")); err == nil {
			t.Error("wrote through a link")
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "elsewhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the link's target: %v", err)
	}
}
