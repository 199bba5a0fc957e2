//go:build unix

package trust

import (
	"io/fs"
	"testing"
)

// C51: root's files are held by path only when this user really cannot write
// them.
func TestHeldByRoot(t *testing.T) {
	for _, c := range []struct {
		owner    uint32
		user     int
		mode     fs.FileMode
		writable bool
		want     bool
	}{
		{0, 1000, 0o755, false, true},
		{0, 0, 0o755, false, false},    // root can write it
		{0, 1000, 0o775, false, false}, // a group can
		{0, 1000, 0o757, false, false}, // everybody can
		{0, 1000, 0o755, true, false},  // an access list says so
		{1000, 1000, 0o755, true, false},
		{33, 1000, 0o755, false, false},
	} {
		if got := heldByRoot(c.owner, c.user, c.mode, c.writable); got != c.want {
			t.Errorf("heldByRoot(%d, %d, %o, %v) = %v", c.owner, c.user, c.mode, c.writable, got)
		}
	}
}
