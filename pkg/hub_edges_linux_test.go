package pkg

import (
	"os"
	"strings"
	"testing"

	"postern/pkg/mcptest"
)

// A directory whose name is no text cannot be said in a hello: the session is served
// as without a hub, and no other directory in its place.
func TestHubDirectoryWithoutText(t *testing.T) {
	s := newShared(t, "s [] shared: false")
	dir := s.path("caf\xe9")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{nil, {"--project", dir}} {
		if args != nil {
			if err := os.Mkdir(dir+"/.git", 0o700); err != nil {
				t.Fatal(err)
			}
		}
		c := s.command("mcp-serve", args...)
		c.Dir = dir
		a := mcptest.Start(t, c)
		a.Initialize()
		s.call(a, "s__echo", "")
		if said := a.Stderr(); strings.Count(said, "\n") != 1 || !strings.Contains(said, "served by this process") {
			t.Errorf("said: %s", said)
		}
		if status := a.Close(); status != 0 {
			t.Errorf("ended with %d", status)
		}
	}
	s.nothingLeft()
}
