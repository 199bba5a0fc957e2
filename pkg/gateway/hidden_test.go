package gateway

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"postern/pkg/calllog"
	"postern/pkg/mcptest"
	"postern/pkg/wire"
)

// rows are the rows that were written, once there are n of them.
func (w *world) rows(n int) (rows []calllog.Row) {
	w.t.Helper()
	read := func() bool {
		rows = nil
		files, err := filepath.Glob(w.path("state/calls/*.jsonl"))
		if err != nil {
			w.t.Fatal(err)
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				w.t.Fatal(err)
			}
			for line := range bytes.Lines(data) {
				if !bytes.HasSuffix(line, []byte("\n")) {
					break // a row that is being written
				}
				var r calllog.Row
				if err := json.Unmarshal(line, &r); err != nil {
					w.t.Fatalf("%v in %s", err, line)
				}
				rows = append(rows, r)
			}
		}
		return len(rows) >= n
	}
	if !mcptest.Eventually(read) {
		w.t.Fatalf("%d rows of %d", len(rows), n)
	}
	return rows
}

// secretTools lists tools with a word in everything that could show them.
const secretTools = `[{"name":"open_sesame","title":"Sesame","description":"Sesame opens.","inputSchema":{"type":"object","properties":{"sesame":{}}}},` +
	`{"name":"open_door","description":"Opens a door.","inputSchema":{"type":"object"}}]`

// A tool that may not be used is unreachable and invisible by every path: list,
// instructions, search, describe, call_tool, a direct call, and the names that a
// mistake is answered with (R54, R64, MB-204).
func TestDeniedToolsAreHiddenByEveryPath(t *testing.T) {
	servers := "version: 1\nservers:\n  fake: {command: $FAKE, args: [-events, $WORK/events, -tools, $WORK/tools.json]%s}\n  open: {command: $FAKE, args: [-tools, $WORK/open.json]}\n"
	for name, c := range map[string]struct {
		server, policy string
		level, reason  string
	}{
		"denied by name":     {"", `servers: ["*"], allow: [read, write], deny: ["fake/*sesame*"]`, "2", "denied_by"},
		"not in tools":       {"", `servers: ["*"], allow: [read, write], tools: ["*/open_door"]`, "2", "not_permitted"},
		"not of an own tier": {", read_tools: [open_door], execute_tools: [open_sesame]", `servers: ["*"], allow: [read, write]`, "2", "not_permitted"},
		"above the level":    {", read_tools: [open_door]", `servers: ["*"], allow: [read, write]`, "1", "not_permitted"},
		"server not named":   {"", `servers: [open], allow: [read, write]`, "2", "not_permitted"},
		"denied command":     {"", `servers: ["*"], allow: [read, write], deny: ["exec:*tools.json*"]`, "2", "denied_by"},
	} {
		for _, mode := range []string{full, lazy} {
			t.Run(name+" "+mode, func(t *testing.T) {
				t.Parallel()
				yaml := strings.Replace(servers, "%s", c.server, 1) + "policies:\n  p: {" + c.policy + ", exposure: " + mode + "}\ndefaults: {policy: p, trust_level: " + c.level + "}\n"
				w := newWorld(t, yaml, map[string]string{"tools.json": secretTools, "open.json": `[{"name":"open_door","inputSchema":{"type":"object"}}]`})
				first := w.connect(Options{})
				first.Initialize()
				first.Ask("tools/list", "")
				checkHidden(t, w.connect(Options{}), c.reason)
				for _, call := range mcptest.Events(t, w.path("events"), "call") {
					t.Errorf("the server was called: %s", call.Data)
				}
			})
		}
	}
}

