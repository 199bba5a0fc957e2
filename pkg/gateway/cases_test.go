package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"postern/pkg/config"
	"postern/pkg/mcptest"
)

// MB-119, MB-121, MB-122: $defs and $ref, combinators at the root and patterns
// that Go does not know come through verbatim in list, search and describe, and
// the tools can be called. Nothing is fetched for a $ref: there is no network
// code to do it with.
func TestMB119SchemasAreVerbatim(t *testing.T) {
	schemas := []string{
		`{"type":"object","$defs":{"Point":{"x": 1.0}},"definitions":{"Q":{}},"properties":{"a":{"$ref":"#/$defs/Point","title":"sibling"},"b":{"$ref":"https://example.invalid/x.json"}}}`,
		`{"type":"object","anyOf":[{"required":["id"]},{"required":["name"]}],"if":{"required":["id"]},"then":{"properties":{"id":{"minimum":1e400}}}}`,
		`{"type":"object","properties":{"a":{"pattern":"^(?!tmp-)[a-z]+$"},"b":{"pattern":"(?<=x)y"},"c":{"pattern":"[\\p{L}]+"},"d":{"pattern":"\\cA"},"e":{"pattern":"["}}}`,
	}
	var tools []string
	for i, s := range schemas {
		tools = append(tools, fmt.Sprintf(`{"name":"t%d","inputSchema":%s,"outputSchema":%s}`, i, s, s))
	}
	w := newWorld(t, exposing(", exposure: full"), map[string]string{"tools.json": "[" + strings.Join(tools, ",") + "]"})
	a := w.connect(Options{})
	a.Initialize()
	list := a.Ask("tools/list", "")
	for i, s := range schemas {
		name := "fake__t" + strconv.Itoa(i)
		if !bytes.Contains(list, []byte(`"inputSchema":`+s)) {
			t.Errorf("list: %s", list)
		}
		brief := foundTools(t, a.Call("search_tools", `{"query":"`+name+`","limit":1}`)).Tools[0]
		whole := foundTools(t, a.Call("search_tools", `{"query":"`+name+`","limit":1,"detail":"full"}`)).Tools[0]
		if string(brief.InputSchema) != s || brief.OutputSchema != nil || string(whole.InputSchema) != s || string(whole.OutputSchema) != s {
			t.Errorf("search: %s %s", brief.InputSchema, whole.OutputSchema)
		}
		if text := firstText(t, a.Call("describe_tool", `{"name":"`+name+`"}`)); strings.Count(text, s) != 2 {
			t.Errorf("describe: %s", text)
		}
		if got := a.Call("call_tool", `{"name":"`+name+`","arguments":{"name":"x"}}`); !bytes.Contains(got, []byte(`"structuredContent":{"name":"x"}`)) {
			t.Errorf("call: %s", got)
		}
	}
}

// MB-109: a tool that is gone is found no more, and a call of it says that there
// is none; a new one is found.
func TestMB109StaleIndex(t *testing.T) {
	tool := func(names ...string) string {
		var out []string
		for _, n := range append(names, "change") {
			out = append(out, `{"name":"`+n+`","inputSchema":{"type":"object"}}`)
		}
		return "[" + strings.Join(out, ",") + "]"
	}
	w := newWorld(t, exposing(", exposure: lazy"), map[string]string{"tools.json": tool("alpha", "beta")})
	a := w.connect(Options{})
	a.Initialize()
	a.Ask("tools/list", "")
	finds := func(query string) string {
		l := foundTools(t, a.Call("search_tools", `{"query":"`+query+`"}`))
		if len(l.Tools) == 0 {
			return ""
		}
		return l.Tools[0].Name
	}
	if finds("alpha") != "fake__alpha" || finds("gamma") != "" {
		t.Fatal("before the change")
	}
	a.Call("call_tool", `{"name":"fake__change","arguments":{"tools":`+tool("beta", "gamma")+`}}`)
	if !mcptest.Eventually(func() bool { return finds("gamma") == "fake__gamma" }) {
		t.Error("the new tool is not found")
	}
	if got := finds("alpha"); got != "" {
		t.Errorf("the old tool is found as %s", got)
	}
	line := a.Expect(a.Request("tools/call", mcptest.CallParams("call_tool", `{"name":"fake__alpha"}`))).ErrorBytes()
	if !bytes.Contains(line, []byte(`"unknown_tool"`)) {
		t.Errorf("%s", line)
	}
}

