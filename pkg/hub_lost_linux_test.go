package pkg

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"postern/pkg/mcptest"
)

// load is a session that makes calls one after the other.
type load struct {
	a        *mcptest.Agent
	never    string // a call that is open when the hub is lost
	ids      []string
	ok, lost int
}

// work makes n calls, of which some may be lost with their hub.
func (s *shared) work(l *load, n int) {
	for range n {
		id := s.ask(l.a, "s__slow", `,"ms":5`)
		l.ids = append(l.ids, id)
		switch w := word(l.a.Expect(id)); w {
		case "":
			l.ok++
		case "hub_lost":
			l.lost++
		default:
			s.t.Errorf("a call failed with %q", w)
		}
	}
}

// kill -9 of the hub, or of hub and keeper, under load: every session goes on,
// each call that was lost is answered once and has its row, no server survives,
// and nothing is executed twice (R74, C81, MB-028, MB-063).
func TestHubKilledUnderLoad(t *testing.T) {
	for name, victims := range map[string]func(h theHub) []int{
		"hub":  func(h theHub) []int { return []int{h.owner} },
		"both": func(h theHub) []int { return []int{h.keeper, h.owner} },
	} {
		t.Run(name, func(t *testing.T) {
			s := newShared(t, "s [] max_concurrency: 64, queue: 200", "t [] max_concurrency: 64")
			loads := make([]*load, 20)
			for i := range loads {
				a := s.agent()
				loads[i] = &load{a: a, never: s.ask(a, "t__never", "")}
			}
			mcptest.WaitEvents(t, s.events, "call", len(loads))
			first := s.theHub()
			old := s.servers(first)
			var wg sync.WaitGroup
			for _, l := range loads {
				wg.Go(func() { s.work(l, 60) }) // ends with its answers, each bounded
			}
			mcptest.WaitEvents(t, s.events, "call", len(loads)*12)
			for _, pid := range victims(first) {
				s.kill(pid, syscall.SIGKILL)
			}
			wg.Wait()
			s.wantGone(append(old, first.owner, first.keeper)...)
			second := s.theHub()
			lost, agents := 0, []*mcptest.Agent{}
			for _, l := range loads {
				s.wantAnswer(l.a, "hub_lost", l.never)
				s.call(l.a, "s__echo", "")
				for _, id := range append(l.ids, l.never) {
					if n := answers(l.a, id); n != 1 {
						t.Errorf("%d answers to one call", n)
					}
				}
				if l.lost > 1 {
					t.Errorf("a session lost %d of its calls, one at a time", l.lost)
				}
				lost += l.lost + 1
				agents = append(agents, l.a)
			}
			if n := len(s.servers(second)); n != 1 {
				t.Errorf("%d servers of the second hub", n)
			}
			rows := s.stop(agents...)
			if n := s.lostRows(); n != lost {
				t.Errorf("%d rows of lost calls, %d calls were lost", n, lost)
			}
			t.Logf("%d of %d calls were lost, %d rows are shown", lost, len(loads)*62, len(rows))
		})
	}
}

// lostRows counts the rows that bridges wrote.
func (s *shared) lostRows() (n int) {
	files, _ := filepath.Glob(s.path(".local/state/postern/calls/*.jsonl"))
	for _, name := range files {
		n += strings.Count(readFile(name), `"word":"hub_lost"`)
	}
	return n
}

// After a third hub is lost within a minute the session is served by its own
// process, with what it had, and starts no other (R74).
func TestHubLostThrice(t *testing.T) {
	s := newShared(t, "s")
	a := s.agent()
	for range 3 {
		s.call(a, "s__echo", "")
		h := s.theHub()
		open := s.ask(a, "s__never", "")
		if !mcptest.Eventually(func() bool {
			return strings.Contains(readFile(s.events), fmt.Sprintf(`call %d never`, s.servers(h)[0]))
		}) {
			t.Fatal("not called")
		}
		s.kill(h.owner, syscall.SIGKILL)
		s.wantAnswer(a, "hub_lost", open)
	}
	s.call(a, "s__echo", "")
	if found := s.hubs(); len(found) > 0 {
		t.Errorf("a hub: %v", found)
	}
	if n := s.begun(); n != 4 {
		t.Errorf("%d starts", n)
	}
	if n := strings.Count(a.Stderr(), "\n"); n == 0 || n > 6 {
		t.Errorf("said: %s", a.Stderr())
	}
	for _, path := range s.sockets() { // the last hub was killed, and nobody came after it
		_ = os.Remove(path)
	}
	s.stop(a)
}

