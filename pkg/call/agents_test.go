package call

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"postern/pkg/calllog"
	"postern/pkg/config"
	"postern/pkg/mcptest"
)

// newHub is a world whose host is a shared process: its environment is its own.
func newHub(t testing.TB, mcpYAML string, files map[string]string) *world {
	w := newWorld(t, mcpYAML, files)
	w.own = true
	w.restart()
	return w
}

// child is what the tool env says of its process.
type child struct {
	Env map[string]string
	CWD string
	PID int
}

// child asks a server about itself.
func (w *world) child(s *Session, exposed string) (c child) {
	w.t.Helper()
	a, _ := w.answered(s, tool(exposed, "{}"))
	var r struct{ StructuredContent child }
	if err := json.Unmarshal(a.Reply.ResultBytes(), &r); err != nil || r.StructuredContent.PID == 0 {
		w.t.Fatalf("%s: %v", a.Reply.Raw, err)
	}
	return r.StructuredContent
}

// keyed declares a server that gets KEY, which may come from the agent.
const takesKey = `version: 1
servers:
  fake: {command: $FAKE, args: [-events, $WORK/events], env: {GIVEN: "${KEY}"}, agent_env: [KEY]}
  other: {command: $FAKE, args: [-events, $WORK/events]}
` + allowAll

// C30, C31, MB-055: agents whose values differ have two processes, those whose
// values are the same have one, and one without a value gets nobody else's.
// Nothing that is kept or shown holds a value.
func TestAgentsWithDifferentValues(t *testing.T) {
	t.Parallel()
	w := newHub(t, takesKey, nil)
	const alpha, beta = "alpha-v4lue-of-one", "beta-v4lue-of-two"
	one := w.agent(&person{}, SessionOptions{Environ: []string{"KEY=" + alpha}})
	two := w.agent(&person{}, SessionOptions{Environ: []string{"KEY=" + beta}})
	same := w.agent(&person{}, SessionOptions{Environ: []string{"KEY=" + alpha}})
	none := w.agent(&person{}, SessionOptions{Environ: []string{}})
	ofOne, ofTwo := w.child(one, "fake__env"), w.child(two, "fake__env")
	if ofOne.Env["GIVEN"] != alpha || ofTwo.Env["GIVEN"] != beta || ofOne.PID == ofTwo.PID {
		t.Errorf("one has %v, two has %v", ofOne, ofTwo)
	}
	if again := w.child(same, "fake__env"); again.PID != ofOne.PID {
		t.Error("the same value has two processes")
	}
	refusal, _ := w.refused(none, tool("fake__env", "{}"), Unavailable)
	if refusal.Reason != "not_set" || !strings.Contains(refusal.Error(), "KEY") {
		t.Errorf("refused: %v", refusal)
	}
	shared := w.child(one, "other__env")
	for _, s := range []*Session{two, same, none} {
		if c := w.child(s, "other__env"); c.PID != shared.PID {
			t.Error("a server that takes nothing of agents has two processes")
		}
	}
	for key, value := range shared.Env {
		if strings.Contains(value, alpha) || strings.Contains(value, beta) {
			t.Errorf("another server has it in %s", key)
		}
	}
	if n := w.starts(); n != 3 {
		t.Errorf("%d processes", n)
	}
	w.refused(one, tool("fake__exit", `{"stderr":"`+alpha+`"}`), OutcomeUnknown)
	if c := w.child(two, "fake__env"); c.PID != ofTwo.PID {
		t.Error("the end of one agent's process ended another's")
	}
	for _, s := range []*Session{one, two, none} {
		for _, entry := range s.View().environ.Agent {
			if s != one && strings.Contains(entry, alpha) || s != two && strings.Contains(entry, beta) {
				t.Error("an agent's view has a value of another")
			}
		}
	}
	status, err := json.Marshal(w.host.Status())
	if text := string(status) + strings.Join(w.warnings(), "\n"); err != nil || strings.Contains(text, alpha) || strings.Contains(text, beta) {
		t.Errorf("%v: a value stands in %s", err, text)
	}
	w.host.Close()
	for _, value := range []string{alpha, beta} {
		for _, dir := range []string{w.dirs.Cache, w.path("state")} {
			w.noneHolds(dir, value)
		}
	}
}

