package call

import (
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"postern/pkg/config"
	"postern/pkg/mcptest"
	"postern/pkg/trust"
)

// R90: trust.json counts from the next call on, also while the server runs; a
// server that lost its approval is stopped.
func TestTrustTakesEffectOnTheNextCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "version: 1"+allowAll, map[string]string{"project/.mcp.json": repository})
	s := w.session(true)
	for round := range 3 {
		w.refused(s, tool("docs__echo", "{}"), Untrusted)
		w.allow("docs", config.ClassExecute)
		w.answered(s, tool("docs__echo", "{}"))
		w.answered(s, tool("docs__echo", "{}"))
		w.revoke("docs")
		w.refused(s, tool("docs__echo", "{}"), Untrusted)
		mcptest.WaitEvents(t, w.events, "clean", round+1)
	}
	if n := w.starts(); n != 3 {
		t.Errorf("%d processes", n)
	}
	if got := len(s.View().VisibleTools()); got != 0 {
		t.Errorf("%d tools of a server that is not trusted are listed", got)
	}
}

// The class of a project's server is the record's word: what may be called
// follows from it (R51).
func TestClassOfTheRecord(t *testing.T) {
	t.Parallel()
	yaml := "version: 1" + strings.Replace(allowAll, "allow: [read, write, execute]", "allow: [read]", 1)
	w := newWorld(t, yaml, map[string]string{"project/.mcp.json": repository})
	s := w.session(true)
	w.allow("docs", config.ClassRead) // its author vouches for all of it
	w.answered(s, tool("docs__slow", `{"ms":1}`))
	w.allow("docs", config.ClassExecute) // its hints are believed
	w.refused(s, tool("docs__slow", `{"ms":1}`), PolicyDenied)
	w.answered(s, tool("docs__echo", "{}"))
	w.allow("docs", config.ClassUnknown) // nothing is
	w.refused(s, tool("docs__echo", "{}"), PolicyDenied)
}

// C50: with a trust.json that cannot be believed nothing of a project is
// trusted, the user's own servers work, and one that can takes effect again.
func TestBrokenTrustFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plain, map[string]string{"project/.mcp.json": repository})
	w.allow("docs", config.ClassExecute)
	good, err := os.ReadFile(w.path("config/trust.json"))
	if err != nil {
		t.Fatal(err)
	}
	s := w.session(true)
	w.answered(s, tool("docs__echo", "{}"))
	for _, bad := range []string{`{"v":1,"records":[`, `{"v":9,"records":[]}`, "\x00"} {
		w.write("config/trust.json", bad)
		w.refused(s, tool("docs__echo", "{}"), Untrusted)
		w.answered(s, tool("fake__echo", "{}"))
		if before := s.View(); s.View() != before {
			t.Error("each look makes another view")
		}
		w.refused(w.session(true), tool("docs__echo", "{}"), Untrusted)
		// R90: whoever looks at the process is told, too.
		if all := w.host.Status().Problems; len(all) != 1 || !strings.Contains(all[0], "trust.json") {
			t.Errorf("status: %q", all)
		}
		w.write("config/trust.json", string(good))
		w.answered(s, tool("docs__echo", "{}"))
		if all := w.host.Status().Problems; len(all) > 0 {
			t.Errorf("status: %q", all)
		}
	}
	if err := os.Chmod(w.path("config/trust.json"), 0o666); err != nil {
		t.Fatal(err)
	}
	w.refused(s, tool("docs__echo", "{}"), Untrusted)
	if !strings.Contains(strings.Join(w.warnings(), "\n"), "chmod") {
		t.Errorf("nobody was told what to do: %q", w.warnings())
	}
}