// checkHidden goes every path that an agent has and looks for the word; where the
// tool is named it wants the refusal to have this reason.
func checkHidden(t *testing.T, a *mcptest.Agent, reason string) {
	t.Helper()
	never := func(path string, answer []byte) {
		if bytes.Contains(bytes.ToLower(answer), []byte("sesame")) {
			t.Errorf("%s: %.400s", path, answer)
		}
	}
	never("initialize", a.Initialize())
	never("list", a.Ask("tools/list", ""))
	for _, args := range []string{`{}`, `{"limit":100}`, `{"query":"sesa","limit":100}`, `{"query":"open","detail":"full"}`, `{"server":"fake"}`, `{"query":"fake__open_sesame"}`} {
		never("search "+args, a.Call("search_tools", args))
	}
	for _, near := range []string{"fake__open_sesa", "fake__open_sesam", "open_sesam"} {
		line := a.Expect(a.Request("tools/call", mcptest.CallParams(near, "{}"))).Raw
		never("nearest to "+near, bytes.ReplaceAll(line, []byte(near), nil))
		var e struct {
			Error struct{ Data struct{ Remedy string } }
		}
		if err := json.Unmarshal(line, &e); err != nil || strings.Contains(e.Error.Data.Remedy, "sesame") {
			t.Errorf("%s", line)
		}
	}
	// Asked for by its name it is refused by its name, and nothing more is told.
	about := [][]byte{[]byte("Sesame"), []byte("properties"), []byte("opens")}
	for path, line := range map[string][]byte{
		"describe":  a.Expect(a.Request("tools/call", mcptest.CallParams("describe_tool", `{"name":"fake__open_sesame"}`))).Raw,
		"call_tool": a.Expect(a.Request("tools/call", mcptest.CallParams("call_tool", `{"name":"fake__open_sesame","arguments":{}}`))).Raw,
		"direct":    a.Expect(a.Request("tools/call", mcptest.CallParams("fake__open_sesame", `{}`))).Raw,
	} {
		if !bytes.Contains(line, []byte(`"policy_denied"`)) || !bytes.Contains(line, []byte(`"reason":"`+reason+`"`)) {
			t.Errorf("%s, want %s: %s", path, reason, line)
		}
		for _, word := range about {
			if bytes.Contains(line, word) {
				t.Errorf("%s tells %s: %s", path, word, line)
			}
		}
	}
}

// R64: of a project's server that nobody approved an agent is shown id, status
// and remedy by every path, and it starts nothing.
func TestUntrustedServersAreNamedOnly(t *testing.T) {
	repository := `{"mcpServers":{"Sesame Opener":{"command":"$FAKE","args":["-events","$WORK/events","-tools","$WORK/tools.json"]}}}`
	w := newWorld(t, "version: 1\nservers: {}\npolicies:\n  p: {servers: [\"*\"], exposure: lazy}\ndefaults: {policy: p, trust_level: 2}\n",
		map[string]string{"project/.git/HEAD": "", "project/.mcp.json": repository, "tools.json": secretTools})
	project, err := filepath.EvalSymlinks(w.path("project"))
	if err != nil {
		t.Fatal(err)
	}
	a := w.connect(Options{Project: project})
	a.Initialize()
	a.Ask("tools/list", "")
	found := foundTools(t, a.Call("search_tools", `{"query":"sesame"}`))
	if len(found.Tools) != 0 || len(found.Servers) != 1 || found.Servers[0].Status != "untrusted" || !strings.HasPrefix(found.Servers[0].Remedy, "ask the user to run: mcp-trust allow ") {
		t.Fatalf("%+v", found)
	}
	id := found.Servers[0].Server
	if strings.Contains(id, " ") {
		t.Errorf("the id is not mapped: %s", id)
	}
	for path, line := range map[string][]byte{
		"server":    a.Call("search_tools", `{"server":"`+id+`","detail":"full"}`),
		"list":      a.Call("search_tools", `{}`),
		"describe":  a.Call("describe_tool", `{"name":"`+id+`__open_door"}`),
		"call_tool": a.Expect(a.Request("tools/call", mcptest.CallParams("call_tool", `{"name":"`+id+`__open_door"}`))).ErrorBytes(),
	} {
		if !bytes.Contains(line, []byte("mcp-trust allow")) || bytes.Contains(line, []byte("Opens a door")) || bytes.Contains(line, []byte("tools.json")) {
			t.Errorf("%s: %s", path, line)
		}
	}
	if n := len(mcptest.Events(t, w.path("events"), "start")); n != 0 {
		t.Errorf("%d starts", n)
	}
}

