package call

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"postern/pkg/catalog"
	"postern/pkg/config"
	"postern/pkg/mcptest"
)

// declared is a configuration with one fake server that has these fields more.
func declared(fields string) string {
	return strings.Replace(plain, "$WORK/events]", "$WORK/events], "+fields, 1)
}

// alive counts the servers that were started and have not ended by themselves
// or at the end of their stdin.
func (w *world) alive() int {
	return w.starts() - len(mcptest.Events(w.t, w.events, "clean"))
}

// edit replaces the configuration, and a second is over.
func (w *world) edit(s *Session, mcpYAML string) {
	w.t.Helper()
	w.write("config/mcp.yaml", mcpYAML)
	s.checked.Store(0)
}

// MB-032: a reload keeps the servers that did not change and replaces those
// that did; none is left over.
func TestMB032Reload(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plain, nil)
	s := w.session(false)
	w.answered(s, tool("fake__echo", "{}"))
	starts := 1
	for n := range 20 {
		fields := fmt.Sprintf("queue: %d", 10+n)
		if n%2 == 1 {
			fields = fmt.Sprintf("env: {ROUND: \"%d\"}", n)
		}
		w.edit(s, declared(fields))
		a, _ := w.answered(s, tool("fake__env", "{}"))
		if n%2 == 1 {
			starts++ // the value is another
			if !strings.Contains(string(a.Reply.Raw), fmt.Sprintf(`"ROUND":"%d"`, n)) {
				t.Errorf("round %d is served by an older process", n)
			}
		} else if n > 0 {
			starts++ // and is gone again
		}
		if got := w.starts(); got != starts {
			t.Fatalf("round %d: %d starts, want %d", n, got, starts)
		}
		until(t, "the old one is gone", func() bool { return w.alive() == 1 })
	}
}

// R25: a call under way finishes although its server is not declared any more;
// then the server ends. An idle session notices as well.
func TestRemovedServerFinishesItsCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plain, nil)
	s := w.session(false)
	w.answered(s, tool("fake__echo", "{}"))
	w.edit(s, declared("queue: 9"))
	w.host.look() // what runs is still known after an edit that leaves it running
	if p := s.View().Server("fake").Provenance; p != catalog.Live || w.starts() != 1 {
		t.Errorf("it is %s, after %d starts", p, w.starts())
	}
	w.calls++
	answer := make(chan Answer, 1)
	go s.Do(context.Background(), tool("fake__slow", `{"ms":700}`), func(a Answer) { answer <- a }) // ends with the call
	mcptest.WaitEvents(t, w.events, "call", 2)
	w.write("config/mcp.yaml", "version: 1"+allowAll)
	w.host.look()
	w.refused(s, tool("fake__echo", "{}"), UnknownTool)
	if w.alive() != 1 {
		t.Error("it was stopped with a call under way")
	}
	if a := <-answer; a.Refusal != nil {
		t.Errorf("the call came to %v", a.Refusal)
	}
	until(t, "it is stopped", func() bool { return w.alive() == 0 })
}

// MB-166: a server that died and is to be restarted stays down when it was
// removed, disabled or lost its approval meanwhile, and its tools are gone.
func TestMB166NotRevived(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *world){
		"removed":  func(w *world) { w.write("config/mcp.yaml", "version: 1"+allowAll) },
		"disabled": func(w *world) { w.write("config/mcp.yaml", declared("restart_delay: 1s, enabled: false")) },
		"another":  func(w *world) { w.write("config/mcp.yaml", declared("restart_delay: 1s, cwd: /")) },
		"revoked":  func(w *world) { w.revoke("docs") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, declared("restart_delay: 1s"), map[string]string{"project/.mcp.json": repository})
			w.allow("docs", config.ClassExecute)
			s, id := w.session(true), "fake"
			if name == "revoked" {
				id = "docs"
			}
			w.refused(s, tool(id+"__exit", "{}"), OutcomeUnknown)
			end(w)
			time.Sleep(2 * time.Second) // the subject: nothing happens when the delay is over
			if n := w.starts(); n != 1 {
				t.Errorf("%d starts", n)
			}
			for _, tool := range s.View().VisibleTools() {
				if tool.Server.Declared.ID == id && name != "another" {
					t.Fatalf("%s is listed", tool.Exposed)
				}
			}
		})
	}
}

