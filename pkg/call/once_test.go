package call

import (
	"context"
	"strings"
	"testing"

	"postern/pkg/mcptest"
)

// MB-057, MB-110: that a server does not start with one agent's value says nothing
// about another's: it is looked at for that one.
func TestFailureWithTheValueOfOneAgent(t *testing.T) {
	t.Parallel()
	w := newHub(t, strings.Replace(declared("agent_env: [FAULT]"), "args: [", "args: [-fault, \"${FAULT}\", ", 1), nil)
	for _, c := range []struct {
		fault string
		tools bool
	}{{"exit-at-start=3", false}, {"start-delay=1ms", true}, {"exit-at-start=4", true}} {
		s := w.agent(&person{}, SessionOptions{Environ: []string{"FAULT=" + c.fault}})
		if <-s.Discover(t.Context()); len(s.View().VisibleTools()) > 0 != c.tools {
			t.Errorf("with %s there are tools: %v", c.fault, !c.tools)
		}
	}
}

// R66: many agents that come at once have a server that was never listed looked at
// once, also where each would have a process of its own, for its session or its
// values; where the first agent has gone before the end, another one goes on.
func TestLookedAtOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, fields string
		leaves       bool
		starts       int
	}{
		{"alone", "shared: false", false, 1}, {"leaves", "shared: false", true, 2},
		{"keyed", "env: {K: \"${KEY}\"}, agent_env: [KEY]", false, 1}, {"shared", "shared: true", false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newHub(t, strings.Replace(declared(c.fields), "args: [", "args: [-fault, start-delay=500ms, ", 1), nil)
			ctx, leave := context.WithCancel(t.Context())
			var all []*Session
			var done []<-chan struct{}
			for _, key := range []string{"one", "two", "three"} {
				s := w.agent(&person{}, SessionOptions{Environ: []string{"KEY=" + key}, Dir: w.dir})
				all, done = append(all, s), append(done, s.Discover(ctx))
				if len(all) == 1 {
					mcptest.WaitEvents(t, w.events, "start", 1)
					ctx = t.Context()
				}
			}
			if c.leaves {
				leave()
				all[0].Close()
				all, done = all[1:], done[1:]
			}
			for n, s := range all {
				if <-done[n]; len(s.View().VisibleTools()) == 0 {
					t.Errorf("agent %d sees no tools", n)
				}
			}
			if n := w.starts(); n != c.starts {
				t.Errorf("%d starts", n)
			}
			leave()
			w.answered(all[1], tool("fake__echo", "{}"))
		})
	}
}
