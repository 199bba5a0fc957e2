package gateway

import (
	"bytes"
	"strings"
	"testing"

	"postern/pkg/mcptest"
)

// MB-049: what one agent does to a shared server's state, the next one finds; with
// shared: false each has a process and a state of its own, which ends with it.
func TestMB049State(t *testing.T) {
	const change = `{"tools":[{"name":"loggedin","inputSchema":{"type":"object"}},{"name":"env","inputSchema":{"type":"object"}}]}`
	for _, shared := range []bool{true, false} {
		yaml := plainConfig
		if !shared {
			yaml = declaring("shared: false")
		}
		w := newWorld(t, yaml, nil)
		a, b := w.connect(Options{Dir: w.dir}), w.connect(Options{Dir: w.dir})
		for _, agent := range []*mcptest.Agent{a, b} {
			agent.Initialize()
			agent.Ask("tools/list", "")
			agent.Call("fake__env", "")
		}
		a.Call("fake__change", change)
		sees := func(agent *mcptest.Agent) bool {
			m := agent.Expect(agent.Request("tools/call", mcptest.CallParams("fake__loggedin", `{"n":1}`)))
			return bytes.Contains(m.ResultBytes(), []byte(`{"n":1}`))
		}
		if !mcptest.Eventually(func() bool { return sees(a) }) {
			t.Fatal("who changed it does not see it")
		}
		if got := sees(b); got != shared {
			t.Errorf("shared %v: the other agent sees it: %v", shared, got)
		}
		pids := map[string]bool{}
		for _, agent := range []*mcptest.Agent{a, b} {
			_, rest, _ := strings.Cut(string(agent.Call("fake__env", "")), `"pid":`)
			pid, _, _ := strings.Cut(rest, ",")
			pids[pid] = true
		}
		if want := map[bool]int{true: 1, false: 2}[shared]; len(pids) != want {
			t.Errorf("shared %v: processes %v", shared, pids)
		}
		a.Hangup()
		if !mcptest.Eventually(func() bool { return len(mcptest.Events(t, w.path("events"), "clean")) == len(pids)-1 }) {
			t.Errorf("shared %v: %d ended with their agent", shared, len(mcptest.Events(t, w.path("events"), "clean")))
		}
		b.Call("fake__env", "")
	}
}
