package pkg

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"postern/pkg/mcptest"
)

// Hubs, keepers, servers and bridges are killed and stopped at random while
// sessions work: each call has one answer, nothing is executed twice, every
// session that is not killed goes on, and nothing is left.
func TestHubChaos(t *testing.T) {
	for seed := range storm(2, 40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := newShared(t, "s [] max_concurrency: 64, queue: 200, restart_delay: 1ms, breaker: {failures: 1000}", "own [] shared: false, restart_delay: 1ms, breaker: {failures: 1000}")
			random := rand.New(rand.NewPCG(uint64(seed), 1))
			var agents []*mcptest.Agent
			for range 6 {
				agents = append(agents, s.agent())
			}
			victim := s.agent()
			var wg sync.WaitGroup
			for _, a := range agents {
				wg.Go(func() { s.endure(a, 60) }) // ends with its answers, each bounded
			}
			for i := range 6 {
				time.Sleep(time.Duration(random.IntN(60)) * time.Millisecond) // the subject: any moment
				s.disturb(random)
				if i == 4 {
					s.kill(victim.PID(), syscall.SIGKILL)
				}
			}
			wg.Wait()
			for _, a := range agents {
				s.call(a, "s__echo", "")
			}
			for _, path := range s.sockets() { // of a hub that was killed last
				if len(s.hubs()) == 0 {
					_ = os.Remove(path)
				}
			}
			s.stop(agents...)
		})
	}
}

// endure makes calls that may be lost.
func (s *shared) endure(a *mcptest.Agent, n int) {
	for i := range n {
		tool, more := "s__slow", `,"ms":5`
		if i%5 == 0 {
			tool, more = "own__echo", ""
		}
		id := s.ask(a, tool, more)
		switch w := word(a.Expect(id)); w {
		case "", "hub_lost", "outcome_unknown", "closed", "upstream_unavailable", "flapping", "aborted":
		default:
			s.t.Errorf("a call failed with %q", w)
		}
		if n := answers(a, id); n != 1 {
			s.t.Errorf("%d answers to one call", n)
		}
	}
}

// disturb does one bad thing to what runs.
func (s *shared) disturb(random *rand.Rand) {
	all := s.hubs()
	if len(all) == 0 {
		return
	}
	h := all[random.IntN(len(all))]
	signal := func(pid int, sig syscall.Signal) { _ = syscall.Kill(pid, sig) } // it may be gone
	switch random.IntN(6) {
	case 0:
		signal(h.owner, syscall.SIGKILL)
	case 1:
		signal(h.keeper, syscall.SIGKILL)
	case 2:
		signal(h.owner, syscall.SIGTERM)
	case 3:
		signal(h.owner, syscall.SIGSTOP)
		time.Sleep(20 * time.Millisecond)
		signal(h.owner, syscall.SIGCONT)
		signal(h.keeper, syscall.SIGCONT)
	default:
		for _, pid := range s.servers(h) {
			if random.IntN(2) == 0 {
				signal(pid, syscall.SIGKILL)
			}
		}
	}
}

// What an agent asks of a hub that dies before it has read it, its handshake
// included, the next hub answers; what that hub may have read is answered as
// lost, lists excepted, which are asked again (R74).
func TestHubLostUnread(t *testing.T) {
	s := newShared(t, "s")
	one := s.agent()
	s.call(one, "s__echo", "")
	h := s.theHub()
	s.fault.stop(h.owner)
	two := mcptest.Start(t, s.command("mcp-serve"))
	hello := two.BeginInitialize()
	list, call := one.Request("tools/list", ""), s.ask(one, "s__echo", "")
	s.kill(h.owner, syscall.SIGKILL)
	if m := two.Expect(hello); m.Error.Ok() {
		t.Errorf("%s", m.Raw)
	}
	two.Notify("notifications/initialized", "")
	s.call(two, "s__echo", "")
	has(t, "the list", one.Expect(list).ResultBytes(), `"s__echo"`)
	s.wantAnswer(one, "|hub_lost", call)
	s.call(one, "s__echo", "")
	s.stop(one, two)
}

// A hub follows its configuration: a server that did not change keeps its process
// for all sessions, one that did is replaced, and nothing is left of the old
// (MB-032). Whoever comes with other directories gets another hub (MB-063).
func TestHubConfiguration(t *testing.T) {
	s := newShared(t, "stays", "changes")
	one, two := s.agent(), s.agent()
	stays := s.server(one, "stays")
	for i := range storm(3, 20) {
		before := s.server(two, "changes")
		s.declare("stays", fmt.Sprintf("changes [] env: {N: n%d}", i), fmt.Sprintf("new%d", i))
		if !mcptest.Eventually(func() bool { return s.server(one, "changes") != before }) { // it is looked at once a second
			t.Fatal("not replaced")
		}
		has(t, "the new one", s.call(two, "changes__env", ""), fmt.Sprintf(`"N":"n%d"`, i))
		s.wantGone(before)
		s.call(one, fmt.Sprintf("new%d__echo", i), "")
	}
	if pid := s.server(two, "stays"); pid != stays {
		t.Errorf("what stays is process %d, not %d", pid, stays)
	}
	h := s.theHub()
	if !mcptest.Eventually(func() bool { return len(s.servers(h)) == 3 }) {
		t.Errorf("%d servers", len(s.servers(h)))
	}
	s.write("other/mcp.yaml", strings.ReplaceAll(readFile(s.path(".config/postern/mcp.yaml")), "stays:", "elsewhere:"))
	three := s.agent("--config-dir", s.path("other"))
	s.call(three, "elsewhere__echo", "")
	s.want(three, "unknown_tool", "stays__echo", "")
	s.call(one, "stays__echo", "")
	if found := s.hubs(); len(found) != 2 {
		t.Errorf("hubs %v", found)
	}
	three.Close()
	s.run0("mcp-serve", "--config-dir", s.path("other"), "stop")
	s.stop(one, two)
}
