package gateway

import (
	"os/exec"
	"strings"
	"testing"

	"postern/pkg/mcptest"
)

// onlyConfig declares two servers, of which one has all that MCP has.
const onlyConfig = `version: 1
servers:
  other: {command: $FAKE, args: [-more]}
  fake: {command: $FAKE, shared: false, sampling: true, args: [-more, -info, '{"name":"f","vendor":[1.0]}', -instructions, "as \"is\"", -page, "2"]}
` + allowAll

// R62: what an agent hears of a server through a session of that one alone is what
// it hears when it speaks with the server itself, byte for byte.
func TestOnlyLooksLikeTheServer(t *testing.T) {
	w := newWorld(t, onlyConfig, nil)
	fake := mcptest.FakeServerCommand(t)
	direct := mcptest.Start(t, exec.Command(fake, "-more", "-info", `{"name":"f","vendor":[1.0]}`, "-instructions", `as "is"`))
	through := w.connect(Options{Only: "fake"})
	for i, c := range []struct{ method, params string }{
		{"initialize", `{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"roots":{}},"clientInfo":{"name":"t","version":"1"}}`},
		{"ping", ""},
		{"tools/list", ""},
		{"prompts/list", "{}"},
		{"resources/list", ""},
		{"resources/templates/list", ""},
		{"tools/call", `{"name":"echo","arguments":{"a":1e400,"b":[null,-0]},"x":1}`},
		{"tools/call", `{"name":"fail","arguments":{"text":"quota"}}`},
		{"tools/call", `{"name":"rpcerror","arguments":{"error":{"code":-32042,"message":"m","data":{"elicitations":[]}}}}`},
		{"prompts/get", `{"name":"greet","arguments":{"who":"\u00e9"}}`},
		{"resources/read", `{"uri":"fake://text"}`},
		{"resources/read", `{"uri":"fake://blob"}`},
		{"resources/read", `{"uri":"fake://item/7?x=%20"}`},
		{"resources/subscribe", `{"uri":"fake://text"}`},
		{"tools/call", `{"name":"update","arguments":{"uri":"fake://text"}}`},
		{"resources/unsubscribe", `{"uri":"fake://text"}`},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"a"}}`},
		{"completion/complete", `{"ref":{"type":"ref/resource","uri":"fake://item/{id}"},"argument":{"name":"id","value":"1"}}`},
		{"logging/setLevel", `{"level":"warning"}`},
		{"tools/call", `{"name":"log","arguments":{"level":"info","data":1}}`},
		{"tools/call", `{"name":"log","arguments":{"level":"error","data":{"n":1.0}}}`},
		{"tools/call", `{"name":"never","arguments":{},"task":{"ttl":1000}}`},
		{"tools/call", `{"name":"finish","arguments":{"taskId":"task-1"}}`},
		{"tasks/result", `{"taskId":"task-1"}`},
		{"tasks/get", `{"taskId":"task-1"}`},
		{"tasks/list", `{}`},
		{"vendor/method", `{"n":9007199254740993,"z":[1.0]}`},
		{"tools/call", `{"name":"notify","arguments":{"method":"notifications/vendor","params":{"e":1e400}}}`},
	} {
		line := `{"jsonrpc":"2.0","id":"` + c.method + `","method":"` + c.method + `"`
		if c.params != "" {
			line += `,"params":` + c.params
		}
		got, want := spoken(through, line+"}"), spoken(direct, line+"}")
		if got != want {
			t.Errorf("%d: %s\n through %s\n  direct %s", i, c.params, got, want)
		}
		if i == 0 {
			through.Notify("notifications/initialized", "")
			direct.Notify("notifications/initialized", "")
		}
	}
	ask := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"x":1.0}}}}}`
	got, want := asksOf(t, through, ask), asksOf(t, direct, ask)
	if got != want || !strings.Contains(got, `"message":"Who?"`) {
		t.Errorf("through %s\n direct %s", got, want)
	}
}