// S5: what agents bring along is hidden while they are there and a while after; of
// thousands that came and went nothing stays.
func TestValuesOfManyAgents(t *testing.T) {
	t.Parallel()
	w := newHub(t, takesKey, nil)
	key := func(n int) string { return fmt.Sprintf("v4lue-of-agent-%d", n) }
	hidden := func(n int) bool { return !strings.Contains(w.host.Redactor().Text("it is "+key(n)), key(n)) }
	stays := w.agent(&person{}, SessionOptions{Environ: []string{"KEY=" + key(0)}})
	for n := 1; n < 300; n++ {
		s := w.agent(&person{}, SessionOptions{Environ: []string{"KEY=" + key(n)}})
		if !hidden(n) {
			t.Fatalf("the value of agent %d is shown", n)
		}
		s.Close()
	}
	if !hidden(0) || !hidden(299) || hidden(1) {
		t.Errorf("who is there: %v, who has just gone: %v, who has gone long ago: %v", hidden(0), hidden(299), hidden(1))
	}
	w.answered(stays, tool("fake__echo", "{}"))
}

// C32: a server of one session has language, time zone and terminal of its agent;
// one that is shared has the hub's, and neither has anything else of the agent.
func TestLocaleOfTheAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `version: 1
servers:
  alone: {command: $FAKE, args: [-events, $WORK/events], shared: false}
  shared: {command: $FAKE, args: [-events, $WORK/events]}
`+allowAll, nil)
	w.own, w.environ = true, append(w.environ, "LANG=C", "TZ=UTC")
	w.restart()
	dirs := []string{w.path("one"), w.path("two")}
	for n, lang := range []string{"de_CH.UTF-8", "en_US.UTF-8"} {
		if err := os.MkdirAll(dirs[n], 0o700); err != nil {
			t.Fatal(err)
		}
		s := w.agent(&person{}, SessionOptions{Dir: dirs[n], Environ: []string{"LANG=" + lang, "TERM=xterm", "AWS_SECRET=x"}})
		c := w.child(s, "alone__env")
		if c.Env["LANG"] != lang || c.Env["TERM"] != "xterm" || c.Env["TZ"] != "" || c.Env["AWS_SECRET"] != "" || c.CWD != dirs[n] {
			t.Errorf("alone has %v", c)
		}
		if c := w.child(s, "shared__env"); c.Env["LANG"] != "C" || c.Env["TZ"] != "UTC" || c.Env["TERM"] != "" || c.Env["AWS_SECRET"] != "" {
			t.Errorf("shared has %v", c.Env)
		}
		s.Close()
		mcptest.WaitEvents(t, w.events, "clean", n+1) // it ended with its session
	}
	if n := w.starts(); n != 3 {
		t.Errorf("%d processes", n)
	}
}

