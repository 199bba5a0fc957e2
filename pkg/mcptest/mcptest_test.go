package mcptest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestMain(m *testing.M) { Main(m) }

func start(t *testing.T, args ...string) *Agent {
	t.Helper()
	return Start(t, exec.Command(FakeServerCommand(t), args...))
}

func contains(t *testing.T, what string, got []byte, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(string(got), want) {
			t.Errorf("%s: %.300s has no %s", what, got, want)
		}
	}
}

func TestConversation(t *testing.T) {
	events := filepath.Join(t.TempDir(), "events")
	a := start(t, "-events", events, "-instructions", "Say hello.")
	contains(t, "initialize", a.Initialize(), `"protocolVersion":"2025-11-25"`, `"name":"fake-server"`, `"instructions":"Say hello."`)
	contains(t, "tools/list", a.Ask("tools/list", ""), `"tools":[{"name":"echo"`, `"name":"ask"`)
	contains(t, "echo", a.Call("echo", `{"n": 9007199254740993,"f":1.0}`), `"structuredContent":{"n": 9007199254740993,"f":1.0}`)
	contains(t, "unknown tool", a.Call("other", `{"a":1}`), `{"a":1}`)
	contains(t, "no arguments", a.Call("echo", ""), `"text":""`)
	contains(t, "fail", a.Call("fail", `{"text":"no"}`), `"isError":true`, `"no"`)
	contains(t, "raw", a.Call("raw", `{"result":{"x":[1e400]}}`), `{"x":[1e400]}`)
	if n := len(a.Call("big", `{"bytes":100000}`)); n < 100000 {
		t.Errorf("big: %d bytes", n)
	}
	contains(t, "env", a.Call("env", ""), `"pid":`+strconv.Itoa(a.PID()), `"PATH"`)
	contains(t, "prompts/get", a.Ask("prompts/get", `{"name":"p"}`), `{"echo":{"name":"p"}}`)
	m := a.Expect(a.Request("tools/call", CallParams("rpcerror", `{"error":{"code":-32002,"message":"m","data":1.0}}`)))
	contains(t, "rpcerror", m.ErrorBytes(), `"code":-32002`, `"data":1.0`)
	contains(t, "unknown method", a.Expect(a.Request("no/such", "")).ErrorBytes(), "-32601")
	a.Send("{not json")
	contains(t, "not JSON", a.Expect("null").ErrorBytes(), "-32700")
	if status := a.Close(); status != 0 {
		t.Errorf("ended with %d", status)
	}
	if calls := Events(t, events, "call"); len(calls) != 8 || calls[1].Data != `other {"a":1}` || calls[0].PID != a.PID() {
		t.Errorf("calls %+v", calls)
	}
	if len(Events(t, events, "clean")) != 1 || len(Events(t, events, "start")) != 1 {
		t.Errorf("events %+v", Events(t, events, ""))
	}
}

func TestNotificationsAndRequests(t *testing.T) {
	events := filepath.Join(t.TempDir(), "events")
	a := start(t, "-events", events)
	a.Initialize()
	a.Expect(a.Request("tools/call", `{"name":"progress","arguments":{"steps":2,"text":"t"},"_meta":{"progressToken":"\u0061"}}`))
	for i := 1; i <= 2; i++ {
		contains(t, "progress", a.ExpectNotification("notifications/progress").ParamsBytes(), `"progressToken":"\u0061","progress":`+strconv.Itoa(i), `"message":"t"`)
	}
	a.Call("change", `{"tools":[{"name":"only", "inputSchema":{}}]}`)
	a.ExpectNotification("notifications/tools/list_changed")
	contains(t, "changed list", a.Ask("tools/list", ""), `{"tools":[{"name":"only", "inputSchema":{}}]}`)

	id := a.Request("tools/call", CallParams("ask", `{"method":"roots/list","params":{"a":1}}`))
	q := a.ExpectRequest("roots/list")
	a.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[]}}`, q.IDBytes()))
	contains(t, "ask", a.Expect(id).ResultBytes(), `"result":{"roots":[]}`)

	slow, late := a.Request("tools/call", CallParams("slow", `{"ms":60000}`)), a.Request("tools/call", CallParams("late", ""))
	WaitEvents(t, events, "call", 5)
	for _, id := range []string{slow, late} {
		a.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`)
	}
	contains(t, "late", a.Expect(late).ResultBytes(), "too late")
	WaitEvents(t, events, "cancelled", 2)
	a.Call("notify", `{"method":"notifications/message","params":{"data":1},"times":3}`)
	for range 3 {
		a.ExpectNotification("notifications/message")
	}
	twice := a.Request("tools/call", CallParams("twice", ""))
	contains(t, "first", a.Expect(twice).ResultBytes(), "first")
	contains(t, "second", a.Expect(twice).ResultBytes(), "second")
}

