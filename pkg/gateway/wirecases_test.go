package gateway

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"postern/pkg/config"
	"postern/pkg/mcptest"
	"postern/pkg/wire"
)

// MB-069: result lines of every length up to the limit reach the agent whole; one
// beyond it fails its own call, and the next call is answered by the same process.
func TestMB069LongLines(t *testing.T) {
	w := newWorld(t, strings.Replace(plainConfig, "command: $FAKE,", "command: $FAKE, max_message_bytes: 8MiB,", 1), nil)
	a := w.connect(Options{})
	a.Initialize()
	a.Call("fake__echo", "{}")
	frame := len(a.Expect(a.Request("tools/call", mcptest.CallParams("fake__big", `{"bytes":0}`))).Raw)
	for _, size := range []int{65_535, 65_536, 65_537, 1 << 20, 8<<20 - 64} {
		m := a.Expect(a.Request("tools/call", mcptest.CallParams("fake__big", fmt.Sprintf(`{"bytes":%d}`, size-frame))))
		if len(m.Raw) != size {
			t.Errorf("a line of %d bytes came as %d: %.200s", size, len(m.Raw), m.Raw)
		}
	}
	m := a.Expect(a.Request("tools/call", mcptest.CallParams("fake__big", fmt.Sprintf(`{"bytes":%d}`, 8<<20))))
	if !bytes.Contains(m.Raw, []byte(`"isError":true`)) || !bytes.Contains(m.Raw, []byte("8388608 bytes (max_message_bytes)")) {
		t.Errorf("a line beyond the limit: %.300s", m.Raw)
	}
	a.Call("fake__echo", "{}")
	if n := len(mcptest.Events(t, w.path("events"), "start")); n != 1 {
		t.Errorf("%d processes", n)
	}
}

// MB-073, MB-081: what some take for line ends stays within its message, both
// ways, and members that are null stay null; each call is one row.
func TestMB073RoundTrip(t *testing.T) {
	w := newWorld(t, strings.Replace(plainConfig, "max_result_bytes: 0", "max_result_bytes: 64KiB", 1), nil)
	a := w.connect(Options{})
	a.Initialize()
	const odd = "a\u2028b\u2029c\u0085d\u000be\u00a0"
	results := []string{
		`{"content":[{"type":"text","text":"` + strings.ReplaceAll(odd, "\u000b", `\u000b`) + `"}]}`,
		`{"content":[{"type":"text","text":"x","annotations":null,"_meta":null}],"isError":null,"structuredContent":null,"_meta":null}`,
		`{"content":null,"structuredContent":{"nextCursor":null}, "isError":false}`,
	}
	for _, result := range results[:2] {
		arguments := `{"result":` + result + `}`
		if got := string(a.Call("fake__raw", arguments)); got != result {
			t.Errorf("%q became %q", result, got)
		}
		calls := mcptest.Events(t, w.path("events"), "call")
		if got := calls[len(calls)-1].Data; got != "raw "+arguments {
			t.Errorf("the server got %q", got)
		}
	}
	// The one that has no content gets its text (R69), and keeps the rest.
	if got := string(a.Call("fake__raw", `{"result":`+results[2]+`}`)); !strings.Contains(got, `"structuredContent":{"nextCursor":null}, "isError":false}`) {
		t.Errorf("%q became %q", results[2], got)
	}
	if rows := w.rows(len(results)); len(rows) != len(results) {
		t.Errorf("%d rows", len(rows))
	}
}

// MB-080: nothing is added to arguments and nothing taken out: null stays null, and
// what an agent leaves out is not there.
func TestMB080NullIsNotAbsent(t *testing.T) {
	tools := `[{"name":"echo","inputSchema":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string","default":"d"}},"additionalProperties":false}}]`
	w := newWorld(t, exposing(", exposure: full, max_result_bytes: 0"), map[string]string{"tools.json": tools})
	a := w.connect(Options{})
	a.Initialize()
	for _, arguments := range []string{`{"a":1,"b":null}`, `{"a":1}`, `{}`, `{"b":"","a":null}`, `{ "a" : 1.0 , "c":null}`} {
		for _, params := range []string{
			mcptest.CallParams("fake__echo", arguments), mcptest.CallParams("call_tool", `{"name":"fake__echo","arguments":`+arguments+`}`),
		} {
			if got := a.Ask("tools/call", params); !bytes.Contains(got, []byte(`"structuredContent":`+arguments)) {
				t.Errorf("%s: the server got %s", params, got)
			}
		}
	}
}

