package pkg

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"postern/pkg/mcptest"
)

// A hub that is stopped while an agent reads nothing cannot tell its bridge: it stays
// stopped for that agent all the same.
func TestHubStopFullPipe(t *testing.T) {
	s := newShared(t, "s [] queue: 128")
	slow, open, _ := s.deaf()
	slow.BeginInitialize()
	slow.Notify("notifications/initialized", "")
	var ids []string
	for range 12 {
		ids = append(ids, s.ask(slow, "s__big", `,"bytes":1048576`))
	}
	mcptest.WaitEvents(t, s.events, "call", 12)
	h := s.theHub()
	s.run0("mcp-serve", "stop")
	s.wantGone(h.keeper, h.owner)
	open()
	for _, id := range ids {
		slow.Expect(id)
		if n := answers(slow, id); n != 1 {
			t.Errorf("%d answers", n)
		}
	}
	s.want(slow, "hub_lost", "s__echo", "")
	if found := s.hubs(); len(found) > 0 {
		t.Errorf("hubs %v", found)
	}
	again := s.agent() // which is another matter
	s.call(again, "s__echo", "")
	slow.Hangup()
	s.stop(again)
}

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

// C30: a variable that the agent has is there, an empty one as well, with a hub as
// without.
func TestHubEmptyVariable(t *testing.T) {
	s := newShared(t, `asks [] env: {WHOSE: "${WHO}"}, agent_env: [WHO]`)
	for _, args := range [][]string{nil, {"--no-hub"}} {
		c := s.command("mcp-serve", args...)
		c.Env = append(slices.Clone(s.env), "WHO=")
		a := mcptest.Start(t, c)
		a.Initialize()
		has(t, fmt.Sprint(args), s.call(a, "asks__env", ""), `"WHOSE":""`)
		a.Close()
	}
	s.stop()
}
