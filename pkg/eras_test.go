package pkg

import (
	"fmt"
	"strings"
	"testing"

	"postern/pkg/gateway"
	"postern/pkg/mcptest"
	"postern/pkg/wire"
)

// served is a home whose one server has everything MCP has, and an agent in front
// of the real mcp-serve.
func served(t *testing.T, server string, args ...string) (*home, *mcptest.Agent) {
	t.Helper()
	h := newHome(t)
	h.write(".config/postern/mcp.yaml", "version: 1\nservers:\n  fake: {command: $FAKE, args: [-more, -events, $HOME/events"+server+"\n"+everything)
	return h, mcptest.Start(t, h.command("mcp-serve", append([]string{"--no-project"}, args...)...))
}

// received wants a line that the server got with all these texts in it.
func received(h *home, wants ...string) string {
	h.t.Helper()
	var found string
	if !mcptest.Eventually(func() bool {
		for _, e := range mcptest.Events(h.t, h.path("events"), "recv") {
			all := true
			for _, want := range wants {
				all = all && strings.Contains(e.Data, want)
			}
			if all {
				found = e.Data
			}
		}
		return found != ""
	}) {
		h.t.Fatalf("the server got no line with %q", wants)
	}
	return found
}

const subscription = `"io.modelcontextprotocol/subscriptionId":`

// TestOldServerNewAgent: a server of the first revision serves an agent of the
// newest one (R73): everything the agent can ask for is there in its own form, and
// nothing of the old one shows.
func TestOldServerNewAgent(t *testing.T) {
	h, a := served(t, ", -protocol, 2024-11-05]}")
	a.Modern(`{"elicitation":{"form":{},"url":{}},"roots":{}}`)
	has(t, "discover", a.Ask("server/discover", ""), `"resultType":"complete"`, `"2026-07-28"`, `"capabilities":{`, `"cacheScope":"private"`, `"io.modelcontextprotocol/serverInfo"`)
	for method, want := range map[string]string{
		"tools/list": `"fake__echo"`, "prompts/list": `"fake__greet"`, "resources/list": `"fake://text"`, "resources/templates/list": `"fake://big/{bytes}"`,
	} {
		has(t, method, a.Ask(method, ""), want, `"resultType":"complete"`, `"ttlMs":0`, `"cacheScope":"private"`)
	}
	has(t, "a call", a.Call("fake__echo", `{"n":9007199254740993}`), `"resultType":"complete"`, `"structuredContent":{"n":9007199254740993}`)
	hasNot(t, "the request", []byte(received(h, `"n":9007199254740993`)), "io.modelcontextprotocol")
	has(t, "a prompt", a.Ask("prompts/get", `{"name":"fake__greet","arguments":{"who":"me"}}`), `greet {\"who\":\"me\"}`, `"resultType":"complete"`)
	has(t, "a resource", a.Ask("resources/read", `{"uri":"fake://blob"}`), `"blob":"`, `"ttlMs":0`, `"cacheScope":"private"`)
	has(t, "completion", a.Ask("completion/complete", `{"ref":{"type":"ref/prompt","name":"fake__greet"},"argument":{"name":"who","value":"x"}}`), `["greet","who=x"]`)
	refusals := []struct{ method, params, want string }{
		{"resources/read", `{"uri":"other:x"}`, "-32602"},
		{"ping", "", "-32601"}, {"logging/setLevel", `{"level":"info"}`, "-32601"}, {"resources/subscribe", `{"uri":"fake://text"}`, "-32601"},
	}
	for _, r := range refusals {
		has(t, r.method, a.Expect(a.Request(r.method, r.params)).ErrorBytes(), r.want)
	}
	need := a.Call("fake__needurl", `{"elicitationId":"e-1","url":"https://example.com/x"}`)
	has(t, "an address to visit", need, `"resultType":"input_required"`, `"method":"elicitation/create"`, `"mode":"url"`, `https://example.com/x`)
	hasNot(t, "an address to visit", need, "e-1")
	has(t, "a question", a.Call("fake__ask", `{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object"}}}`), `"action":"cancel"`)
	oldServerTells(t, h, a)
	if code := a.Close(); code != 0 {
		t.Errorf("ended with %d", code)
	}
	for _, m := range a.Lines() {
		if m.Method != "" && len(m.IDBytes()) > 0 {
			t.Errorf("the agent was asked: %s", m.Raw)
		}
	}
}

