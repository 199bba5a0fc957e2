package pkg

import (
	"syscall"
	"testing"
	"time"

	"postern/pkg/mcptest"
)

// A hub that is stopped and goes on has lost nothing: every call is answered once,
// and an agent that starts meanwhile is served.
func TestHubStopped(t *testing.T) {
	s := newShared(t, "s")
	one := s.agent()
	s.call(one, "s__echo", "")
	h := s.theHub()
	open := []string{s.ask(one, "s__slow", `,"ms":50`)}
	mcptest.WaitEvents(t, s.events, "call", 2)
	s.fault.stop(h.owner)
	for range 5 {
		open = append(open, s.ask(one, "s__echo", ""))
	}
	two := mcptest.Start(t, s.command("mcp-serve"))
	hello := two.BeginInitialize()
	time.Sleep(time.Second) // the subject: time passes that the hub does not see
	s.kill(h.owner, syscall.SIGCONT)
	s.kill(h.keeper, syscall.SIGCONT)
	for _, id := range open {
		s.wantAnswer(one, "", id)
	}
	if m := two.Expect(hello); m.Error.Ok() {
		t.Errorf("%s", m.Raw)
	}
	two.Notify("notifications/initialized", "")
	s.call(two, "s__echo", "")
	for _, id := range open {
		if n := answers(one, id); n != 1 {
			t.Errorf("%d answers", n)
		}
	}
	s.stop(one, two)
}

// An agent that reads nothing, and a bridge that is stopped, while results for
// them come: other sessions do not notice, the hub's memory is bounded, and in the
// end they get everything once (R6).
func TestHubFullPipes(t *testing.T) {
	for name, stopped := range map[string]bool{"an agent that does not read": false, "a bridge that is stopped": true} {
		t.Run(name, func(t *testing.T) {
			s := newShared(t, "s [] queue: 128", "other")
			slow, open, c := s.deaf()
			slow.BeginInitialize()
			slow.Notify("notifications/initialized", "")
			var ids []string
			for range 24 {
				ids = append(ids, s.ask(slow, "s__big", `,"bytes":1048576`))
			}
			mcptest.WaitEvents(t, s.events, "call", 24)
			if stopped {
				s.fault.stop(c.Process.Pid)
			}
			quick := s.agent()
			s.within(10*time.Second, "calls of another session", func() {
				for range 50 {
					s.call(quick, "other__echo", "")
				}
				s.call(quick, "s__echo", "")
			})
			if m := memory(s.theHub().owner); m > 400<<10 {
				t.Errorf("%d KiB", m)
			}
			if stopped {
				s.kill(c.Process.Pid, syscall.SIGCONT)
			}
			open()
			for _, id := range ids {
				if m := slow.Expect(id); word(m) != "" || len(m.Raw) < 1<<20 {
					t.Errorf("%.200s", m.Raw)
				}
				if n := answers(slow, id); n != 1 {
					t.Errorf("%d answers", n)
				}
			}
			slow.Hangup()
			s.stop(quick)
		})
	}
}

// A bridge whose agent never reads ends with its input all the same, and its
// session with it.
func TestHubAgentNeverReads(t *testing.T) {
	s := newShared(t, "own [] shared: false")
	a, _, c := s.deaf()
	a.BeginInitialize()
	a.Notify("notifications/initialized", "")
	for range 4 {
		s.ask(a, "own__big", `,"bytes":1048576`)
	}
	mcptest.WaitEvents(t, s.events, "call", 4)
	server := mcptest.Events(t, s.events, "start")[0].PID
	a.Hangup()
	s.within(10*time.Second, "the end", func() { s.wantGone(c.Process.Pid, server) })
	s.stop()
}