func TestListsAndPages(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list.json")
	if err := os.WriteFile(list, []byte(`[ {"name":"a","x":1.0}, {"name":"b"},{"name":"c"} ]`), 0o600); err != nil {
		t.Fatal(err)
	}
	a := start(t, "-tools", list, "-prompts", list, "-templates", list, "-page", "2", "-ttl", "5000")
	contains(t, "initialize", a.Initialize(), `"prompts":{}`, `"resources":{`)
	contains(t, "page 1", a.Ask("tools/list", ""), `{"tools":[{"name":"a","x":1.0},{"name":"b"}],"nextCursor":"2","ttlMs":5000`)
	contains(t, "page 2", a.Ask("tools/list", `{"cursor":"2"}`), `{"tools":[{"name":"c"}],"ttlMs"`)
	contains(t, "templates", a.Ask("resources/templates/list", ""), `{"resourceTemplates":[{`)
	contains(t, "resources", a.Ask("resources/list", ""), `{"resources":[]`)
	broken := start(t, "-fault", "list-error=no index")
	contains(t, "list-error", broken.Expect(broken.Request("tools/list", "")).ErrorBytes(), `"code":-32603`, `"message":"no index"`)
	contains(t, "loop", start(t, "-cursor-loop").Ask("tools/list", `{"cursor":"0"}`), `"nextCursor":"0"`)
}

func TestEras(t *testing.T) {
	const meta = `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`
	code := func(a *Agent, method, params, want string) {
		t.Helper()
		contains(t, method+params, a.Expect(a.Request(method, params)).ErrorBytes(), want)
	}
	legacy := start(t, "-protocol", "2024-11-05")
	contains(t, "older revision", legacy.Initialize(), `"protocolVersion":"2024-11-05"`)
	code(legacy, "server/discover", meta, "-32601")
	modern := start(t, "-era", "modern")
	code(modern, "initialize", "", "-32601")
	code(modern, "server/discover", "", "-32602")
	code(modern, "tools/list", strings.Replace(meta, "2026", "2027", 1), "-32022")
	contains(t, "discover", modern.Ask("server/discover", meta), `"supportedVersions":["2026-07-28"]`)
	code(modern, "ping", meta, "-32601")
	contains(t, "call", modern.Ask("tools/call", `{"name":"fail",`+meta[1:]), `"resultType":"complete"`)
	dual := start(t, "-era", "dual")
	dual.Ask("server/discover", meta)
	dual.Initialize()
	dual.Ask("ping", "")
}

// raw runs the fake with one request and returns all of its stdout and its status.
func raw(t *testing.T, request string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	c := exec.Command(FakeServerCommand(t), args...)
	c.Stdin = strings.NewReader(request + "\n")
	var out, errs strings.Builder
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	if exit, ok := err.(*exec.ExitError); err != nil && !ok {
		t.Fatal(err)
	} else if ok {
		status = exit.ExitCode()
	}
	return out.String(), errs.String(), status
}

func TestFaults(t *testing.T) {
	const ping, pong = `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`
	tests := []struct {
		faults, stdout, stderr string
		status                 int
	}{
		{"banner", noise + pong + "\n", "", 0},
		{"banner=Hello", "Hello\n" + pong + "\n", "", 0},
		{"noise=2", "[info] something happened\n[info] something happened\n" + pong + "\n", "", 0},
		{"bom crlf", "\ufeff" + pong + "\r\n", "", 0},
		{"stderr=150", pong + "\n", strings.Repeat("e", 99) + "\n" + strings.Repeat("e", 50), 0},
		{"stderr-line=boom exit-at-start=7", "", "boom\n", 7},
		{"start-delay=1ms", pong + "\n", "", 0},
		{"nonsense", "", "invalid value", 2},
	}
	for _, tt := range tests {
		var args []string
		for f := range strings.FieldsSeq(tt.faults) {
			args = append(args, "-fault", f)
		}
		stdout, stderr, status := raw(t, ping, args...)
		if stdout != tt.stdout || !strings.HasPrefix(stderr, tt.stderr) || status != tt.status {
			t.Errorf("%s: %q, %q, %d", tt.faults, stdout, stderr, status)
		}
	}
	if _, _, status := raw(t, ping, "-life", "1ms", "-fault", "ignore-eof"); status != 3 {
		t.Errorf("-life ended with %d", status)
	}
	if _, _, status := raw(t, ping, "-era", "odd"); status != 2 {
		t.Error("an unknown era was taken")
	}
	if _, _, status := raw(t, ping, "extra"); status != 2 {
		t.Error("an argument was ignored")
	}
}

