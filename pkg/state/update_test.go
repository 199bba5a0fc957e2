package state_test

import (
	"path/filepath"
	"testing"

	"postern/pkg/state"
)

// A project that is gone does not make the file look absent: it would be
// written over (C3).
func TestUpdateKeepsFileOfVanishedProject(t *testing.T) {
	path := filepath.Join(privateDir(t), "trust.json")
	check := state.Check{Max: 100, Private: true, Project: filepath.Join(t.TempDir(), "gone")}
	for i, want := range []string{"", "x", "xx"} {
		err := state.Update(t.Context(), path, check, func(old []byte) ([]byte, error) {
			if string(old) != want {
				t.Errorf("update %d sees %q, not %q", i, old, want)
			}
			return append(old, 'x'), nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
