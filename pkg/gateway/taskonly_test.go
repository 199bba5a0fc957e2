package gateway

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"postern/pkg/mcptest"
)

const choreTools = `[{"name":"echo","inputSchema":{"type":"object"}},
{"name":"choreneeded","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}},
{"name":"chorepossible","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}]`

// R73: a tool of a legacy server that is called as a task only is not there for
// requests of the modern era, whose tasks are others, by whatever path; legacy
// requests see it, on the same connection too, and so does everybody where the
// server is modern.
func TestTaskOnlyToolsAreOfTheLegacyEra(t *testing.T) {
	for _, mode := range []string{full, lazy} {
		for _, era := range []string{"legacy", "modern"} {
			t.Run(mode+" "+era, func(t *testing.T) {
				t.Parallel()
				yaml := strings.Replace(plainConfig, "args: [", "args: [-era, "+era+", -tools, $WORK/tools.json, ", 1)
				w := newWorld(t, strings.Replace(yaml, "exposure: full", "exposure: "+mode, 1), map[string]string{"tools.json": choreTools})
				a := w.connect(Options{})
				a.Initialize()
				seesChore(t, a, mode, true)
				b := w.connect(Options{})
				b.Modern("{}")
				seesChore(t, b, mode, era == "modern")
				a.Modern("{}")
				if list := a.Ask("tools/list", ""); mode == full && bytes.Contains(list, []byte("choreneeded")) != (era == "modern") {
					t.Errorf("a modern request of a legacy agent sees %s", list)
				}
				for _, call := range mcptest.Events(t, w.path("events"), "call") {
					if era == "legacy" && strings.Contains(call.Data, "choreneeded") {
						t.Errorf("the server was called: %s", call.Data)
					}
				}
			})
		}
	}
}

// seesChore looks for a tool that needs a task by every path there is.
func seesChore(t *testing.T, a *mcptest.Agent, mode string, want bool) {
	t.Helper()
	seen := map[string][]byte{"the list": a.Ask("tools/list", "")}
	if mode == lazy {
		delete(seen, "the list")
		seen["a search"] = a.Call("search_tools", `{"query":"choreneeded"}`)
		seen["a search for all"] = a.Call("search_tools", `{"limit":100}`)
		seen["a description"] = a.Call("describe_tool", `{"name":"fake__choreneeded"}`)
	}
	for path, got := range seen {
		found := bytes.Contains(got, []byte("fake__choreneeded")) && !bytes.Contains(got, []byte("unknown_tool"))
		if found != want {
			t.Errorf("%s has it: %v\n%s", path, found, got)
		}
		if (path == "the list" || path == "a search for all") && !bytes.Contains(got, []byte("fake__chorepossible")) {
			t.Errorf("%s lacks the other: %s", path, got)
		}
	}
	if want {
		return
	}
	const params = `{"name":"fake__choreneeded","arguments":{}}`
	if m := a.Expect(a.Request("tools/call", params)); !bytes.Contains(m.ErrorBytes(), []byte(`"word":"unknown_tool"`)) {
		t.Errorf("a call was answered %s", m.Raw)
	}
	if mode == lazy {
		if m := a.Expect(a.Request("tools/call", fmt.Sprintf(`{"name":"call_tool","arguments":%s}`, params))); !bytes.Contains(m.ErrorBytes(), []byte(`"word":"unknown_tool"`)) {
			t.Errorf("call_tool was answered %s", m.Raw)
		}
	}
	if told := a.Ask("server/discover", ""); bytes.Contains(told, []byte("choreneeded")) || !bytes.Contains(told, []byte("2 tools")) {
		t.Errorf("server/discover: %s", told)
	}
}
