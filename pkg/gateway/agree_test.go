package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"postern/pkg/mcptest"
)

// policies are random ones, together with one that allows everything.
func policies(r *rand.Rand, n int) string {
	pick := func(from ...string) string {
		var some []string
		for _, s := range from {
			if r.Intn(3) == 0 {
				some = append(some, `"`+s+`"`)
			}
		}
		if some == nil {
			some = []string{`"` + from[r.Intn(len(from))] + `"`}
		}
		return "[" + strings.Join(some, ", ") + "]"
	}
	patterns := []string{"*", "one/*", "two/get", "*/drop*", "one__get", "tw*/*e*", "?n?/put", "one/nothing", "two_b__get", "exec:*two.json*"}
	var b strings.Builder
	b.WriteString("policies:\n  all: {servers: [\"*\"], allow: [read, write, execute], exposure: full}\n")
	for i := range n {
		servers := pick("one", "two", "two_b")
		if r.Intn(2) == 0 {
			servers = `["*"]`
		}
		fmt.Fprintf(&b, "  p%d: {servers: %s, allow: %s", i, servers, []string{"[read]", "[read, write]", "[read, execute]", "[read, write, execute]"}[r.Intn(4)])
		if r.Intn(2) == 0 {
			fmt.Fprintf(&b, ", deny: %s", pick(patterns[1:]...))
		}
		if r.Intn(3) == 0 {
			fmt.Fprintf(&b, ", tools: %s", pick(patterns[:9]...))
		}
		if r.Intn(3) == 0 {
			fmt.Fprintf(&b, ", ask: %s", pick(patterns[1:]...))
		}
		b.WriteString("}\n")
	}
	return b.String() + "defaults: {policy: all, trust_level: 2}\n"
}

// names are the names of servers' tools in an answer, in order.
func names(t *testing.T, raw []byte) (found []string) {
	t.Helper()
	var list struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	for _, tool := range list.Tools {
		if !strings.HasPrefix(tool.Name, "gateway__") {
			found = append(found, tool.Name)
		}
	}
	slices.Sort(found)
	return found
}

// MB-206, R54: under sixty random policies what is listed, what is found, what is
// described and what can be called are the same tools.
func TestMB206ListedIsWhatCanBeUsed(t *testing.T) {
	r := rand.New(rand.NewSource(206))
	tools := `[{"name":"get","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}},{"name":"put","inputSchema":{"type":"object"}},` +
		`{"name":"drop","inputSchema":{"type":"object"}},{"name":"__drop.all","inputSchema":{"type":"object"}}]`
	w := newWorld(t, `version: 1
servers:
  one: {command: $FAKE, args: [-events, $WORK/events, -tools, $WORK/tools.json]}
  two: {command: $FAKE, args: [-events, $WORK/events, -tools, $WORK/two.json], execute_tools: ["drop*"], class: read}
  two_b: {command: $FAKE, args: [-events, $WORK/events, -tools, $WORK/tools.json], execute_tools: [get]}
`+policies(r, 60), map[string]string{"tools.json": tools, "two.json": tools})
	first := w.connect(Options{})
	first.Initialize()
	all := names(t, first.Ask("tools/list", ""))
	if len(all) != 12 {
		t.Fatalf("%d tools: %s", len(all), all)
	}
	differ := map[int]bool{}
	for i := range 60 {
		a := w.connect(Options{Policy: fmt.Sprintf("p%d", i)})
		a.Initialize()
		listed := names(t, a.Ask("tools/list", ""))
		differ[len(listed)] = true
		var found struct{ Content []struct{ Text string } }
		if err := json.Unmarshal(a.Call("search_tools", `{"limit":100}`), &found); err != nil || len(found.Content) != 1 {
			t.Fatal(err, found)
		}
		if got := names(t, []byte(found.Content[0].Text)); !slices.Equal(got, listed) {
			t.Errorf("p%d: %q are listed and %q found", i, listed, got)
		}
		for _, name := range all {
			want := slices.Contains(listed, name)
			if got := usable(a.Expect(a.Request("tools/call", mcptest.CallParams("describe_tool", `{"name":"`+name+`"}`))).Raw); got != want {
				t.Errorf("p%d: %s listed: %v, described: %v", i, name, want, got)
			}
			if got := usable(a.Expect(a.Request("tools/call", mcptest.CallParams(name, `{"p":1}`))).Raw); got != want {
				t.Errorf("p%d: %s listed: %v, called: %v", i, name, want, got)
			}
			if got := usable(a.Expect(a.Request("tools/call", mcptest.CallParams("call_tool", `{"name":"`+name+`","arguments":{"p":1}}`))).Raw); got != want {
				t.Errorf("p%d: %s listed: %v, by call_tool: %v", i, name, want, got)
			}
		}
		a.Hangup()
	}
	if len(differ) < 6 {
		t.Errorf("the policies are too much alike: %v", differ)
	}
}

// usable is whether a call was made, or waits for a person only.
func usable(line []byte) bool {
	return !bytes.Contains(line, []byte(`"policy_denied"`)) && !bytes.Contains(line, []byte(`"unknown_tool"`))
}