// R40, R68: a call through call_tool is one row, the real tool's, like a direct
// one but for via; the gateway's own tools have rows of their own.
func TestRowsOfOwnTools(t *testing.T) {
	w := newWorld(t, strings.Replace(plainConfig, "exposure: full", `deny: ["fake/env"], exposure: lazy`, 1), nil)
	a := w.connect(Options{})
	a.Initialize()
	calls := []struct{ tool, args, row string }{
		{"fake__echo", `{"a":1}`, "fake echo direct read ok"},
		{"call_tool", `{"name":"fake__echo","arguments":{"a":1}}`, "fake echo call_tool read ok"},
		{"call_tool", `{"name":"fake__fail","arguments":{"text":"x"}}`, "fake fail call_tool write tool_error"},
		{"call_tool", `{"name":"fake__env"}`, "fake env call_tool read denied"},
		{"call_tool", `{"name":"nobody"}`, " nobody call_tool  denied"},
		{"search_tools", `{"query":"x"}`, "gateway search_tools gateway read ok"},
		{"describe_tool", `{"name":"fake__env"}`, "gateway describe_tool gateway read tool_error"},
		{"gateway__read_result", `{"id":"x"}`, "gateway read_result gateway read tool_error"},
		{"call_tool", `{"name":"search_tools"}`, "gateway search_tools gateway read ok"},
		{"call_tool", `{"name":""}`, "gateway call_tool gateway read tool_error"},
	}
	for i, c := range calls {
		a.Expect(a.Request("tools/call", mcptest.CallParams(c.tool, c.args)))
		rows := w.rows(i + 1)
		r := rows[len(rows)-1]
		got := strings.Join([]string{r.Upstream, r.Tool, r.Via, r.Tier, string(r.Outcome)}, " ")
		if len(rows) != i+1 || got != c.row {
			t.Errorf("%s %s: %d rows, the last %s, want %s", c.tool, c.args, len(rows), got, c.row)
		}
	}
	rows := w.rows(len(calls))
	if rows[0].ArgsHash == "" || rows[0].ArgsHash != rows[1].ArgsHash || rows[0].Launch != rows[1].Launch {
		t.Errorf("the same call, directly and through call_tool: %+v %+v", rows[0], rows[1])
	}
}

// R45: a cancellation of call_tool reaches the server with its reason, and the
// call gets no answer.
func TestCancelThroughCallTool(t *testing.T) {
	w := newWorld(t, plainConfig, nil)
	a := w.connect(Options{})
	a.Initialize()
	id := a.Request("tools/call", mcptest.CallParams("call_tool", `{"name":"fake__late","get":"content"}`))
	mcptest.WaitEvents(t, w.path("events"), "call", 1)
	a.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"enough"}}`)
	if heard := mcptest.WaitEvents(t, w.path("events"), "cancelled", 1); !strings.Contains(heard[0].Data, "enough") {
		t.Errorf("the server heard %q", heard[0].Data)
	}
	a.Call("fake__echo", `{}`)
	for _, m := range a.Lines() {
		if m.Kind == wire.Response && string(m.IDBytes()) == id {
			t.Errorf("a cancelled call was answered: %s", m.Raw)
		}
	}
}

// A policy may take call_tool itself away: then nothing is called through it, and
// the row says what was refused.
func TestCallToolDenied(t *testing.T) {
	for pattern, word := range map[string]string{`deny: ["gateway/call_tool"]`: "policy_denied", `ask: ["gateway/*"]`: "approval_required"} {
		w := newWorld(t, strings.Replace(plainConfig, "exposure: full", pattern+", exposure: lazy", 1), nil)
		a := w.connect(Options{})
		a.Initialize()
		line := a.Expect(a.Request("tools/call", mcptest.CallParams("call_tool", `{"name":"fake__echo"}`))).ErrorBytes()
		if !bytes.Contains(line, []byte(`"`+word+`"`)) {
			t.Errorf("%s: %s", pattern, line)
		}
		if r := w.rows(1); len(r) != 1 || r[0].Upstream != "gateway" || r[0].Tool != "call_tool" || r[0].Word != word {
			t.Errorf("%s: %+v", pattern, r)
		}
		for _, call := range mcptest.Events(t, w.path("events"), "call") {
			t.Errorf("%s: the server was called: %s", pattern, call.Data)
		}
	}
}