// oldServerTells: what an old server tells reaches a new agent's listen.
func oldServerTells(t *testing.T, h *home, a *mcptest.Agent) {
	t.Helper()
	listen := a.Request("subscriptions/listen", `{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["fake://text"]}}`)
	has(t, "acknowledged", a.ExpectNotification("notifications/subscriptions/acknowledged").ParamsBytes(), subscription+listen, `"toolsListChanged":true`, `"fake://text"`)
	received(h, `"resources/subscribe"`, `"fake://text"`)
	a.Call("fake__update", `{"uri":"fake://text"}`)
	has(t, "updated", a.ExpectNotification("notifications/resources/updated").ParamsBytes(), subscription+listen, `"uri":"fake://text"`)
	a.Call("fake__change", `{"prompts":[{"name":"other"}]}`)
	has(t, "changed", a.ExpectNotification("notifications/prompts/list_changed").ParamsBytes(), subscription+listen)
	has(t, "the new list", a.Ask("prompts/list", ""), `"fake__other"`)
	a.Cancel(listen, "")
	received(h, `"resources/unsubscribe"`, `"fake://text"`)

	a.Ask("tools/call", `{"name":"fake__log","arguments":{"level":"error","data":0}}`)
	a.Ask("tools/call", `{"name":"fake__log","arguments":{"level":"error","data":"seen"},"_meta":{"io.modelcontextprotocol/logLevel":"warning"}}`)
	has(t, "a message", a.ExpectNotification("notifications/message").ParamsBytes(), `"data":"seen"`)
	a.Ask("tools/call", `{"name":"fake__progress","arguments":{"steps":1},"_meta":{"progressToken":"\u0074"}}`)
	has(t, "progress", a.ExpectNotification("notifications/progress").ParamsBytes(), `"progressToken":"\u0074"`)
}

// TestNewServerOldAgent: a server of the newest revision serves an agent of the
// one before (R73): what the server wants to know the agent is asked, and the
// call goes on with the answers and the very state that the server gave.
func TestNewServerOldAgent(t *testing.T) {
	h, a := served(t, ", -era, modern], shared: false}")
	a.InitializeAs("2025-11-25", `{"roots":{},"sampling":{},"elicitation":{"form":{},"url":{}}}`)
	a.Ask("tools/list", "")
	got := a.Call("fake__echo", `{"n":1.0}`)
	has(t, "a call", got, `"structuredContent":{"n":1.0}`)
	hasNot(t, "a call", got, "resultType")
	rounds(t, h, a)
	for _, r := range []struct{ method, params string }{
		{"prompts/get", `{"name":"fake__rounds"}`}, {"resources/read", `{"uri":"fake://rounds"}`},
	} {
		id := a.Request(r.method, r.params)
		a.Answer(a.ExpectRequest("elicitation/create"), `{"action":"accept","content":{}}`)
		m := a.Expect(id)
		has(t, r.method, m.Raw, `"result":`)
		hasNot(t, r.method, m.Raw, "resultType", "input_required")
	}
	m := a.Expect(a.Request("tools/call", mcptest.CallParams("fake__rounds", `{"n":1,"requests":{"q":{"method":"vendor/strange","params":{}}}}`)))
	has(t, "a question nobody knows", m.Raw, "vendor/strange")
	m = a.Expect(a.Request("tools/call", mcptest.CallParams("fake__raw", `{"result":{"resultType":"vendor/odd","content":[]}}`)))
	has(t, "a result nobody knows", m.Raw, "vendor/odd", "rror")
	has(t, "no resource", a.Expect(a.Request("resources/read", `{"uri":"other:x"}`)).ErrorBytes(), "-32002")
	newServerTells(t, h, a)
	if code := a.Close(); code != 0 {
		t.Errorf("ended with %d", code)
	}
}

