package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"postern/pkg/config"
	"postern/pkg/mcptest"
	"postern/pkg/wire"
)

// shows is the names of the tools in a list.
func shows(t *testing.T, list []byte) string {
	t.Helper()
	var l struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(list, &l); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range l.Tools {
		names = append(names, tool.Name)
	}
	return strings.Join(names, " ")
}

const lazyNames = "search_tools describe_tool call_tool gateway__read_result"

// exposing declares one server with the tools of a file, and a policy.
func exposing(policy string) string {
	return `version: 1
servers:
  fake: {command: $FAKE, args: [-events, $WORK/events, -tools, $WORK/tools.json], max_message_bytes: 16MiB}
policies:
  p: {servers: ["*"], allow: [read, write, execute]` + policy + `}
  narrow: {servers: ["*"], allow: [read, write, execute], exposure: lazy}
defaults: {policy: p, trust_level: 2}
`
}

// F10: the gateway's own definitions take at most 1.5 KB.
func TestOwnDefinitionsAreSmall(t *testing.T) {
	own := newOwnTools(&session{})
	size := 0
	for _, o := range []*ownTool{own.search, own.describe, own.call, own.readResult} {
		size += len(o.definition) + 1
		var d struct {
			Name        string
			InputSchema struct{ Type string }
		}
		if err := json.Unmarshal([]byte(o.definition), &d); err != nil || d.Name != o.Exposed || d.InputSchema.Type != "object" {
			t.Errorf("%s: %v", o.definition, err)
		}
	}
	t.Logf("%d bytes", size)
	if size > 1500 {
		t.Errorf("%d bytes of own definitions", size)
	}
}

// R63: auto shows up to 24 KiB of definitions, and above that the three tools.
func TestAutoDecidesBySize(t *testing.T) {
	one := func(shown int) string {
		empty := `{"name":"fake__t","title":"","inputSchema":{"type":"object"}}`
		item := strings.Replace(empty, `""`, `"`+strings.Repeat("x", shown-len(empty))+`"`, 1)
		return "[" + strings.Replace(item, "fake__t", "t", 1) + "]"
	}
	for size, want := range map[int]string{
		config.FullBytes:     "fake__t gateway__read_result",
		config.FullBytes + 1: lazyNames,
	} {
		w := newWorld(t, exposing(""), map[string]string{"tools.json": one(size)})
		a := w.connect(Options{})
		a.Initialize()
		if got := shows(t, a.Ask("tools/list", "")); got != want {
			t.Errorf("%d bytes: %s", size, got)
		}
	}
}

// R63: what auto decided at the first list holds for the session, however many
// tools there are afterwards; the next session decides anew.
func TestAutoDecidesOnce(t *testing.T) {
	few, many := `[{"name":"change","inputSchema":{"type":"object"}}]`, manyTools(100, 1000)
	w := newWorld(t, exposing(""), map[string]string{"tools.json": few})
	a := w.connect(Options{})
	a.Initialize()
	if got := shows(t, a.Ask("tools/list", "")); got != "fake__change gateway__read_result" {
		t.Fatal(got)
	}
	a.Call("fake__change", `{"tools":`+many+`}`)
	a.ExpectNotification("notifications/tools/list_changed")
	if got := shows(t, a.Ask("tools/list", "")); strings.Count(got, "fake__t") != 100 {
		t.Errorf("%.200s", got)
	}
	b := w.connect(Options{})
	b.Initialize()
	if got := shows(t, b.Ask("tools/list", "")); got != lazyNames {
		t.Errorf("%.200s", got)
	}
}

// R63: auto is lazy where a trusted server has no list yet.
func TestAutoIsLazyBeforeEveryServerIsListed(t *testing.T) {
	w := newWorld(t, strings.Replace(exposing(""), "servers:\n", "servers:\n  gone: {command: /no/such/program}\n", 1),
		map[string]string{"tools.json": "[]"})
	a := w.connect(Options{})
	a.Initialize()
	if got := shows(t, a.Ask("tools/list", "")); got != lazyNames {
		t.Error(got)
	}
}

