//go:build unix

package cmdmain_test

import (
	"strings"
	"testing"

	"postern/pkg/cmdmain"
	"postern/pkg/cmdmain/cmdtest"
)

// K7: a hub that does not answer is not waited for, and what is said of it has no
// word of Go.
func TestReloadOfASilentHub(t *testing.T) {
	t.Parallel()
	dirs := cmdtest.Dirs(t)
	cmdtest.FakeHub(t, dirs, nil)
	var said strings.Builder
	(&cmdmain.Env{Name: "mcp-trust", Ctx: t.Context(), Stderr: &said}).ReloadHub(dirs)
	if said.String() != "mcp-trust: a hub that is up may notice the change later: the hub does not answer\n" {
		t.Errorf("said %q", &said)
	}
}