// What a session had set up is there with the next hub, and what it asked for
// comes: the level of its log, subscriptions, an open list, and nobody sees a
// second answer to initialize (R74).
func TestHubLostLegacy(t *testing.T) {
	s := newShared(t, "fake [-more]")
	a := s.agent()
	a.Ask("tools/list", "")
	a.Ask("resources/subscribe", `{"uri":"fake://text"}`)
	a.Ask("logging/setLevel", `{"level":"warning"}`)
	s.call(a, "fake__echo", "")
	question := s.ask(a, "fake__ask", `,"method":"elicitation/create","params":{"message":"Well?","requestedSchema":{"type":"object"}}`)
	asked := a.ExpectRequest("elicitation/create")
	s.kill(s.theHub().owner, syscall.SIGKILL)
	s.wantAnswer(a, "hub_lost", question)
	has(t, "the open question", a.ExpectNotification("notifications/cancelled").ParamsBytes(), `"requestId":`+string(asked.IDBytes()))
	list := a.Request("tools/list", "")
	has(t, "the list", a.Expect(list).ResultBytes(), `"fake__echo"`)
	s.call(a, "fake__update", `,"uri":"fake://text"`)
	has(t, "updated", a.ExpectNotification("notifications/resources/updated").ParamsBytes(), `"uri":"fake://text"`)
	s.call(a, "fake__log", `,"level":"info","data":"unseen"`)
	s.call(a, "fake__log", `,"level":"error","data":"seen"`)
	has(t, "a message", a.ExpectNotification("notifications/message").ParamsBytes(), `"data":"seen"`)
	for _, m := range a.Lines() {
		hasNot(t, "a line", m.Raw, `"unseen"`)
	}
	if n := answers(a, "1"); n != 1 {
		t.Errorf("%d answers to initialize", n)
	}
	s.stop(a)
}

// The same for an agent of the newest revision: its open listen goes on, and is
// acknowledged once.
func TestHubLostModern(t *testing.T) {
	s := newShared(t, "fake [-more]")
	a := mcptest.Start(t, s.command("mcp-serve"))
	a.Modern(`{"elicitation":{"form":{}}}`)
	a.Ask("tools/list", "")
	listen := a.Request("subscriptions/listen", `{"notifications":{"promptsListChanged":true,"resourceSubscriptions":["fake://text"]}}`)
	a.ExpectNotification("notifications/subscriptions/acknowledged")
	s.call(a, "fake__echo", "")
	open := s.ask(a, "fake__never", "")
	mcptest.WaitEvents(t, s.events, "call", 2)
	s.kill(s.theHub().owner, syscall.SIGKILL)
	s.wantAnswer(a, "hub_lost", open)
	s.call(a, "fake__update", `,"uri":"fake://text"`)
	has(t, "updated", a.ExpectNotification("notifications/resources/updated").ParamsBytes(), subscription+listen, `"uri":"fake://text"`)
	s.call(a, "fake__change", `,"prompts":[{"name":"other"}]`)
	has(t, "changed", a.ExpectNotification("notifications/prompts/list_changed").ParamsBytes(), subscription+listen)
	acknowledged := 0
	for _, m := range a.Lines() {
		if m.Method == "notifications/subscriptions/acknowledged" {
			acknowledged++
		}
	}
	if acknowledged != 1 || answers(a, listen) != 0 {
		t.Errorf("acknowledged %d times, %d answers", acknowledged, answers(a, listen))
	}
	s.stop(a)
}