// spoken is all that comes in answer to a line, the response last.
func spoken(a *mcptest.Agent, line string) string {
	before := len(a.Lines())
	a.Send(line)
	var said []string
	for n := before; ; n++ {
		m := a.Line(n)
		said = append(said, string(m.Raw))
		if m.Method == "" {
			return strings.Join(said, "\n")
		}
	}
}

// asksOf is the params of what the server asks in a call, which is then answered.
func asksOf(t *testing.T, a *mcptest.Agent, line string) string {
	t.Helper()
	a.Send(line)
	q := a.ExpectRequest("elicitation/create")
	a.Answer(q, `{"action":"cancel"}`)
	a.Expect("1")
	return string(q.ParamsBytes())
}

// R62: names of other servers and of the gateway's own tools mean nothing there.
func TestOnlyHasNothingElse(t *testing.T) {
	w := newWorld(t, onlyConfig, nil)
	a := w.connect(Options{Only: "fake"})
	a.Initialize()
	for _, name := range []string{"fake__echo", "other__echo", "search_tools", "call_tool", readResultName} {
		m := a.Expect(a.Request("tools/call", mcptest.CallParams(name, "")))
		if !strings.Contains(string(m.ErrorBytes()), `"word":"unknown_tool"`) {
			t.Errorf("%s: %s", name, m.Raw)
		}
	}
}

// R62: a server that cannot be listed leaves the gateway to answer, in its own name,
// once the wait is over.
func TestOnlyOfAServerThatIsDown(t *testing.T) {
	w := newWorld(t, `version: 1
servers:
  gone: {command: /no/such/program}
`+allowAll, nil)
	a := w.connect(Options{Only: "gone"})
	got := string(a.Initialize())
	if !strings.Contains(got, `"serverInfo":{"name":"postern"`) || !strings.Contains(got, "gone: not listed yet") {
		t.Error(got)
	}
}

// R62: whatever the policy says of exposure, one server alone is shown whole; what
// the policy does not allow stays hidden.
func TestOnlyIsWhole(t *testing.T) {
	long := `{"name":"t","description":"` + strings.Repeat("Long. ", 5000) + `","inputSchema":{"type":"object"}}`
	w := newWorld(t, `version: 1
servers:
  fake: {command: $FAKE, args: [-tools, $WORK/tools.json]}
policies:
  p: {servers: ["*"], allow: [read, write], deny: ["fake__hidden"], exposure: lazy, max_description_chars: 20}
defaults: {policy: p, trust_level: 2}
`, map[string]string{"tools.json": "[" + long + `,{"name":"hidden","inputSchema":{"type":"object"}}]`})
	for range 2 { // before and after it was listed
		a := w.connect(Options{Only: "fake"})
		a.Initialize()
		if got := string(a.Ask("tools/list", "")); got != `{"tools":[`+long+`]}` {
			t.Errorf("%.300s", got)
		}
		w.restart()
	}
}

// R67: a server that has no tools is worth a line for its prompts and resources.
func TestInstructionsCountAll(t *testing.T) {
	w := newWorld(t, `version: 1
servers:
  fake: {command: $FAKE, args: [-more, -tools, $WORK/none.json]}
  bare: {command: $FAKE, args: [-tools, $WORK/none.json]}
`+allowAll, map[string]string{"none.json": "[]"})
	a := w.connect(Options{})
	a.Initialize()
	a.Ask("tools/list", "")
	w.restart()
	got := string(w.connect(Options{}).Initialize())
	if !strings.Contains(got, `fake: starts at the first call, 0 tools, 2 prompts, 5 resources`) || strings.Contains(got, "bare") {
		t.Error(got)
	}
}

// MB-090: not even an initialize that waits for its server can be cancelled.
func TestMB090InitializeIsAnswered(t *testing.T) {
	w := newWorld(t, `version: 1
servers:
  fake: {command: $FAKE, args: [-info, '{"name":"late"}', -fault, start-delay=500ms]}
`+allowAll, nil)
	a := w.connect(Options{Only: "fake"})
	a.Send(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`)
	a.Cancel(`"i"`, "no")
	if got := string(a.Expect(`"i"`).ResultBytes()); !strings.Contains(got, `"serverInfo":{"name":"late"}`) {
		t.Error(got)
	}
}