// MB-111: a catalog that another process writes is seen within a second or so,
// by search too.
func TestMB111CatalogOfAnotherProcess(t *testing.T) {
	w := newWorld(t, exposing(", exposure: lazy"), map[string]string{"tools.json": manyTools(2, 10)})
	first := w.connect(Options{})
	first.Initialize()
	first.Ask("tools/list", "")
	w.restart() // nothing runs: what is recorded counts
	a := w.connect(Options{})
	a.Initialize()
	a.Ask("tools/list", "")
	paths, err := filepath.Glob(w.path("cache/catalogs/*.json"))
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	data, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	data = bytes.Replace(data, []byte(`"name":"t1"`), []byte(`"name":"brand_new"`), 1)
	if err := os.WriteFile(paths[0]+".new", data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(paths[0]+".new", paths[0]); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if !mcptest.Eventually(func() bool {
		return len(foundTools(t, a.Call("search_tools", `{"query":"brand"}`)).Tools) == 1
	}) {
		t.Fatal("the new catalog is not seen")
	}
	if took := time.Since(begin); took > config.ConfigCheckEvery+2*time.Second {
		t.Errorf("it took %v", took)
	}
}

// MB-113: the order is that of the configuration, then the server's, whichever
// server was ready first.
func TestMB113OrderIsStable(t *testing.T) {
	var b strings.Builder
	b.WriteString("version: 1\nservers:\n")
	for i, delay := range []int{80, 0, 120, 40, 0} {
		fmt.Fprintf(&b, "  s%d: {command: $FAKE, args: [-tools, $WORK/tools.json, -fault, start-delay=%dms]}\n", 4-i, delay)
	}
	w := newWorld(t, b.String()+allowAll, map[string]string{"tools.json": `[{"name":"z","inputSchema":{"type":"object"}},{"name":"a","inputSchema":{"type":"object"}}]`})
	const want = "s4__z s4__a s3__z s3__a s2__z s2__a s1__z s1__a s0__z s0__a"
	for i := range 3 {
		a := w.connect(Options{})
		a.Initialize()
		if got := shows(t, a.Ask("tools/list", "")); got != want {
			t.Errorf("round %d: %s", i, got)
		}
		l := foundTools(t, a.Call("search_tools", `{"limit":10}`))
		for j, name := range strings.Fields(want) {
			if l.Tools[j].Name != name {
				t.Errorf("round %d: search lists %s at place %d", i, l.Tools[j].Name, j)
			}
		}
		w.restart()
	}
}

// MB-105: an own list is paged with cursors that a client can follow, and a bad
// one is -32602. (TestPages follows them over real sizes.)
func TestMB105BadCursor(t *testing.T) {
	w := newWorld(t, plainConfig, nil)
	a := w.connect(Options{})
	a.Initialize()
	if list := a.Ask("tools/list", ""); bytes.Contains(list, []byte("nextCursor")) {
		t.Errorf("one page has a cursor: %.200s", list)
	}
	if m := a.Expect(a.Request("tools/list", `{"cursor":"nonsense"}`)); !bytes.Contains(m.ErrorBytes(), []byte("-32602")) {
		t.Errorf("%s", m.Raw)
	}
}

// MB-128, MB-130, MB-132: names at most 50 bytes, distinct, the same after a
// restart; each routes to its own tool, directly and through call_tool, and a
// rule for one server holds for no other whose name begins alike.
func TestMB128NamesRoute(t *testing.T) {
	long := "synchronize_all_customer_records_for_region_"
	list := func(names ...string) string {
		var out []string
		for _, n := range names {
			out = append(out, `{"name":"`+n+`","inputSchema":{"type":"object"}}`)
		}
		return "[" + strings.Join(out, ",") + "]"
	}
	w := newWorld(t, `version: 1
servers:
  enterprise-database-management: {command: $FAKE, args: [-events, $WORK/e.long, -tools, $WORK/long.json]}
  acme: {command: $FAKE, args: [-events, $WORK/e.acme, -tools, $WORK/acme.json]}
  acme__: {command: $FAKE, args: [-events, $WORK/e.acme2, -tools, $WORK/acme2.json]}
  db: {command: $FAKE, args: [-events, $WORK/e.db, -tools, $WORK/db.json]}
  db_prod: {command: $FAKE, args: [-events, $WORK/e.prod, -tools, $WORK/db.json]}
policies:
  p: {servers: [enterprise-database-management, "acme*", db], deny: ["acme__/*"], allow: [read, write], exposure: full, max_result_bytes: 0}
defaults: {policy: p, trust_level: 2}
`, map[string]string{"long.json": list(long+"north", long+"south"), "acme.json": list("__status"), "acme2.json": list("status"), "db.json": list("drop")})
	a := w.connect(Options{})
	a.Initialize()
	names := strings.Fields(shows(t, a.Ask("tools/list", "")))
	if len(names) != 4 {
		t.Fatalf("%q", names) // two long ones, acme's, db's
	}
	for i, c := range []struct{ events, tool string }{{"e.long", long + "north"}, {"e.long", long + "south"}, {"e.acme", "__status"}, {"e.db", "drop"}} {
		name := names[i]
		if len(name) > config.DefaultNameMax || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			t.Errorf("name %q", name)
		}
		a.Call(name, `{"n":1}`)
		a.Call("call_tool", `{"name":"`+name+`","arguments":{"n":2}}`)
		var got []string
		for _, e := range mcptest.Events(t, w.path(c.events), "call") {
			if tool, args, _ := strings.Cut(e.Data, " "); tool == c.tool {
				got = append(got, args)
			}
		}
		if strings.Join(got, " ") != `{"n":1} {"n":2}` {
			t.Errorf("%s reached %s with %q", name, c.tool, got)
		}
	}
	for _, hidden := range []string{"db_prod__drop", "acme____status"} {
		line := a.Expect(a.Request("tools/call", mcptest.CallParams(hidden, "{}"))).Raw
		if !bytes.Contains(line, []byte(`"error"`)) {
			t.Errorf("%s: %s", hidden, line)
		}
	}
	if n := len(mcptest.Events(t, w.path("e.prod"), "call")) + len(mcptest.Events(t, w.path("e.acme2"), "call")); n > 0 {
		t.Errorf("%d calls reached a server that is not allowed", n)
	}
	w.restart()
	b := w.connect(Options{})
	b.Initialize()
	if again := strings.Fields(shows(t, b.Ask("tools/list", ""))); strings.Join(again, " ") != strings.Join(names, " ") {
		t.Errorf("%q, then %q", names, again)
	}
}