// R52, R63: the flag decides, then the stricter policy; auto is full where the
// policy leaves no way to call what is not listed.
func TestWhoDecidesExposure(t *testing.T) {
	tools := map[string]string{"tools.json": `[{"name":"t","inputSchema":{"type":"object"}}]`}
	const fullNames = "fake__t gateway__read_result"
	for _, c := range []struct {
		policy string
		o      Options
		want   string
	}{
		{"", Options{}, fullNames},
		{", exposure: lazy", Options{}, lazyNames},
		{", exposure: lazy", Options{Exposure: "full"}, fullNames},
		{", exposure: lazy", Options{Exposure: "auto"}, fullNames},
		{", exposure: full", Options{Exposure: "lazy"}, lazyNames},
		{", exposure: full", Options{Policy: "narrow"}, lazyNames},
		{`, exposure: lazy, deny: ["gateway/describe_tool", "gateway__read_result"]`, Options{}, "search_tools call_tool"},
		{`, exposure: lazy, deny: ["gateway/*"]`, Options{}, ""},
		{`, deny: ["gateway/call_tool"], max_result_bytes: 0`, Options{}, "fake__t"},
	} {
		w := newWorld(t, exposing(c.policy), tools)
		a := w.connect(c.o)
		a.Initialize()
		if got := shows(t, a.Ask("tools/list", "")); got != c.want {
			t.Errorf("%s, %+v: %s, want %s", c.policy, c.o, got, c.want)
		}
	}
	// R51: level 0 sees nothing, R52: without a policy there is nothing to find.
	for _, yaml := range []string{strings.Replace(exposing(", exposure: lazy"), "trust_level: 2", "trust_level: 0", 1), "version: 1\nservers: {}\n"} {
		w := newWorld(t, yaml, tools)
		a := w.connect(Options{})
		a.Initialize()
		if got := shows(t, a.Ask("tools/list", "")); got != "" {
			t.Errorf("%s: %s", yaml, got)
		}
	}
}

// R54: a change that the agent does not see is not announced: of tools behind
// search, and of the end of a description that is cut.
func TestUnseenChangesAreSilent(t *testing.T) {
	tool := func(text string) string {
		return `[{"name":"change","inputSchema":{"type":"object"}},{"name":"t","description":"` + text + `","inputSchema":{"type":"object"}}]`
	}
	long := "A first sentence that is long enough to end there. "
	for _, c := range []struct{ policy, before, after string }{
		{", exposure: lazy", tool("old"), tool("new")},
		{", exposure: full, max_description_chars: 60", tool(long + "And an old end."), tool(long + "And a new end.")},
	} {
		w := newWorld(t, exposing(c.policy), map[string]string{"tools.json": c.before})
		a := w.connect(Options{})
		a.Initialize()
		before := a.Ask("tools/list", "")
		a.Call("fake__change", `{"tools":`+c.after+`}`)
		if !mcptest.Eventually(func() bool { return bytes.Contains(a.Call("describe_tool", `{"name":"fake__t"}`), []byte("new")) }) {
			t.Fatal("the change did not come")
		}
		time.Sleep(2 * config.ListChangedEvery) // nothing can be awaited: nothing is to come
		if after := a.Ask("tools/list", ""); !bytes.Equal(before, after) {
			t.Errorf("%s\n%s", before, after)
		}
		for _, m := range a.Lines() {
			if m.Kind == wire.Notification {
				t.Errorf("%s: %s", c.policy, m.Raw)
			}
		}
	}
}

// F10: of 500 tools that are smaller than real ones, lazy exposure puts at most 2 % of what full would into an
// agent's context, instructions included.
func TestLazyContext(t *testing.T) {
	tools := `[`
	for i := range 500 {
		tools += fmt.Sprintf(`{"name":"do_number_%d","description":%q,"inputSchema":{"type":"object","properties":{"owner":{"type":"string","description":"The account that owns what is looked for: a name, or a number where the account has none, as list_accounts gives it."},"limit":{"type":"integer","minimum":1,"maximum":100}},"required":["owner"]}},`,
			i, strings.Repeat("It does something. ", 20))
	}
	context := func(mode string) int {
		w := newWorld(t, exposing(", exposure: "+mode), map[string]string{"tools.json": strings.TrimSuffix(tools, ",") + "]"})
		first := w.connect(Options{}) // records the list
		first.Initialize()
		first.Ask("tools/list", "")
		a := w.connect(Options{})
		return len(a.Initialize()) + len(a.Ask("tools/list", ""))
	}
	share(t, context(lazy), context(full))
}

func share(t *testing.T, small, large int) {
	t.Helper()
	percent := 100 * float64(small) / float64(large)
	t.Logf("lazy %d bytes, full %d bytes: %.2f %%", small, large, percent)
	if percent > 2 {
		t.Errorf("lazy takes %.2f %% of full", percent)
	}
}