// The bridge of a session is killed: the session ends with it, its calls are
// cancelled, and the others go on (MB-051).
func TestHubBridgeLost(t *testing.T) {
	s := newShared(t, "s", "own [] shared: false")
	one := s.agent()
	own := s.server(one, "own") // listed, so that the second session has no need to start one
	two := s.agent()
	s.ask(one, "s__never", "")
	slow := s.ask(two, "s__slow", `,"ms":300`)
	mcptest.WaitEvents(t, s.events, "call", 3)
	s.kill(one.PID(), syscall.SIGKILL)
	mcptest.WaitEvents(t, s.events, "cancelled", 1)
	s.wantGone(own)
	s.wantAnswer(two, "", slow)
	s.call(two, "s__echo", "")
	if n := s.begun(); n != 2 {
		t.Errorf("%d starts: %v", n, mcptest.Events(t, s.events, ""))
	}
	s.stop(two)
}

// newBinary replaces the mcp-serve of this home by another build.
func (s *shared) newBinary() {
	s.t.Helper()
	path := filepath.Join(s.bin, "mcp-serve")
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path+".new", append(data, 'x'), 0o700)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// ownBinaries gives this home copies of the commands.
func (s *shared) ownBinaries() {
	s.t.Helper()
	names, _ := filepath.Glob(filepath.Join(s.bin, "mcp-*"))
	for _, from := range names {
		to := "bin/" + filepath.Base(from)
		s.write(to, "")
		s.copy(from, to)
		if err := os.Chmod(s.path(to), 0o700); err != nil {
			s.t.Fatal(err)
		}
	}
	s.bin = s.path("bin")
	s.env = append(s.env, "PATH="+s.bin+":"+os.Getenv("PATH"))
}

// A new build is installed under load: no call fails, agents that start then have
// the new hub, and the old one ends with its last session (MB-060).
func TestHubUpgrade(t *testing.T) {
	for name, builds := range map[string][2]func(*shared){
		"another file":       {func(*shared) {}, (*shared).newBinary},
		"another version":    {func(s *shared) { s.linked("1.2.3") }, func(s *shared) { s.linked("1.2.4") }},
		"the same once more": {func(s *shared) { s.linked("1.2.3") }, (*shared).newBinary},
	} {
		t.Run(name, func(t *testing.T) { upgrade(t, builds[0], builds[1]) })
	}
}

func upgrade(t *testing.T, before, after func(*shared)) {
	s := newShared(t, "s [] max_concurrency: 64, queue: 200")
	s.ownBinaries()
	before(s)
	var loads []*load
	var wg sync.WaitGroup
	begin := func(n int) {
		for range n {
			l := &load{a: s.agent()}
			loads = append(loads, l)
			wg.Go(func() { s.work(l, 100) }) // ends with its answers, each bounded
		}
	}
	begin(6)
	first := s.theHub()
	mcptest.WaitEvents(t, s.events, "call", 60)
	after(s)
	begin(6)
	wg.Wait()
	for i, l := range loads {
		if l.lost > 0 || l.ok != 100 {
			t.Errorf("session %d: %d calls of 100 went well, %d were lost", i, l.ok, l.lost)
		}
	}
	all := s.hubs()
	if len(all) != 2 || s.begun() != 2 {
		t.Errorf("hubs %v, %d starts", all, s.begun())
	}
	for _, l := range loads[:6] {
		l.a.Close()
	}
	s.wantGone(first.owner, first.keeper)
	if second := s.theHub(); second == first {
		t.Error("the wrong one is left")
	}
	var rest []*mcptest.Agent
	for _, l := range loads[6:] {
		s.call(l.a, "s__echo", "")
		rest = append(rest, l.a)
	}
	s.stop(rest...)
}

// A session of the old build whose hub is lost after the upgrade goes on: it has
// no executable of its own any more.
func TestHubLostAfterUpgrade(t *testing.T) {
	s := newShared(t, "s")
	s.ownBinaries()
	a := s.agent()
	open := s.ask(a, "s__never", "")
	mcptest.WaitEvents(t, s.events, "call", 1)
	h := s.theHub()
	s.newBinary()
	s.kill(h.owner, syscall.SIGKILL)
	s.wantAnswer(a, "hub_lost", open)
	s.call(a, "s__echo", "")
	s.stop(a)
}