// MB-136: 300 tools behind a fixed number, all found and called.
func TestMB136ManyTools(t *testing.T) {
	w := newWorld(t, exposing(", exposure: lazy"), map[string]string{"tools.json": manyTools(300, 50)})
	a := w.connect(Options{})
	a.Initialize()
	if got := shows(t, a.Ask("tools/list", "")); got != lazyNames {
		t.Errorf("%.200s", got)
	}
	for i := range 300 {
		name := fmt.Sprintf("fake__t%d", i)
		l := foundTools(t, a.Call("search_tools", `{"query":"t`+strconv.Itoa(i)+`","limit":1}`))
		if len(l.Tools) != 1 || l.Tools[0].Name != name {
			t.Fatalf("%d: %+v", i, l)
		}
		if got := a.Call("call_tool", `{"name":"`+name+`","arguments":{"i":`+strconv.Itoa(i)+`}}`); !bytes.Contains(got, []byte(`{"i":`+strconv.Itoa(i)+`}`)) {
			t.Fatalf("%d: %s", i, got)
		}
	}
}

// MB-137: no digit of a result changes, directly, through call_tool, by get, or
// in a result that was cut and is read on.
func TestMB137NumbersKeepTheirDigits(t *testing.T) {
	numbers := `{"id":9007199254740993,"n":12345678901234567890,"f":1.0,"e":1e400,"z":-0,"d":0.1}`
	w := newWorld(t, strings.Replace(plainConfig, "max_result_bytes: 0", "max_result_bytes: 1KiB", 1), nil)
	a := w.connect(Options{})
	a.Initialize()
	for _, tool := range []string{"direct", "call_tool"} {
		name, args := "fake__echo", numbers
		if tool == "call_tool" {
			name, args = "call_tool", `{"name":"fake__echo","arguments":`+numbers+`}`
		}
		raw := a.Call(name, args)
		if !bytes.Contains(raw, []byte(`"structuredContent":`+numbers)) || firstText(t, raw) != numbers {
			t.Errorf("%s: %s", tool, raw)
		}
	}
	for path, want := range map[string]string{"id": "9007199254740993", "n": "12345678901234567890", "f": "1.0", "e": "1e400", "z": "-0", "d": "0.1"} {
		if got := firstText(t, a.Call("call_tool", `{"name":"fake__echo","arguments":`+numbers+`,"get":"structuredContent.`+path+`"}`)); got != want {
			t.Errorf("get %s: %s, want %s", path, got, want)
		}
	}
	big := `{"pad":"` + strings.Repeat("x", 3000) + `","numbers":` + numbers + `}`
	_, id, _ := strings.Cut(string(a.Call("fake__echo", big)), resultScheme)
	if got := firstText(t, a.Call(readResultName, `{"id":"`+id[:32]+`","get":"structuredContent.numbers"}`)); got != numbers {
		t.Errorf("read on: %s", got)
	}
}

