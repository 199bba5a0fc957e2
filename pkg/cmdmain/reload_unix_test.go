//go:build unix

package cmdmain

import (
	"net"
	"os"
	"strings"
	"testing"

	"postern/pkg/hub"
	"postern/pkg/state"
)

// K7: a hub that does not answer is not waited for, and what is said of it has no
// word of Go.
func TestReloadOfASilentHub(t *testing.T) {
	t.Parallel()
	run, err := os.MkdirTemp("", "run-") // short: paths of sockets have 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(run)
	dirs := state.Dirs{Config: t.TempDir(), State: t.TempDir(), Cache: t.TempDir(), Runtime: run}
	where, err := hub.PlaceOf(dirs, "test")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", where.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Chmod(where.Socket, 0o600); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	(&Env{Name: "mcp-trust", Ctx: t.Context(), Stderr: &said}).ReloadHub(dirs)
	if said.String() != "mcp-trust: a hub that is up may notice the change later: the hub does not answer\n" {
		t.Errorf("said %q", &said)
	}
}
