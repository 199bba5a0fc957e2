package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"postern/pkg/mcptest"
)

// MB-077: ids that a careless reader takes for each other, all under way at the
// same time and answered in reverse, come back with their own results.
func TestMB077IDsAreNotMixed(t *testing.T) {
	w := newWorld(t, plainConfig, nil)
	a := w.connect(Options{})
	a.Initialize()
	ids := []string{`100`, `"100"`, `"abc"`, `9007199254740993`, `9007199254740992`, `""`, `"\u0031"`, `101e-1`}
	for i, id := range ids {
		a.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"fake__progress","arguments":{"steps":1,"ms":%d,"i":%d}}}`, id, 40*(len(ids)-i), i))
	}
	answered := map[string]int{}
	for range ids {
		m := a.Line(len(answered) + 1) // behind the answer to initialize
		answered[string(m.IDBytes())]++
		if m.Error.Ok() {
			t.Errorf("%s", m.Raw)
		}
	}
	for _, id := range ids {
		if answered[id] != 1 {
			t.Errorf("%d answers to %s: %v", answered[id], id, answered)
		}
	}
	calls := mcptest.Events(t, w.path("events"), "call")
	if len(calls) != len(ids) {
		t.Errorf("%d calls", len(calls))
	}
	last := a.Line(len(ids)).IDBytes()
	if string(last) != ids[0] {
		t.Errorf("the slowest is answered last, not %s", last)
	}
}

// MB-079: no arguments, in whichever way an agent says so, never reach a server
// as null; neither does what mcp-log would show of them.
func TestMB079NullArguments(t *testing.T) {
	w := newWorld(t, plainConfig, nil)
	a := w.connect(Options{})
	a.Initialize()
	for _, arguments := range []string{``, `,"arguments":null`, `,"arguments":{}`, `,"arguments": null `, `,"\u0061rguments":null`} {
		m := a.Expect(a.Request("tools/call", `{"name":"fake__echo"`+arguments+`}`))
		if m.Error.Ok() {
			t.Errorf("%s: %s", arguments, m.Raw)
		}
	}
	for _, e := range mcptest.Events(t, w.path("events"), "recv") {
		if strings.Contains(e.Data, "null") {
			t.Errorf("sent: %s", e.Data)
		}
	}
	for _, r := range w.rows(5) {
		if strings.Contains(string(r.Args), "null") {
			t.Errorf("logged: %s", r.Args)
		}
	}
}

// MB-204: a denied tool is reached under no other spelling of its name, directly
// or through call_tool; what is meant to be it is not told from what is not there.
func TestMB204OtherSpellings(t *testing.T) {
	w := newWorld(t, strings.Replace(plainConfig, "allow: [read, write, execute]", `allow: [read, write, execute], deny: ["fake/echo"]`, 1), nil)
	a := w.connect(Options{})
	a.Initialize()
	a.Call("fake__env", "")
	for _, name := range []string{
		"fake__echo", "FAKE__ECHO", "fake__Echo", "fake/echo", "fake.echo", "fake:echo", "echo", " fake__echo", "fake__echo ", "fake__echo\t", "fake__echo\x00",
		"fake__echo\n", "fake___echo", "__echo", "fake__", "mcp__postern__fake__echo", "postern__fake__echo", "fake__ｅcho", "fake__echo\u200b", "fake__\u0435cho", "",
	} {
		quoted, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		for how, params := range map[string]string{
			"directly":     `{"name":` + string(quoted) + `,"arguments":{"x":1}}`,
			"by call_tool": `{"name":"call_tool","arguments":{"name":` + string(quoted) + `,"arguments":{"x":1}}}`,
			"described":    `{"name":"describe_tool","arguments":{"name":` + string(quoted) + `}}`,
		} {
			m := a.Expect(a.Request("tools/call", params))
			if !m.Error.Ok() && !bytes.Contains(m.ResultBytes(), []byte(`"isError":true`)) {
				t.Errorf("%q %s: %s", name, how, m.Raw)
			}
			if bytes.Contains(m.Raw, []byte("Does echo")) {
				t.Errorf("%q %s tells of it: %s", name, how, m.Raw)
			}
		}
	}
	if calls := mcptest.Events(t, w.path("events"), "call"); len(calls) != 1 {
		t.Errorf("the server was called: %v", calls)
	}
}
