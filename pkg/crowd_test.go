package pkg

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"postern/pkg/gateway"
	"postern/pkg/mcptest"
	"postern/pkg/wire"
)

// crowdCall is one call of one of many agents.
type crowdCall struct {
	agent     int
	id, said  string // raw id; what its progress and its answer say
	wait      bool   // it takes for ever, and is cancelled when its progress came
	cancelled bool
	answers   int
	steps     int
}

// TestCrowd: five sessions of one process make 200 calls at once to three
// servers, under the same ids and tokens, and cancel some. Every answer and all
// progress comes to its own caller, once, in order, nothing of a call after its
// answer, and no answer to a cancelled one; no call is sent twice (R4, R43, R45,
// MB-077, MB-089, MB-098).
func TestCrowd(t *testing.T) {
	const agents, each = 5, 40
	config := "version: 1\nservers:\n"
	for i := range 3 {
		config += fmt.Sprintf("  s%d: {command: $FAKE, args: [-events, $WORK/events], max_concurrency: 64, queue: 256}\n", i)
	}
	h := newHosted(t, config+everything, nil)
	var all []*mcptest.Agent
	for range agents {
		a := h.connect(gateway.Options{})
		a.Initialize()
		a.Ask("tools/list", "")
		all = append(all, a)
	}
	calls := crowdCalls(rand.New(rand.NewPCG(1, 2)), agents, each)
	for n := range each {
		for i, a := range all {
			c := calls[i*each+n]
			ms := 0
			if c.wait {
				ms = 600_000
			}
			a.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"s%d__progress","arguments":{"steps":5,"ms":%d,"text":"%s"},"_meta":{"progressToken":%s}}}`,
				c.id, (i+n)%3, ms, c.said, c.id))
		}
	}
	if !mcptest.Eventually(func() bool { return crowdOver(t, all, calls) }) {
		for _, c := range calls {
			if c.answers == 0 && !c.cancelled {
				t.Errorf("no answer to %s", c.said)
			}
		}
	}
	for i, a := range all {
		a.Ask("ping", "")
		crowdSession(t, a, calls[i*each:(i+1)*each])
	}
	sent := map[string]int{}
	for _, e := range mcptest.Events(t, h.path("events"), "call") {
		sent[e.Data]++
	}
	for call, n := range sent {
		if n != 1 {
			t.Errorf("%s was sent %d times", call, n)
		}
	}
}

// crowdCalls are the calls in the order of their agents; the ids are the same for
// all of them.
func crowdCalls(random *rand.Rand, agents, each int) (calls []*crowdCall) {
	for agent := range agents {
		for n := range each {
			id := fmt.Sprint(1000 + n)
			if n%2 == 1 {
				id = fmt.Sprintf(`"%d"`, 1000+n-1) // as a string, the number before
			}
			calls = append(calls, &crowdCall{agent: agent, id: id, said: fmt.Sprintf("%d-%d", agent, n), wait: random.IntN(4) == 0})
		}
	}
	return calls
}

// crowdOver cancels what is to be cancelled once its progress came, and says
// whether all others are answered.
func crowdOver(t *testing.T, all []*mcptest.Agent, calls []*crowdCall) bool {
	byID := map[string]*crowdCall{}
	for _, c := range calls {
		byID[fmt.Sprint(c.agent)+wire.IDKey([]byte(c.id))] = c
		c.answers = 0
	}
	for i, a := range all {
		for _, m := range a.Lines() {
			c := byID[fmt.Sprint(i)+wire.IDKey(m.IDBytes())]
			if at, ok := find(m.Raw, []string{"params", "progressToken"}); ok {
				c = byID[fmt.Sprint(i)+wire.IDKey(at.Of(m.Raw))]
			}
			switch {
			case c == nil:
			case m.Kind == wire.Response:
				c.answers++
			case c.wait && !c.cancelled:
				c.cancelled = true
				a.Cancel(c.id, "changed my mind")
			}
		}
	}
	for _, c := range calls {
		if c.answers == 0 && !c.cancelled {
			return false
		}
	}
	return true
}

// crowdSession looks at all that one session got, in order.
func crowdSession(t *testing.T, a *mcptest.Agent, calls []*crowdCall) {
	t.Helper()
	byID := map[string]*crowdCall{}
	for _, c := range calls {
		byID[wire.IDKey([]byte(c.id))] = c
		c.answers, c.steps = 0, 0
	}
	for _, m := range a.Lines() {
		key := wire.IDKey(m.IDBytes())
		at, progress := find(m.Raw, []string{"params", "progressToken"})
		if progress {
			key = wire.IDKey(at.Of(m.Raw))
		}
		c := byID[key]
		if c == nil {
			continue
		}
		if !strings.Contains(string(m.Raw), `"`+c.said+`"`) {
			t.Errorf("%s got %s", c.said, m.Raw)
		}
		if c.answers > 0 {
			t.Errorf("%s got more after its answer: %s", c.said, m.Raw)
		}
		if !progress {
			c.answers++
			continue
		}
		c.steps++
		if !strings.Contains(string(m.Raw), fmt.Sprintf(`"progress":%d,`, c.steps)) {
			t.Errorf("%s: not step %d: %s", c.said, c.steps, m.Raw)
		}
	}
	for _, c := range calls {
		want := 1
		if c.cancelled {
			want = 0
		}
		if c.answers != want || c.cancelled != c.wait || !c.wait && c.steps != 5 {
			t.Errorf("%s: %d answers, %d steps, cancelled %v", c.said, c.answers, c.steps, c.cancelled)
		}
	}
}

// TestUnshared: a server with shared: false is one process a session, in its
// agent's directory, and ends with the session; a shared one is one process for
// all (R20, R21, C32).
func TestUnshared(t *testing.T) {
	h := newHosted(t, "version: 1\nservers:\n  own: {command: $FAKE, shared: false, args: [-events, $WORK/own]}\n  all: {command: $FAKE, args: [-events, $WORK/all]}\n"+everything, nil)
	type place struct {
		a        *mcptest.Agent
		own, all string
	}
	var places []place
	for _, name := range []string{"one", "two"} {
		h.write(name+"/x", "")
		a := h.connect(gateway.Options{Dir: h.path(name)})
		a.Initialize()
		a.Ask("tools/list", "")
		env := a.Call("own__env", "")
		has(t, name, env, `"cwd":"`+h.path(name)+`"`)
		places = append(places, place{a, string(member(t, env, "structuredContent", "pid")), string(member(t, a.Call("all__env", ""), "structuredContent", "pid"))})
	}
	one, two := places[0], places[1]
	if one.own == two.own || one.all != two.all {
		t.Errorf("processes: %+v", places)
	}
	one.a.Hangup()
	mcptest.WaitEvents(t, h.path("own"), "clean", 1)
	for _, e := range mcptest.Events(t, h.path("own"), "clean") {
		if fmt.Sprint(e.PID) != one.own {
			t.Errorf("process %d ended, not %s", e.PID, one.own)
		}
	}
	if got := string(member(t, two.a.Call("own__env", ""), "structuredContent", "pid")); got != two.own {
		t.Errorf("the other session's server is another: %s, was %s", got, two.own)
	}
	if got := string(member(t, two.a.Call("all__env", ""), "structuredContent", "pid")); got != two.all {
		t.Errorf("the shared server is another: %s, was %s", got, two.all)
	}
}