// R90: an edit of the configuration counts within a second; before a start it
// counts at once.
func TestConfigTakesEffect(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plain, nil)
	told := make(chan struct{}, 1000)
	s, err := w.host.Open(SessionOptions{Changed: func() { told <- struct{}{} }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()

	// Nothing runs: the edit is seen by the very next call.
	w.write("config/mcp.yaml", strings.Replace(plain, "allow: [read, write, execute]", "deny: [fake/echo], allow: [read]", 1))
	w.refused(s, tool("fake__echo", "{}"), PolicyDenied)
	if n := w.starts(); n != 0 {
		t.Error("it was started all the same")
	}
	w.write("config/mcp.yaml", plain)
	w.answered(s, tool("fake__echo", "{}"))
	<-told

	// It runs: the edit is seen when a second is over at the latest.
	w.write("config/mcp.yaml", strings.Replace(plain, "allow: [read, write, execute]", "deny: [fake/echo], allow: [read]", 1))
	begin := time.Now()
	for {
		a, _ := w.do(t.Context(), s, tool("fake__echo", "{}"))
		if a.Refusal != nil {
			if a.Refusal.Word != PolicyDenied {
				t.Errorf("got %+v", a.Refusal)
			}
			break
		}
		if time.Since(begin) > config.ConfigCheckEvery+5*time.Second {
			t.Fatal("the edit was never seen")
		}
	}
	if n := w.starts(); n != 1 {
		t.Errorf("%d processes: the same declaration is the same process", n)
	}
}

// C11, R90: a configuration that refuses itself leaves the one before in force,
// and the operator is told; a session that begins with it sees nothing.
func TestBrokenConfigLeavesTheOldOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plain, nil)
	s := w.session(false)
	w.answered(s, tool("fake__echo", "{}"))
	for _, bad := range []string{
		"version: 1\nservers: {", // does not parse
		strings.Replace(plain, "policy: everything,", "policy: nothing,", 1),              // an unknown policy
		strings.Replace(plain, "allow: [read", "deny: [\"\"], allow: [read", 1),           // a bad pattern
		strings.Replace(plain, "trust_level: 2", "trust_level: many", 1),                  // a bad default
		strings.Replace(plain, "allow: [read, write, execute]", "allow: [everything]", 1), // an unknown tier
	} {
		w.write("config/mcp.yaml", bad)
		s.checked.Store(0) // as if a second were over
		w.answered(s, tool("fake__echo", "{}"))
		if got := s.View(); got != s.renew() {
			t.Errorf("each look makes another view, with\n%s", bad)
		}
		if a, _ := w.do(t.Context(), w.session(false), tool("fake__echo", "{}")); a.Refusal == nil || a.Refusal.AsResult() {
			t.Errorf("a session that began with it called a tool, with\n%s", bad)
		}
	}
	if !strings.Contains(strings.Join(w.warnings(), "\n"), "stays in force") {
		t.Errorf("nobody was told: %q", w.warnings())
	}
	w.write("config/mcp.yaml", strings.Replace(plain, "allow: [read, write, execute]", "allow: [write]", 1))
	s.checked.Store(0)
	w.refused(s, tool("fake__echo", "{}"), PolicyDenied) // a good one again
	if err := os.Remove(w.path("config/mcp.yaml")); err != nil {
		t.Fatal(err)
	}
	s.checked.Store(0)
	w.refused(s, tool("fake__echo", "{}"), UnknownTool)
}

// R52: a policy named for the session narrows it; one that is not declared is
// an error, and taking it out of the file does not widen the session.
func TestNarrowingPolicy(t *testing.T) {
	t.Parallel()
	yaml := strings.Replace(plain, "policies:\n", "policies:\n  readers: {servers: [fake], allow: [read]}\n", 1)
	w := newWorld(t, yaml, nil)
	_, err := w.host.Open(SessionOptions{Policy: "nobody"})
	var unknown *UnknownPolicyError
	if !errors.As(err, &unknown) || unknown.Name != "nobody" {
		t.Errorf("got %v", err)
	}
	s, err := w.host.Open(SessionOptions{Policy: "readers"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 2 {
		w.refused(s, tool("fake__slow", `{"ms":1}`), PolicyDenied)
		w.answered(s, tool("fake__echo", "{}"))
		w.answered(w.session(false), tool("fake__slow", `{"ms":1}`))
		w.write("config/mcp.yaml", plain)
		s.checked.Store(0)
	}
}

// R54: a session is told when what it sees may differ, and not before.
func TestSessionsAreTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plain, map[string]string{"project/.mcp.json": repository})
	w.list(false, "fake")
	var told atomic.Int64
	s, err := w.host.Open(SessionOptions{Project: w.project, Changed: func() { told.Add(1) }})
	if err != nil {
		t.Fatal(err)
	}
	before := s.View()
	if s.renew() != before || told.Load() != 0 {
		t.Error("told without a reason")
	}
	w.allow("docs", config.ClassExecute)
	if s.View() == before || told.Load() == 0 {
		t.Error("not told of an approval")
	}
	s.Close()
	n := told.Load()
	w.answered(w.session(false), tool("fake__echo", "{}"))
	until(t, "the start is announced", func() bool { return w.host.generation.Load() > 0 })
	if told.Load() != n {
		t.Error("a closed session was told")
	}
}