// MB-125: content of every kind, known or not, and unknown members come through
// as they are, through call_tool too.
func TestMB125ContentKinds(t *testing.T) {
	result := `{"content":[{"type":"text","text":"t"},{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"audio","data":"AA==","mimeType":"audio/wav"},` +
		`{"type":"resource","resource":{"uri":"a:b","text":""}},{"type":"resource_link","uri":"a:b","name":"n"},{"type":"hologram","x":1}],"vnd":{},"isError":true}`
	w := newWorld(t, plainConfig, nil)
	a := w.connect(Options{})
	a.Initialize()
	if got := string(a.Call("fake__raw", `{"result":`+result+`}`)); got != result {
		t.Errorf("directly: %s", got)
	}
	if got := string(a.Call("call_tool", `{"name":"fake__raw","arguments":{"result":`+result+`}}`)); got != result {
		t.Errorf("through call_tool: %s", got)
	}
}

// MB-127: what says nothing of being read-only counts as writing, and
// instructions say how many tools are left, so that it shows.
func TestMB127MissingHints(t *testing.T) {
	tool := func(name, annotations string) string {
		return `{"name":"` + name + `","inputSchema":{"type":"object"}` + annotations + `}`
	}
	w := newWorld(t, strings.Replace(exposing(", exposure: full, max_result_bytes: 0"), "trust_level: 2", "trust_level: 1", 1), map[string]string{"tools.json": "[" + strings.Join([]string{
		tool("yes", `,"annotations":{"readOnlyHint":true}`), tool("no", `,"annotations":{"readOnlyHint":false}`), tool("absent", ""),
		tool("empty", `,"annotations":{}`), tool("text", `,"annotations":{"readOnlyHint":"true"}`)}, ",") + "]"})
	a := w.connect(Options{})
	a.Initialize()
	if got := shows(t, a.Ask("tools/list", "")); got != "fake__yes" {
		t.Error(got)
	}
	var got struct{ Instructions string }
	if err := json.Unmarshal(w.connect(Options{}).Initialize(), &got); err != nil || !strings.Contains(got.Instructions, " 1 tools") {
		t.Errorf("%+v %v", got, err)
	}
}
