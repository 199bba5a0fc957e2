package secret

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"postern/pkg/state"
)

// state/key: made once by whoever comes first, read by all.
func TestKeyIsMadeOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "key")
	keys := make([][]byte, 8)
	var wg sync.WaitGroup
	for n := range keys {
		wg.Go(func() { // ends with its key
			var err error
			if keys[n], err = Key(t.Context(), path); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, key := range keys {
		if len(key) != keyBytes || !bytes.Equal(key, keys[0]) || bytes.Equal(key, make([]byte, keyBytes)) {
			t.Fatalf("%x and %x", key, keys[0])
		}
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi, err)
	}
}

// What is no key stays, and nobody takes it for one.
func TestBadKey(t *testing.T) {
	for name, data := range map[string][]byte{"short": []byte("short"), "long": make([]byte, keyBytes+1)} {
		path := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if key, err := Key(t.Context(), path); err == nil || key != nil {
			t.Errorf("%s: %x, %v", name, key, err)
		}
		if now, _ := os.ReadFile(path); !bytes.Equal(now, data) {
			t.Errorf("%s: it was replaced", name)
		}
	}
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, make([]byte, keyBytes), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	var unsafe *state.UnsafeError
	if _, err := Key(t.Context(), path); !errors.As(err, &unsafe) {
		t.Errorf("a key that others can write: %v", err)
	}
}