// Many sessions, calls and edits at the same time (for the race detector): no
// call gets through that neither configuration allows.
func TestReloadRaces(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plain, map[string]string{"project/.mcp.json": repository})
	w.allow("docs", config.ClassExecute)
	good, err := os.ReadFile(w.path("config/trust.json"))
	if err != nil {
		t.Fatal(err)
	}
	const callers, each = 6, 15
	ended := make(chan struct{})
	for range callers {
		s := w.session(true)
		go func() { // ends with its calls
			for range each {
				s.checked.Store(0)
				s.Do(t.Context(), tool("fake__echo", "{}"), func(a Answer) {
					if a.Refusal != nil && a.Refusal.Word != PolicyDenied {
						t.Errorf("fake: %v", a.Refusal)
					}
				})
				s.Do(t.Context(), tool("docs__echo", "{}"), func(a Answer) {
					if a.Refusal != nil && a.Refusal.Word != Untrusted && a.Refusal.Word != PolicyDenied && a.Refusal.Word != Closed && a.Refusal.Word != OutcomeUnknown {
						t.Errorf("docs: %v", a.Refusal)
					}
				})
			}
			ended <- struct{}{}
		}()
	}
	for open := callers; open > 0; {
		for _, text := range []string{strings.Replace(plain, "allow: [read, write, execute]", "allow: [write]", 1), plain} {
			w.write("config/mcp.yaml", text)
			w.write("config/trust.json", `{"v":1,"records":[]}`)
			w.write("config/trust.json", string(good))
		}
		select {
		case <-ended:
			open--
		default:
		}
	}
	w.calls += 2 * callers * each
	until(t, "all rows are written", func() bool { return len(w.rows()) == w.calls })
}

// An approval is made once a view, however long it takes, and does not hold up
// those who only look (C30: a secret may have to be fetched by a command).
func TestSlowSecretHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	yaml := "version: 1\nsecrets: {TOKEN: \"cmd:$WORK/bin/fetch\"}\nservers:\n  fake: {command: $FAKE, args: [-events, $WORK/events], env: {TOKEN: \"${TOKEN}\"}}\n" + allowAll
	w := newWorld(t, yaml, map[string]string{"bin/fetch": "#!/bin/sh\n: > $WORK/fetching\nwhile ! [ -e $WORK/go ]; do sleep 0.01; done\necho value\n"})
	if err := os.Chmod(w.path("bin/fetch"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := w.session(false)
	answers := make(chan Answer, 1)
	go s.Do(t.Context(), tool("fake__echo", "{}"), func(a Answer) { answers <- a }) // ends with the call
	until(t, "the value is being fetched", func() bool { _, err := os.Stat(w.path("fetching")); return err == nil })
	looked := make(chan *View, 1)
	go func() { looked <- s.renew() }() // ends at once
	select {
	case <-looked:
	case <-time.After(5 * time.Second):
		t.Error("a look waits for a secret")
	}
	w.write("go", "")
	if a := <-answers; a.Refusal != nil {
		t.Errorf("refused: %v", a.Refusal)
	}
	w.calls++
	until(t, "the row is written", func() bool { return len(w.rows()) == 1 })
	if status, _ := s.View().records.Status(s.View().Server("fake").Declared); status != trust.Trusted {
		t.Errorf("status %s", status)
	}
}