// The same with nothing in its way: it comes back without being called.
func TestRestartWithoutACall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, declared("restart_delay: 1s"), nil)
	s := w.session(false)
	w.refused(s, tool("fake__exit", "{}"), OutcomeUnknown)
	mcptest.WaitEvents(t, w.events, "start", 2)
	w.refused(s, tool("fake__exit", "{}"), OutcomeUnknown)
	s.Close()
	time.Sleep(3 * time.Second) // the subject: nobody wants it any more
	if n := w.starts(); n != 2 {
		t.Errorf("%d starts", n)
	}
}

// R20: what lies outside the key holds at once for the process that runs.
func TestSettingsOfARunningServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, declared("max_concurrency: 1, queue: 0"), nil)
	s := w.session(false)
	w.answered(s, tool("fake__echo", "{}"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.calls++
	ended := make(chan struct{})
	go func() { // ends with cancel
		defer close(ended)
		s.Do(ctx, tool("fake__never", "{}"), func(Answer) {})
	}()
	mcptest.WaitEvents(t, w.events, "call", 2)
	w.refused(s, tool("fake__echo", "{}"), Overload)
	w.edit(s, declared("max_concurrency: 2, queue: 0"))
	w.answered(s, tool("fake__echo", "{}"))
	w.edit(s, declared("max_concurrency: 1, queue: 0"))
	w.refused(s, tool("fake__echo", "{}"), Overload)
	if n := w.starts(); n != 1 {
		t.Errorf("%d starts", n)
	}
	cancel()
	<-ended
	w.edit(s, declared("idle_stop: 1s"))
	w.host.look() // nobody calls
	until(t, "it is stopped, for nobody calls it", func() bool { return w.alive() == 0 })
}

// R21: eager servers of those policies that serve them come up when an agent's
// session opens, after a reload too, and for no other kind of session.
func TestEagerServers(t *testing.T) {
	t.Parallel()
	yaml := declared("start: eager") + "" // one that is served
	yaml = strings.Replace(yaml, "policies:\n", `policies:
  nothing: {servers: [other], allow: [read]}
`, 1)
	w := newWorld(t, yaml, nil)
	open := func(o SessionOptions) *Session {
		s, err := w.host.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return s
	}
	open(SessionOptions{})
	open(SessionOptions{Eager: true, Policy: "nothing"})
	w.host.look()
	time.Sleep(200 * time.Millisecond) // the subject: nothing happens
	if n := w.starts(); n != 0 {
		t.Fatalf("%d starts", n)
	}
	s := open(SessionOptions{Eager: true})
	mcptest.WaitEvents(t, w.events, "start", 1)
	w.answered(s, tool("fake__echo", "{}"))
	w.edit(s, strings.Replace(yaml, "start: eager", `start: eager, env: {A: "1"}`, 1))
	w.host.look() // nobody calls
	mcptest.WaitEvents(t, w.events, "start", 2)
	until(t, "the old one is gone", func() bool { return w.alive() == 1 })
}

// R24: the breaker's word, when to try again, and the outcome in the row; what
// is refused does not reach the server.
func TestCircuitOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, declared("timeout: 1s, breaker: {failures: 2, cooldown: 1h}"), nil)
	s := w.session(false)
	w.answered(s, tool("fake__fail", "{}"))
	w.refused(s, tool("fake__never", "{}"), Timeout)
	w.refused(s, tool("fake__never", "{}"), Timeout)
	r, row := w.refused(s, tool("fake__echo", "{}"), CircuitOpen)
	if r.Server != "fake" || !strings.HasPrefix(r.Remedy, "try again in ") || !strings.Contains(r.Message, "fake") || !r.AsResult() {
		t.Errorf("got %+v", r)
	}
	if row.Outcome != "circuit_open" {
		t.Errorf("the row says %s", row.Outcome)
	}
	if n := len(w.sent()); n != 3 {
		t.Errorf("%d calls reached the server", n)
	}
}

