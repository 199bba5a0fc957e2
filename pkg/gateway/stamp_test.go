package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"postern/pkg/call"
	"postern/pkg/calllog"
	"postern/pkg/config"
	"postern/pkg/mcptest"
)

// stamper is a bridge as far as ids of rows go: it puts one before each line.
type stamper struct {
	to io.WriteCloser

	mu  sync.Mutex
	ids []string // given so far
}

func (s *stamper) Write(line []byte) (int, error) {
	id := calllog.NewID(time.Now())
	s.mu.Lock()
	s.ids = append(s.ids, id)
	s.mu.Unlock()
	if _, err := s.to.Write(append([]byte(id+" "), line...)); err != nil {
		return 0, err
	}
	return len(line), nil
}

func (s *stamper) Close() error { return s.to.Close() }

// last is the id of the line that was sent last.
func (s *stamper) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ids[len(s.ids)-1]
}

// behindBridge is connect for an agent whose lines are stamped on their way.
func (w *world) behindBridge(o Options) (*mcptest.Agent, *stamper) {
	w.t.Helper()
	in, toGateway := io.Pipe()
	fromGateway, out := io.Pipe()
	s := &stamper{to: toGateway}
	o.Stamped = true
	w.ends.Add(1)
	go func() { // ends with the session
		defer w.ends.Done()
		if err := w.g.Serve(context.Background(), in, out, o); err != nil {
			w.t.Errorf("Serve: %v", err)
		}
		out.Close()
	}()
	a := mcptest.Connect(w.t, fromGateway, s)
	w.agents = append(w.agents, a)
	return a, s
}

// byID is the rows of a log that is closed.
func (w *world) byID() map[string]calllog.Row {
	w.t.Helper()
	rows := map[string]calllog.Row{}
	for _, r := range w.rows(0) {
		if _, twice := rows[r.ID]; twice {
			w.t.Errorf("two rows have the id %s", r.ID)
		}
		rows[r.ID] = r
	}
	return rows
}

// C81: each row has the id that its request came with, of whatever kind that is,
// and servers and agents see nothing of it.
func TestRowsOfABridge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainConfig, nil)
	id := calllog.NewID(time.Now())
	a, bridge := w.behindBridge(Options{Session: id})
	a.Initialize()
	want := map[string]string{}
	for _, c := range []struct{ method, params, tool string }{
		{"tools/call", mcptest.CallParams("fake__echo", `{"text":"x"}`), "echo"},
		{"tools/call", mcptest.CallParams("fake__none", "{}"), "none"},
		{"tools/call", mcptest.CallParams("call_tool", `{"name":"fake__fail","arguments":{}}`), "fail"},
		{"tools/call", mcptest.CallParams("search_tools", "{}"), "search_tools"},
		{"prompts/get", `{"name":"fake__none"}`, "none"},
		{"resources/read", `{"uri":"fake://none"}`, "fake://none"},
		{"resources/read", `{"uri":"postern://results/00000000000000000000000000000000"}`, ""},
		{"vendor/method", "{}", ""},
	} {
		request := a.Request(c.method, c.params)
		want[bridge.last()] = c.tool
		a.Expect(request)
	}
	a.Ask("ping", "{}") // without a row
	a.Ask("tools/list", "{}")
	a.Hangup()
	w.ends.Wait()
	w.host.Close()
	rows := w.byID()
	for id, tool := range want {
		r, ok := rows[id]
		if !ok || tool != "" && r.Tool != tool {
			t.Errorf("%s has %+v (%v)", tool, r, ok)
		}
	}
	for _, r := range rows {
		if _, ok := want[r.ID]; !ok || r.Session != id {
			t.Errorf("a row of no request: %+v", r)
		}
	}
	for _, e := range mcptest.Events(t, w.path("events"), "recv") {
		for id := range want {
			if strings.Contains(e.Data, id) {
				t.Errorf("the server was sent %s", e.Data)
			}
		}
	}
}

// Of a batch the first request has the stamp; the others get ids of the log (R5).
func TestBatchOfABridge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainConfig, nil)
	a, bridge := w.behindBridge(Options{})
	a.InitializeAs("2025-03-26", "{}")
	call := func(id string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":` + mcptest.CallParams("fake__echo", "{}") + `}`
	}
	a.Send("[" + call("1") + "," + call("2") + "]")
	stamp := bridge.last()
	a.ExpectBatch()
	a.Hangup()
	w.ends.Wait()
	w.host.Close()
	if rows := w.byID(); len(rows) != 2 || rows[stamp].Tool != "echo" {
		t.Errorf("%+v", rows)
	}
}

// The first is the first whatever it asks for, as bridges count (C81).
func TestBatchWhoseFirstRequestHasNoRow(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"ping", "initialize", "tools/list"} {
		w := newWorld(t, plainConfig, nil)
		a, bridge := w.behindBridge(Options{})
		a.InitializeAs("2025-03-26", "{}")
		a.Send(`[{"jsonrpc":"2.0","id":1,"method":"` + first + `"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":` + mcptest.CallParams("fake__echo", "{}") + `}]`)
		stamp := bridge.last()
		a.ExpectBatch()
		a.Hangup()
		w.ends.Wait()
		w.host.Close()
		if rows := w.byID(); len(rows) != 1 || rows[stamp].ID != "" {
			t.Errorf("%s: the call has the stamp of another request: %+v", first, rows)
		}
	}
}