// rounds are two rounds of questions, of every kind, in one call.
func rounds(t *testing.T, h *home, a *mcptest.Agent) {
	t.Helper()
	const requests = `[{"one":{"method":"elicitation/create","params":{"message":"First?","requestedSchema":{"type":"object","x":1e400}}},"two":{"method":"roots/list"}},` +
		`{"three":{"method":"elicitation/create","params":{"mode":"url","url":"https://example.com/","message":"Second?"}}}]`
	id := a.Request("tools/call", mcptest.CallParams("fake__rounds", `{"n":2,"requests":`+requests+`}`))
	first := a.ExpectRequest("elicitation/create")
	has(t, "the first question", first.ParamsBytes(), `[server fake] First?`, `"x":1e400`)
	a.Answer(first, `{"action":"accept","content":{"n":9007199254740993}}`)
	a.Answer(a.ExpectRequest("roots/list"), `{"roots":[{"uri":"file:///x","y":-0}]}`)
	second := a.ExpectRequest("elicitation/create")
	has(t, "the second question", second.ParamsBytes(), `"mode":"url"`, `"elicitationId":"`)
	a.Answer(second, `{"action":"decline"}`)
	has(t, "the end", a.Expect(id).ResultBytes(), `"inputResponses":{"three":{"action":"decline"}}`, `"requestState":"\u0072ound\/2"`)
	received(h, `"inputResponses":{`, `"one":{"action":"accept","content":{"n":9007199254740993}}`, `"two":{"roots":[{"uri":"file:///x","y":-0}]}`, `"requestState":"\u0072ound\/1"`)
}

// newServerTells: subscriptions, levels and changed lists of an old agent become
// a new server's listen.
func newServerTells(t *testing.T, h *home, a *mcptest.Agent) {
	t.Helper()
	a.Ask("resources/subscribe", `{"uri":"fake://text"}`)
	received(h, `"subscriptions/listen"`, `"resourceSubscriptions":["fake://text"]`)
	a.Call("fake__update", `{"uri":"fake://text"}`)
	updated := a.ExpectNotification("notifications/resources/updated").ParamsBytes()
	has(t, "updated", updated, `"uri":"fake://text"`)
	a.Ask("prompts/list", "")
	a.Call("fake__change", `{"prompts":[{"name":"other"}]}`)
	a.ExpectNotification("notifications/prompts/list_changed")
	a.Ask("logging/setLevel", `{"level":"warning"}`)
	a.Call("fake__log", `{"level":"info","data":"unseen"}`)
	a.Call("fake__log", `{"level":"error","data":"seen"}`)
	has(t, "a message", a.ExpectNotification("notifications/message").ParamsBytes(), `"data":"seen"`)
	for _, m := range a.Lines() {
		hasNot(t, "a line", m.Raw, `"unseen"`)
	}
}

// TestCancelOfEveryMethod: a read and a prompt that take for ever are cancelled at
// the server under its own ids, with the reason; a cancellation of nothing, and of
// initialize, changes nothing (MB-090).
func TestCancelOfEveryMethod(t *testing.T) {
	h, a := served(t, "]}")
	a.Notify("notifications/cancelled", `{"requestId":1}`)
	a.Initialize()
	a.Notify("notifications/cancelled", `{"requestId":1}`)
	a.Notify("notifications/cancelled", `{"requestId":"unknown","reason":"none"}`)
	a.Ask("tools/list", "")
	for i, r := range []struct{ method, params string }{
		{"resources/read", `{"uri":"fake://item/never"}`}, {"prompts/get", `{"name":"fake__greet","arguments":{"who":"never"}}`},
		{"tools/call", mcptest.CallParams("fake__never", "")},
	} {
		id := a.Request(r.method, r.params)
		line := received(h, `"method":"`+r.method+`"`)
		theirs, _ := find([]byte(line), []string{"id"})
		reason := fmt.Sprintf("reason %d", i)
		a.Cancel(id, reason)
		received(h, "notifications/cancelled", `"requestId":`+string(theirs.Of([]byte(line))), reason)
	}
	a.Ask("ping", "")
	a.Call("fake__echo", "{}")
}