// An agent is asked for what it may give, can give and nobody else has (C30).
func TestNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `version: 1
servers:
  one: {command: $FAKE, args: ["${A}", "${H}", "${SECRET}"], env: {X: "${B:-b}", Y: "${C}"}, agent_env: [A, B, H, UNUSED]}
  two: {command: $FAKE, inherit_env: [D, E], agent_env: [D, A]}
  off: {command: $FAKE, args: ["${OFF}"], agent_env: [OFF], enabled: false}
policies:
  everything: {servers: ["*"], allow: [read]}
  second: {servers: [two]}
  nothing: {servers: ["*"], deny: ["*"]}
defaults: {policy: everything}
`, map[string]string{"project/.mcp.json": `{"mcpServers":{
		"docs":{"command":"$FAKE","env":{"T":"${TOKEN}","H":"${H}"}},
		"evil":{"command":"$FAKE","env":{"T":"${AWS_SECRET}"}}}}`})
	w.own, w.environ = true, append(w.environ, "H=hub")
	w.restart()
	names := func(o SessionOptions, want string) {
		t.Helper()
		got, err := w.host.Names(o)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%+v: %q, %v, want %q", o, got, err, want)
		}
	}
	names(SessionOptions{}, "A B D")
	names(SessionOptions{Only: "two"}, "D")
	names(SessionOptions{Policy: "second"}, "D")
	names(SessionOptions{Policy: "nothing"}, "")
	names(SessionOptions{Project: w.project}, "A B D") // untrusted servers are given nothing
	w.environ = append(w.environ, "TOKEN=shown")       // for the approval alone
	w.allow("docs", config.ClassRead)
	names(SessionOptions{Project: w.project}, "A B D TOKEN")
	names(SessionOptions{Project: w.project, Only: "docs"}, "TOKEN")
	var unknown *UnknownPolicyError
	if _, err := w.host.Names(SessionOptions{Policy: "x"}); !errors.As(err, &unknown) {
		t.Errorf("got %v", err)
	}
	w.write("config/mcp.yaml", "version: 7")
	names(SessionOptions{Project: w.project}, "")
	if n := w.starts(); n != 0 {
		t.Errorf("%d processes were started", n)
	}
}

// C52, MB-063: what a project declares is there for its own sessions, whoever else
// shares the hub, and two projects' servers of one name are two.
func TestProjectsOfOneHub(t *testing.T) {
	t.Parallel()
	w := newHub(t, "version: 1"+allowAll, map[string]string{
		"project/.mcp.json":  `{"mcpServers":{"docs":{"command":"$FAKE","args":["-events","$WORK/events"]},"only":{"command":"$FAKE","args":["-events","$WORK/events"]}}}`,
		"project2/.mcp.json": `{"mcpServers":{"docs":{"command":"$FAKE","args":["-events","$WORK/events"]}}}`,
		"copy/.mcp.json":     `{"mcpServers":{"docs":{"command":"$FAKE","args":["-events","$WORK/events"]}}}`,
	})
	first := w.project
	w.allow("docs", config.ClassExecute)
	w.allow("only", config.ClassExecute)
	w.project = w.path("project2")
	w.allow("docs", config.ClassExecute)
	w.project = first
	in := func(project string) *Session {
		return w.agent(&person{}, SessionOptions{Project: project, Environ: []string{}})
	}
	one, two, other, none := in(first), in(w.path("project2")), in(w.path("copy")), in("")
	ofOne, ofTwo := w.child(one, "docs__env"), w.child(two, "docs__env")
	if ofOne.PID == ofTwo.PID {
		t.Error("two projects share a process")
	}
	if c := w.child(in(first), "docs__env"); c.PID != ofOne.PID {
		t.Error("two sessions of one project have two processes")
	}
	w.child(one, "only__env")
	w.refused(two, tool("only__env", "{}"), UnknownTool)
	w.refused(none, tool("docs__env", "{}"), UnknownTool)
	w.refused(other, tool("docs__env", "{}"), Untrusted)
	if got := len(none.View().Servers); got != 0 {
		t.Errorf("%d servers without a project", got)
	}
	w.revoke("docs")
	w.refused(one, tool("docs__env", "{}"), Untrusted)
	if c := w.child(two, "docs__env"); c.PID != ofTwo.PID {
		t.Error("the end of one project's approval ended another's server")
	}
}