// F10 with 500 real tools of POSTERN_CORPUS.
func TestCorpusLazyContext(t *testing.T) {
	dir := os.Getenv("POSTERN_CORPUS")
	if dir == "" {
		t.Skip("POSTERN_CORPUS names no folder of recorded catalogs")
	}
	_, conf, files := corpus(t, dir)
	conf, files = firstTools(t, conf, files, 500)
	context := func(mode string) int {
		yaml := strings.Replace(conf, "exposure: full, max_description_chars: 0, max_result_bytes: 0", "exposure: "+mode, 1)
		w := newWorld(t, yaml, files)
		warm := w.connect(Options{ListWait: time.Minute})
		warm.Initialize()
		warm.Ask("tools/list", "")
		a := w.connect(Options{})
		return len(a.Initialize()) + len(a.Ask("tools/list", ""))
	}
	share(t, context(lazy), context(full))
}

// firstTools leaves so many servers in a corpus that they have about count
// tools.
func firstTools(t *testing.T, conf string, files map[string]string, count int) (string, map[string]string) {
	var lines []string
	kept := map[string]string{}
	have := 0
	for _, line := range strings.Split(conf, "\n") {
		id, _, server := strings.Cut(strings.TrimSpace(line), ": {command:")
		if !server {
			lines = append(lines, line)
			continue
		}
		file := id + ".json"
		if n := len(elementsOf(t, []byte(`{"tools":`+files[file]+`}`), "tools")); have+n <= count {
			lines, kept[file], have = append(lines, line), files[file], have+n
		}
	}
	t.Logf("%d tools of %d servers", have, len(kept))
	return strings.Join(lines, "\n"), kept
}

// R67: in lazy mode instructions name tools, each server gets its share, and all
// of it stays within 4 KiB.
func TestInstructionsNameTools(t *testing.T) {
	var b strings.Builder
	b.WriteString("version: 1\nservers:\n")
	files := map[string]string{}
	for i := range 8 {
		fmt.Fprintf(&b, "  s%d: {command: $FAKE, args: [-tools, $WORK/%d.json]}\n", i, i)
		files[fmt.Sprintf("%d.json", i)] = manyTools(100*(i%2)+3, 10)
	}
	b.WriteString("policies:\n  p: {servers: [\"*\"], allow: [read, write], exposure: lazy, deny: [\"s0/t1\"]}\ndefaults: {policy: p, trust_level: 2}\n")
	w := newWorld(t, b.String(), files)
	first := w.connect(Options{})
	first.Initialize()
	first.Ask("tools/list", "")
	var got struct{ Instructions string }
	if err := json.Unmarshal(w.connect(Options{}).Initialize(), &got); err != nil {
		t.Fatal(err)
	}
	text := got.Instructions
	if len(text) > config.InstructionBytes || len(text) < config.InstructionBytes/2 || !strings.Contains(text, " more\n") {
		t.Errorf("%d bytes", len(text))
	}
	if !strings.Contains(text, "- s0: starts at the first call, 2 tools: t0, t2\n") || !strings.Contains(text, "- s2: starts at the first call, 3 tools: t0, t1, t2\n") {
		t.Errorf("few tools: %s", text)
	}
	for _, id := range []string{"s1", "s3", "s5", "s7"} {
		_, line, _ := strings.Cut(text, "- "+id+": starts at the first call, 103 tools: t0, t1, t2, ")
		line, _, _ = strings.Cut(line, "\n")
		if n := strings.Count(line, ","); n < 90 {
			t.Errorf("%s: %s", id, line)
		}
	}
}