// MB-083: progress that nobody asked for, that goes backwards or comes after the
// answer harms nothing; the agent hears of its own request alone, and no more once
// that is answered.
func TestMB083UnknownProgress(t *testing.T) {
	w := newWorld(t, plainConfig, nil)
	a := w.connect(Options{})
	a.Initialize()
	note := func(token string, progress, after string) string {
		return fmt.Sprintf(`{"name":"fake__notify","arguments":{"method":"notifications/progress","after":%s,"params":{"progressToken":%s,"progress":%s}},"_meta":{"progressToken":"mine"}}`, after, token, progress)
	}
	for _, token := range []string{`"invented"`, `99999`, `null`, `{}`, `"mine"`} {
		a.Ask("tools/call", note(token, "1", "false"))
	}
	a.Ask("tools/call", note(`"$TOKEN"`, "5", "false"))
	a.Ask("tools/call", note(`"$TOKEN"`, "-1.0", "false"))
	a.Ask("tools/call", note(`"$TOKEN"`, "7", "true")) // its answer is there before
	if got := a.Call("fake__echo", `{"n":1}`); !bytes.Contains(got, []byte(`"n":1`)) {
		t.Errorf("%s", got)
	}
	var seen []string
	for _, m := range a.Lines() {
		if m.Kind == wire.Notification {
			seen = append(seen, string(m.ParamsBytes()))
		}
	}
	if want := `{"progressToken":"mine","progress":5} {"progressToken":"mine","progress":-1.0}`; strings.Join(seen, " ") != want {
		t.Errorf("the agent heard %q", seen)
	}
	if n := len(mcptest.Events(t, w.path("events"), "start")); n != 1 {
		t.Errorf("%d processes", n)
	}
}

// MB-103: a server whose cursors never come to an end is listed once, and its tools
// are there once each.
func TestMB103CursorLoop(t *testing.T) {
	w := newWorld(t, strings.Replace(plainConfig, "args: [", `args: [-page, "5", -cursor-loop, `, 1), nil)
	a := w.connect(Options{})
	a.Initialize()
	list := a.Ask("tools/list", "")
	if n := bytes.Count(list, []byte(`"name":"fake__`)); n == 0 || n != bytes.Count(list, []byte(`"name":"fake__echo"`))*n {
		t.Errorf("%d tools: %.400s", n, list)
	}
	if n := w.count("tools/list"); n > 3 || n > config.MaxListPages {
		t.Errorf("%d pages were asked for", n)
	}
}

// MB-115: server names count, a word that everything has does not hide anything,
// and a tool without a description is found.
func TestMB115SearchWords(t *testing.T) {
	w := newWorld(t, `version: 1
servers:
  jira: {command: $FAKE, args: [-tools, $WORK/tools.json]}
  mcp-github: {command: $FAKE, args: [-tools, $WORK/tools.json]}
`+strings.Replace(allowAll, "exposure: full", "exposure: lazy", 1), map[string]string{
		"tools.json": `[{"name":"search","description":"","inputSchema":{"type":"object"}},{"name":"mcp_close","inputSchema":{"type":"object"}}]`})
	a := w.connect(Options{})
	a.Initialize()
	a.Ask("tools/list", "")
	for query, want := range map[string]string{"jira search": "jira__search", "github": "mcp-github__", "github search": "mcp-github__search", "search": "jira__search", "mcp": ""} {
		found := foundTools(t, a.Call("search_tools", `{"query":"`+query+`"}`)).Tools
		if len(found) == 0 || !strings.HasPrefix(found[0].Name, want) {
			t.Errorf("%q finds %+v, want %s first", query, found, want)
		}
	}
}

// MB-117: of five tools the one with an odd schema is mended or left out, alone.
func TestMB117OddSchemas(t *testing.T) {
	for n, schema := range []string{`"inputSchema":true`, `"inputSchema":null`, `"x":1`, `"inputSchema":"object"`, `"inputSchema":{"type":["object","null"]}`, `"inputSchema":5`, `"inputSchema":{"type":"array"}`} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			var tools []string
			for i := range 5 {
				s := `"inputSchema":{"type":"object"}`
				if i == 2 {
					s = schema
				}
				tools = append(tools, fmt.Sprintf(`{"name":"t%d",%s}`, i, s))
			}
			w := newWorld(t, exposing(", exposure: full, max_result_bytes: 0"), map[string]string{"tools.json": "[" + strings.Join(tools, ",") + "]"})
			a := w.connect(Options{})
			a.Initialize()
			got := shows(t, a.Ask("tools/list", ""))
			if got != "fake__t0 fake__t1 fake__t3 fake__t4" && got != "fake__t0 fake__t1 fake__t2 fake__t3 fake__t4" {
				t.Errorf("%s: listed: %s", schema, got)
			}
			if strings.Contains(got, "fake__t2") {
				a.Call("fake__t2", `{"n":1}`)
			}
		})
	}
}