func TestHandshakeFaults(t *testing.T) {
	a := start(t, "-fault", "no-initialize", "-fault", "exit-on-discover=4", "-era", "dual")
	a.Request("initialize", "{}")
	a.Ask("ping", "")
	a.Request("server/discover", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`)
	if status := a.Wait(); status != 4 {
		t.Errorf("ended with %d", status)
	}
	for _, m := range a.Lines() {
		if string(m.IDBytes()) != "2" {
			t.Errorf("answered %s", m.Raw)
		}
	}
	b := start(t, "-fault", `initialize={"protocolVersion":"1999-01-01"}`)
	contains(t, "initialize", b.Initialize(), `{"protocolVersion":"1999-01-01"}`)
}

func TestEndings(t *testing.T) {
	call := func(tool, args string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + CallParams(tool, args) + `}`
	}
	// -life ends those that wait for ever: they must not end by EOF before the call.
	run := func(tool, args string) (string, string, int) {
		return raw(t, call(tool, args), "-fault", "ignore-eof", "-life", "10s")
	}
	if out, stderr, status := run("exit", `{"status":9,"stderr":"last words"}`); out != "" || stderr != "last words\n" || status != 9 {
		t.Errorf("exit: %q %q %d", out, stderr, status)
	}
	if out, _, status := run("half", ""); out != `{"jsonrpc":"2.0","id":1,` || status != 0 {
		t.Errorf("half: %q %d", out, status)
	}
}

func TestWrite(t *testing.T) {
	server, client := newPipes()
	go func() { // ends when the test closes stdin
		Server(nil, server.r, server.w, io.Discard)
		server.w.Close()
	}()
	a := Connect(t, client.r, client.w)
	a.Initialize()
	id := a.Request("tools/call", CallParams("write", `{"line":"{\"jsonrpc\":\"2.0\",\"id\":$ID,\"error\":{}}","answer":true}`))
	if m := a.Expect(id); !m.Error.Ok() {
		t.Errorf("first came %s", m.Raw)
	}
	contains(t, "answer", a.Expect(id).ResultBytes(), "done")
	a.Request("tools/call", CallParams("write", `{"hex":"5b7b226a736f6e727063223a22322e30227d5d"}`))
	contains(t, "hex", a.ExpectBatch().Raw, `[{"jsonrpc":"2.0"}]`)
	a.Request("tools/call", CallParams("write", `{"hex":"5b7b226a736f6e727063223a22322e30227d5d0a","bare":true,"times":2}`))
	a.ExpectBatch()
	a.ExpectBatch()
	b := start(t)
	b.Call("write", `{"line":"x","times":2,"stderr":true,"answer":true}`)
	if !Eventually(func() bool { return b.Stderr() == "x\nx\n" }) {
		t.Errorf("stderr: %q", b.Stderr())
	}
}

func TestStopReading(t *testing.T) {
	events := filepath.Join(t.TempDir(), "events")
	a := start(t, "-events", events, "-fault", "stop-reading=tools/call")
	a.Initialize()
	a.Ask("tools/list", "")
	a.Call("echo", "")
	id := a.Request("ping", "")
	a.Hangup()
	for _, m := range a.Lines() {
		if string(m.IDBytes()) == id {
			t.Errorf("answered %s", m.Raw)
		}
	}
	if n := len(Events(t, events, "clean")); n != 0 {
		t.Error("the end was read")
	}
}

type pipes struct {
	r io.ReadCloser
	w io.WriteCloser
}

func newPipes() (server, client pipes) {
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	return pipes{r1, w2}, pipes{r2, w1}
}