// R66: searching and describing start nothing, on a home where all is recorded.
func TestSearchStartsNothing(t *testing.T) {
	w := newWorld(t, exposing(", exposure: lazy"), map[string]string{"tools.json": manyTools(3, 10)})
	a := w.connect(Options{})
	a.Initialize()
	a.Ask("tools/list", "")
	w.restart()
	b := w.connect(Options{})
	b.Initialize()
	b.Ask("tools/list", "")
	if got := b.Call("search_tools", `{"query":"t1"}`); !bytes.Contains(got, []byte(`\"provenance\":\"cached\"`)) {
		t.Errorf("%s", got)
	}
	b.Call("describe_tool", `{"name":"fake__t2"}`)
	if n := len(mcptest.Events(t, w.path("events"), "start")); n != 1 {
		t.Errorf("%d starts", n)
	}
	// R64: a list that is too old says so.
	recorded, err := filepath.Glob(w.path("cache/catalogs/*.json"))
	if err != nil || len(recorded) != 1 {
		t.Fatal(recorded, err)
	}
	data, err := os.ReadFile(recorded[0])
	if err != nil {
		t.Fatal(err)
	}
	var c struct{ At string }
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	data = bytes.Replace(data, []byte(c.At), []byte("2020-01-01T00:00:00Z"), 1)
	if err := os.WriteFile(recorded[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	w.restart()
	d := w.connect(Options{})
	d.Initialize()
	if got := d.Call("search_tools", `{"query":"t1"}`); !bytes.Contains(got, []byte(`\"provenance\":\"stale\"`)) {
		t.Errorf("%s", got)
	}
}

// R64, R66: where nothing is to be discovered, a trusted server that was never
// listed is told of as missing, with what would record its list, and neither search
// nor describe nor a list starts it; a call does.
func TestMissingListStartsNothing(t *testing.T) {
	yaml := strings.Replace(exposing(", exposure: lazy"), "policies:", "  slow: {command: $FAKE, args: [-fault, start-delay=300ms]}\npolicies:", 1)
	w := newWorld(t, yaml, map[string]string{"tools.json": manyTools(1, 10)})
	a := w.connect(Options{ListWait: -1})
	a.Initialize()
	a.Ask("tools/list", "")
	want := []foundServer{{"fake", "missing", "ask the user to run: mcp-catalog refresh fake"}, {"slow", "missing", "ask the user to run: mcp-catalog refresh slow"}}
	for _, args := range []string{`{}`, `{"query":"t0"}`} {
		if got := foundTools(t, a.Call("search_tools", args)); len(got.Tools) != 0 || !slices.Equal(got.Servers, want) {
			t.Errorf("search_tools %s: %+v", args, got)
		}
	}
	if got := a.Call("describe_tool", `{"name":"fake__t0"}`); !bytes.Contains(got, []byte("was never listed")) {
		t.Errorf("describe_tool: %s", got)
	}
	a.Call("call_tool", `{"name":"slow__echo"}`) // if fake were starting too it would be up before this answers
	w.restart()
	if n := len(mcptest.Events(t, w.path("events"), "start")); n != 0 {
		t.Errorf("%d starts", n)
	}
	a = w.connect(Options{ListWait: -1})
	a.Initialize()
	a.Expect(a.Request("tools/call", mcptest.CallParams("call_tool", `{"name":"fake__t0"}`)))
	if n := len(mcptest.Events(t, w.path("events"), "start")); n != 1 {
		t.Errorf("%d starts for a call", n)
	}
}

// R64: what is found fits into a result; what does not is counted, and a schema
// that is too large alone is named by its size.
func TestSearchIsBounded(t *testing.T) {
	huge := `{"name":"huge","description":"x","inputSchema":{"type":"object","description":"` + strings.Repeat("d", 2*config.MaxReturnedSchema) + `"}}`
	w := newWorld(t, exposing(", exposure: lazy, max_result_bytes: 4KiB"), map[string]string{
		"tools.json": strings.TrimSuffix(manyTools(200, 300), "]") + "," + huge + "]"})
	a := w.connect(Options{})
	a.Initialize()
	a.Ask("tools/list", "")
	for _, args := range []string{`{"limit":100}`, `{"limit":100,"detail":"full"}`, `{"query":"t","limit":"100"}`, `{"limit":1000000}`} {
		raw := a.Call("search_tools", args)
		if len(raw) > 4<<10 {
			t.Errorf("%s: %d bytes", args, len(raw))
		}
		found := foundTools(t, raw)
		if n := len(found.Tools); n < 3 || n+found.More < 200 {
			t.Errorf("%s: %d tools and %d more", args, n, found.More)
		}
	}
	got := foundTools(t, a.Call("search_tools", `{"query":"huge"}`))
	if len(got.Tools) != 1 || got.Tools[0].SchemaBytes < config.MaxReturnedSchema || got.Tools[0].InputSchema != nil {
		t.Errorf("%+v", got)
	}
	if raw := a.Call("describe_tool", `{"name":"fake__huge"}`); !bytes.Contains(raw, []byte("read on with gateway__read_result")) {
		t.Errorf("%.300s", raw)
	}
}

type foundList struct {
	Tools []struct {
		Name, Tier, About, Title, Description, Provenance string
		InputSchema                                       json.RawMessage `json:"input_schema"`
		OutputSchema                                      json.RawMessage `json:"output_schema"`
		SchemaBytes                                       int             `json:"schema_bytes"`
	}
	More    int
	Servers []foundServer
}

type foundServer struct{ Server, Status, Remedy string }

// foundTools reads the answer of search_tools.
func foundTools(t *testing.T, result []byte) (l foundList) {
	t.Helper()
	if err := json.Unmarshal([]byte(firstText(t, result)), &l); err != nil {
		t.Fatalf("%v in %.300s", err, result)
	}
	return l
}

// firstText is the first text of a result.
func firstText(t *testing.T, result []byte) string {
	t.Helper()
	var r struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(result, &r); err != nil || len(r.Content) == 0 {
		t.Fatalf("%v in %.300s", err, result)
	}
	return r.Content[0].Text
}
