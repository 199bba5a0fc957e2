package gateway

import (
	"strings"
	"testing"

	"postern/pkg/mcptest"
	"postern/pkg/wire"
)

const askElicit = `{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}`

// requests are the methods that the agent was asked.
func requests(a *mcptest.Agent) (methods []string) {
	for _, m := range a.Lines() {
		if m.Kind == wire.Request {
			methods = append(methods, m.Method)
		}
	}
	return methods
}

// MB-098, R72: of two agents in a call with one shared server nobody is asked, for
// nobody can tell whose call it is about; with a process each the right one is.
func TestMB098WhoIsAsked(t *testing.T) {
	for _, shared := range []bool{true, false} {
		conf := unsharedConfig
		if shared {
			conf = moreConfig
		}
		w := newWorld(t, conf, nil)
		a, b := w.connect(Options{}), w.connect(Options{})
		for _, agent := range []*mcptest.Agent{a, b} {
			agent.InitializeAs("2025-11-25", `{"elicitation":{},"roots":{},"sampling":{}}`)
		}
		b.Request("tools/call", mcptest.CallParams("fake__never", ""))
		mcptest.WaitEvents(t, w.path("events"), "call", 1)
		id := a.Request("tools/call", mcptest.CallParams("fake__ask", askElicit))
		if !shared {
			a.Answer(a.ExpectRequest("elicitation/create"), `{"action":"accept","content":{}}`)
		}
		want := `"action":"cancel"`
		if !shared {
			want = `"action":"accept"`
		}
		if got := string(a.Expect(id).ResultBytes()); !strings.Contains(got, want) {
			t.Errorf("shared %v: %s", shared, got)
		}
		if got := requests(b); len(got) > 0 {
			t.Errorf("shared %v: the other agent was asked %q", shared, got)
		}
	}
}

// MB-097: an agent that declared nothing is asked nothing, and the call that asks
// ends all the same.
func TestMB097NobodyToAsk(t *testing.T) {
	w := newWorld(t, unsharedConfig, nil)
	a := w.connect(Options{})
	a.InitializeAs("2025-11-25", `{}`)
	for method, want := range map[string]string{
		"roots/list": "-32601", "sampling/createMessage": "-32601", "elicitation/create": `"action":"cancel"`, "vendor/x": "-32601",
	} {
		if got := string(a.Call("fake__ask", `{"method":"`+method+`","params":{"message":"m"}}`)); !strings.Contains(got, want) {
			t.Errorf("%s: %s", method, got)
		}
	}
	if got := requests(a); len(got) > 0 {
		t.Errorf("asked %q", got)
	}
}

// R80, R72: an agent that leaves with a question open leaves nobody waiting: the
// server is answered, and its process, the session's own, ends.
func TestLeaveWithAQuestionOpen(t *testing.T) {
	w := newWorld(t, unsharedConfig, nil)
	a := w.connect(Options{})
	a.InitializeAs("2025-11-25", `{"elicitation":{}}`)
	a.Request("tools/call", mcptest.CallParams("fake__ask", askElicit))
	a.ExpectRequest("elicitation/create")
	a.Hangup()
	mcptest.WaitEvents(t, w.path("events"), "clean", 1)
}

// R5: an agent of 2025-03-26 may answer a question in a batch.
func TestAnswerInABatch(t *testing.T) {
	w := newWorld(t, unsharedConfig, nil)
	a := w.connect(Options{})
	a.InitializeAs("2025-03-26", `{"roots":{}}`)
	id := a.Request("tools/call", mcptest.CallParams("fake__ask", `{"method":"roots/list"}`))
	q := a.ExpectRequest("roots/list")
	a.Send(`[{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":` + string(q.IDBytes()) + `,"result":{"roots":[]}}]`)
	if got := string(a.Expect(id).ResultBytes()); !strings.Contains(got, `"roots":[]`) {
		t.Error(got)
	}
	a.Ask("ping", "")
}

// R72: the level is the session's own; the server is set to the lowest, and each
// agent hears what it asked for.
func TestLevelsOfTwoSessions(t *testing.T) {
	w := newWorld(t, unsharedConfig, nil)
	loud, quiet := w.connect(Options{}), w.connect(Options{})
	for level, a := range map[string]*mcptest.Agent{"debug": loud, "error": quiet} {
		a.Initialize()
		a.Ask("logging/setLevel", `{"level":"`+level+`"}`)
		a.Call("fake__log", `{"level":"info","data":"i"}`)
		a.Call("fake__log", `{"level":"alert","data":"a"}`)
	}
	if got := strings.Join(notes(loud), " "); got != "notifications/message notifications/message" {
		t.Errorf("who wants all heard %s", got)
	}
	if got := strings.Join(notes(quiet), " "); got != "notifications/message" {
		t.Errorf("who wants errors heard %s", got)
	}
}

// R16, R73: the servers of this session alone hear that its roots changed, and the
// one server there is hears what is known to nobody here.
func TestNotificationsOfTheAgent(t *testing.T) {
	w := newWorld(t, unsharedConfig, nil)
	a := w.connect(Options{})
	a.InitializeAs("2025-11-25", `{"roots":{"listChanged":true}}`)
	a.Call("fake__echo", "{}")
	a.Notify("notifications/roots/list_changed", "")
	a.Notify("notifications/vendor/x", `{"n":1.0,"z":[1e400]}`)
	if got := received(t, w, "notifications/roots/list_changed"); strings.Contains(got, "params") {
		t.Error(got)
	}
	if got := received(t, w, "notifications/vendor/x"); !strings.Contains(got, `"params":{"n":1.0,"z":[1e400]}`) {
		t.Error(got)
	}
}

// R72: nothing that a server says reaches an agent that has not said hello.
func TestNothingBeforeInitialize(t *testing.T) {
	a := newAsked(t)
	a.revision = ""
	a.Notify("notifications/message", []byte(`{"level":"error","data":1}`))
	a.revision = revisions[0]
	a.Notify("notifications/vendor", []byte(`{"z":1.0}`))
	if got := a.line(); got != `{"jsonrpc":"2.0","method":"notifications/vendor","params":{"z":1.0}}` {
		t.Error(got)
	}
}

// R6: a server's notification never waits for an agent that does not read.
func TestNotifyDoesNotWait(t *testing.T) {
	a := newAsked(t)
	for a.out.Send(make([]byte, 1<<19), nil) == nil {
	}
	params := []byte(`{"x":"` + strings.Repeat("x", 1<<19) + `"}`)
	for _, method := range []string{"notifications/message", "notifications/resources/updated"} {
		a.Notify(method, params) // a wait here would have no end
	}
	if a.out.Dropped() != 1 {
		t.Errorf("%d dropped", a.out.Dropped())
	}
}