// TestQuestionGoesToItsCaller: two agents are in a call of one server; what the
// server asks while one of them is alone in a call goes to that one, and what it
// asks in a call of several to nobody (MB-097, MB-098, R72).
func TestQuestionGoesToItsCaller(t *testing.T) {
	h := newHosted(t, "version: 1\nservers:\n  fake: {command: $FAKE, args: [-events, $WORK/events]}\n"+everything, nil)
	one, two := h.connect(gateway.Options{}), h.connect(gateway.Options{})
	for _, a := range []*mcptest.Agent{one, two} {
		a.Initialize()
		a.Ask("tools/list", "")
	}
	ask := mcptest.CallParams("fake__ask", `{"method":"elicitation/create","params":{"message":"Well?","requestedSchema":{"type":"object"}}}`)
	for i, a := range []*mcptest.Agent{two, one} {
		id := a.Request("tools/call", ask)
		a.Answer(a.ExpectRequest("elicitation/create"), fmt.Sprintf(`{"action":"accept","content":{"n":%d}}`, i))
		has(t, "the answer", a.Expect(id).ResultBytes(), fmt.Sprintf(`"content":{"n":%d}`, i))
	}
	open := one.Request("tools/call", mcptest.CallParams("fake__never", ""))
	mcptest.WaitEvents(t, h.path("events"), "call", 3)
	has(t, "a question of several", two.Call("fake__ask", `{"method":"elicitation/create","params":{"message":"Well?"}}`), `"action":"cancel"`)
	has(t, "roots of several", two.Call("fake__ask", `{"method":"roots/list"}`), `-32601`)
	one.Cancel(open, "")
	for i, a := range []*mcptest.Agent{one, two} {
		n := 0
		for _, m := range a.Lines() {
			if m.Kind == wire.Request {
				n++
			}
		}
		if n != 1 {
			t.Errorf("agent %d was asked %d times", i, n)
		}
	}
}

// TestUnsharedStandsWithItsAgent: through the real mcp-serve a server with
// shared: false works in the directory and language of its agent, a shared one
// where it was declared, and both end with it (C32, R10).
func TestUnsharedStandsWithItsAgent(t *testing.T) {
	h := newHome(t)
	h.write(".config/postern/mcp.yaml", "version: 1\nservers:\n  own: {command: $FAKE, shared: false, args: [-events, $HOME/events]}\n  all: {command: $FAKE, args: [-events, $HOME/events]}\n"+everything)
	for i, name := range []string{"one", "two"} {
		h.write(name+"/x", "")
		c := h.command("mcp-serve", "--no-project")
		c.Dir, c.Env = h.path(name), append(h.env, "LANG=xx_"+name)
		a := mcptest.Start(t, c)
		a.Initialize()
		a.Ask("tools/list", "")
		has(t, "own", a.Call("own__env", ""), `"cwd":"`+h.path(name)+`"`, `"LANG":"xx_`+name+`"`)
		has(t, "all", a.Call("all__env", ""), `"cwd":"`+h.dir+`"`)
		if code := a.Close(); code != 0 {
			t.Errorf("ended with %d", code)
		}
		if n := len(mcptest.WaitEvents(t, h.path("events"), "clean", 2*(i+1))); n != 2*(i+1) {
			t.Errorf("%d servers ended", n)
		}
	}
}