// MB-051: the end of one session leaves what others do with a server alone.
func TestMB051OneSessionEnds(t *testing.T) {
	t.Parallel()
	w := newHub(t, plain, nil)
	stays := w.agent(&person{}, SessionOptions{})
	goes := w.agent(&person{}, SessionOptions{})
	before := w.child(stays, "fake__env")
	w.answered(goes, tool("fake__echo", "{}"))
	answer := make(chan Answer, 1)
	w.calls++
	go stays.Do(t.Context(), tool("fake__slow", `{"ms":300}`), func(a Answer) { answer <- a })
	mcptest.WaitEvents(t, w.events, "call", 3)
	goes.Close()
	if a := <-answer; a.Refusal != nil {
		t.Errorf("refused: %v", a.Refusal)
	}
	until(t, "its row is written", func() bool { return len(w.rows()) == w.calls })
	if after := w.child(stays, "fake__env"); after.PID != before.PID || w.starts() != 1 {
		t.Error("it is another process")
	}
}

// MB-032: a reload with many sessions keeps what did not change, replaces what
// did once for all of them, and leaves nothing over.
func TestMB032ReloadOfManySessions(t *testing.T) {
	t.Parallel()
	w := newHub(t, plain, nil)
	all := make([]*Session, 6)
	for n := range all {
		all[n] = w.agent(&person{}, SessionOptions{Environ: []string{}})
		w.answered(all[n], tool("fake__echo", "{}"))
	}
	for n := range 6 {
		w.write("config/mcp.yaml", declared(fmt.Sprintf("queue: %d", 10+n)))
		w.host.Reload()
	}
	if n := w.starts(); n != 1 {
		t.Errorf("%d processes after changes that concern no process", n)
	}
	for n := range 3 {
		w.write("config/mcp.yaml", declared(fmt.Sprintf("env: {ROUND: \"%d\"}", n)))
		w.host.Reload()
		for _, s := range all {
			if c := w.child(s, "fake__env"); c.Env["ROUND"] != fmt.Sprint(n) {
				t.Errorf("round %d is served by an older process", n)
			}
		}
		until(t, "the old one is gone", func() bool { return w.alive() == 1 })
	}
	if n := w.starts(); n != 4 {
		t.Errorf("%d processes", n)
	}
}

// R25, R90: a server that runs on after its last session is stopped when it loses
// its approval, or is not declared any more.
func TestServersWithoutASession(t *testing.T) {
	t.Parallel()
	w := newHub(t, plain, map[string]string{"project/.mcp.json": repository})
	w.allow("docs", config.ClassExecute)
	s := w.agent(&person{}, SessionOptions{Project: w.project})
	w.answered(s, tool("docs__echo", "{}"))
	w.answered(s, tool("fake__echo", "{}"))
	s.Close()
	w.host.Reload()
	if n := w.alive(); n != 2 {
		t.Fatalf("%d run", n)
	}
	w.revoke("docs")
	w.host.Reload()
	mcptest.WaitEvents(t, w.events, "clean", 1)
	w.write("config/mcp.yaml", "version: 7")
	w.host.Reload()
	if n := len(w.host.pool.Approved()); n != 1 {
		t.Error("a configuration that is refused ended a server")
	}
	w.write("config/mcp.yaml", declared("enabled: false"))
	w.host.Reload()
	mcptest.WaitEvents(t, w.events, "clean", 2)
}

// C81: the row of a call has the id that came with it, whatever became of it.
func TestRowID(t *testing.T) {
	t.Parallel()
	w := newHub(t, plain, nil)
	s := w.session(false)
	for _, exposed := range []string{"fake__echo", "fake__none", "other__x"} {
		r := tool(exposed, "{}")
		r.RowID = calllog.NewID(s.since)
		if _, row := w.do(t.Context(), s, r); row.ID != r.RowID {
			t.Errorf("%s: id %s", exposed, row.ID)
		}
	}
	if _, row := w.do(t.Context(), s, tool("fake__echo", "{}")); !calllog.IsID(row.ID) {
		t.Errorf("id %q", row.ID)
	}
	id := calllog.NewID(s.since)
	if mine, err := w.host.Open(SessionOptions{ID: id}); err != nil || mine.ID != id {
		t.Errorf("%v, %v", mine, err)
	} else {
		mine.Close()
	}
}