// A line without its stamp is no bridge's: the session is over.
func TestUnstampedLines(t *testing.T) {
	t.Parallel()
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	stamp := calllog.NewID(time.Now())
	for name, line := range map[string]string{
		"none": ping, "short": stamp[1:] + " " + ping, "no space": stamp + ping, "alone": stamp,
		"not of the alphabet": strings.ToUpper(stamp) + " " + ping, "a space before": " " + stamp + " " + ping,
	} {
		w := newWorld(t, plainConfig, nil)
		var out bytes.Buffer
		err := w.g.Serve(t.Context(), strings.NewReader(stamp+" "+ping+"\n"+line+"\n"+stamp+" "+ping+"\n"), &out, Options{Stamped: true})
		if !errors.Is(err, ErrStamp) || strings.Count(out.String(), "result") != 1 {
			t.Errorf("%s: %v, answers %s", name, err, out.Bytes())
		}
	}
}

// R1: the stamp does not count towards the longest message.
func TestLongestStampedLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainConfig, nil)
	a, _ := w.behindBridge(Options{})
	a.Initialize()
	request := func(id string, size int) string {
		line := `{"jsonrpc":"2.0","id":` + id + `,"method":"ping","params":{"x":""}}`
		return strings.Replace(line, `""`, `"`+strings.Repeat("x", size-len(line))+`"`, 1)
	}
	a.Send(request("77", config.AgentMessageBytes))
	a.Expect("77")
	a.Send(request("78", config.AgentMessageBytes+1))
	a.Send(request("79", 100))
	a.Expect("79")
	refused := false
	for _, m := range a.Lines() {
		refused = refused || strings.Contains(string(m.Raw), "longer than") && string(m.IDBytes()) == "null"
	}
	if !refused {
		t.Error("a message over the cap was taken")
	}
}

// What mcp-call asks of a hub comes back as it is: never cut, nothing added; its
// rows say so, and servers that are eager for agents are not for it (R69).
func TestWholeResults(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.Replace(plainConfig, "max_result_bytes: 0", "max_result_bytes: 1KiB", 1), nil)
	direct, shell := w.connect(Options{}), w.connect(Options{Via: "mcp-call", Whole: true})
	direct.Initialize()
	shell.Initialize()
	big := func(a *mcptest.Agent) string { return string(a.Call("fake__big", `{"bytes":100000}`)) }
	if n := len(big(direct)); n > 5000 {
		t.Errorf("the agent got %d bytes", n)
	}
	if n := len(big(shell)); n < 100000 {
		t.Errorf("the shell got %d bytes", n)
	}
	const structured = `{"content":[],"structuredContent":{"a":1}}`
	raw := func(a *mcptest.Agent) string { return string(a.Call("fake__raw", `{"result":`+structured+`}`)) }
	if got := raw(direct); !strings.Contains(got, `"text"`) {
		t.Errorf("the agent got %s", got)
	}
	if got := raw(shell); got != structured {
		t.Errorf("the shell got %s", got)
	}
	if got := string(shell.Call("call_tool", `{"name":"fake__raw","arguments":{"result":`+structured+`},"get":"structuredContent.a"}`)); !strings.Contains(got, `"1"`) {
		t.Errorf("get found %s", got)
	}
	if got := string(shell.Ask("tools/list", "{}")); strings.Contains(got, readResultName) {
		t.Error("there is nothing to read on in")
	}
	direct.Hangup()
	shell.Hangup()
	w.ends.Wait()
	w.host.Close()
	via := map[string]int{}
	for _, r := range w.byID() {
		via[r.Via]++
	}
	if via["direct"] != 2 || via["mcp-call"] != 2 || via[call.ViaCallTool] != 1 {
		t.Errorf("%v", via)
	}
}

// Eager servers are there for agents, not for one call of a shell (R21).
func TestEagerOfASession(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.Replace(plainConfig, "$WORK/events]", "$WORK/events], start: eager", 1), nil)
	shell, agent := w.connect(Options{Via: "mcp-call"}), w.connect(Options{Session: calllog.NewID(time.Now())})
	shell.Initialize()
	agent.Initialize()
	mcptest.WaitEvents(t, w.path("events"), "start", 1)
	wants := func() int { return len(w.host.Status().Servers[0].Sessions) }
	if !mcptest.Eventually(func() bool { return wants() > 0 }) {
		t.Fatal("no session wants it")
	}
	shell.Call("search_tools", "{}") // by now it had the time to want it as well
	if n := wants(); n != 1 {
		t.Errorf("%d sessions want it", n)
	}
}

// What an agent was asked for reaches its own servers (C30).
func TestEnvironOfASession(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.Replace(plainConfig, "$WORK/events]", `$WORK/events], env: {GIVEN: "${KEY}"}, agent_env: [KEY]`, 1), nil)
	for _, key := range []string{"one", "two"} {
		a := w.connect(Options{Environ: []string{"KEY=" + key}})
		a.Initialize()
		if got := string(a.Call("fake__env", "{}")); !strings.Contains(got, `"GIVEN":"`+key+`"`) {
			t.Errorf("%s: %s", key, got)
		}
	}
}