// R21, MB-057: a flapping server is unavailable, and it is said why and until
// when.
func TestFlappingServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, declared("restart_delay: 1m, breaker: {failures: 100, cooldown: 1s}"), nil)
	s := w.session(false)
	for range config.FlapDeaths {
		w.refused(s, tool("fake__exit", `{"status":5}`), OutcomeUnknown)
	}
	r, row := w.refused(s, tool("fake__echo", "{}"), Unavailable)
	if r.Reason != "flapping" || !strings.Contains(r.Message, "exit status 5") || !strings.Contains(r.Remedy, "try again in 5m0s") && !strings.Contains(r.Remedy, "try again in 4m") {
		t.Errorf("got %+v", r)
	}
	if row.LatencyMS > 1000 {
		t.Errorf("it took %v ms", row.LatencyMS)
	}
	if n := w.starts(); n != config.FlapDeaths {
		t.Errorf("%d starts", n)
	}
}

// MB-162: servers that fail in all ways cost the others nothing: they are asked
// at the same time, and the session has the tools of the one that works.
func TestMB162PartialFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `version: 1
servers:
  ok: {command: $FAKE, args: [-events, $WORK/events]}
  missing: {command: $WORK/no-such-file}
  hangs: {command: $FAKE, args: [-fault, no-initialize], start_timeout: 1s}
  mute: {command: $FAKE, args: [-fault, start-delay=1m], start_timeout: 1s}
  crashes: {command: $FAKE, args: [-fault, exit-at-start=3]}
  html: {command: $FAKE, args: [-fault, "initialize=\"<html>\""]}
`+allowAll, nil)
	s := w.session(false)
	begin := time.Now()
	<-s.Discover(t.Context())
	if took := time.Since(begin); took > 8*time.Second { // with teardown, on a busy machine
		t.Errorf("it took %v", took)
	}
	v := s.View()
	if v.Server("ok").byName("echo") == nil {
		t.Error("the tools of the good one are not there")
	}
	w.answered(s, tool("ok__echo", "{}"))
	told := strings.Join(w.warnings(), "\n")
	for _, id := range []string{"missing", "hangs", "mute", "crashes", "html"} {
		if !strings.Contains(told, "server "+id) && !strings.Contains(told, id) {
			t.Errorf("nobody was told about %s:\n%s", id, told)
		}
	}
	if again := v.missing(w.host.catalogs); len(again) > 1 { // a file that is not there was never started
		t.Errorf("%d would be tried again at once", len(again))
	}
}

// The second session does not wait again for a server that the first found too
// slow, and gets its tools when they are there.
func TestSlowServerIsWaitedForOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.Replace(plain, "$WORK/events]", "$WORK/events, -fault, start-delay=1s]", 1), nil)
	first := w.session(false)
	done := first.Discover(t.Context())
	mcptest.WaitEvents(t, w.events, "start", 1)
	first.Overdue()
	second := w.session(false)
	begin := time.Now()
	<-second.Discover(t.Context())
	if took := time.Since(begin); took > 900*time.Millisecond {
		t.Errorf("the second waited for %v", took)
	}
	<-done
	if n := len(second.View().VisibleTools()); n == 0 {
		t.Error("the second never saw the tools")
	}
	if n := w.starts(); n != 1 {
		t.Errorf("%d starts", n)
	}
	first.Overdue() // of nothing
}

// R26: a panic stands in state/hub.log with its stack, and the operator is told
// where, and how many there were.
func TestPanicked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plain, nil)
	w.host.Panicked("session x", errors.New("boom"), []byte("stack"))
	w.host.Panicked("server fake", strings.Repeat("long", 1<<20), make([]byte, 1<<20))
	text, err := os.ReadFile(w.path("state/hub.log"))
	if err != nil || len(text) > 64<<10 {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	for _, part := range []string{" panic 1 in session x: boom\nstack\n", " panic 2 in server fake: longlong"} {
		if !strings.Contains(string(text), part) {
			t.Errorf("%q is not in it", part)
		}
	}
	w.host.contain("server fake", func() { panic("contained") })
	if text, _ := os.ReadFile(w.path("state/hub.log")); !strings.Contains(string(text), "panic 3 in server fake: contained\ngoroutine ") {
		t.Errorf("hub.log ends with %q", text[max(0, len(text)-200):])
	}
	told := strings.Join(w.warnings(), "\n")
	if !strings.Contains(told, "session x (1 so far)") || !strings.Contains(told, "hub.log") || strings.Contains(told, "boom") {
		t.Errorf("told %q", told)
	}
}
