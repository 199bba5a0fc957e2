package call

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"postern/pkg/config"
)

const typedTools = `[{"name":"raw","inputSchema":{"type":"object"},"outputSchema":{"type":"object","required":["total","rows"]}},
{"name":"fail","inputSchema":{"type":"object"},"outputSchema":{"type":"object","required":["total"]}},
{"name":"echo","inputSchema":{"type":"object"},"outputSchema":null},
{"name":"big","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}]`

// MB-123: a result that lacks what the tool's outputSchema requires goes to the
// caller as it came, and one line a tool to the operator; an error of the tool goes
// to the caller alone.
func TestMB123OutputIsNotEnforced(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.Replace(plain, "args: [", "args: [-tools, $WORK/tools.json, ", 1), map[string]string{"tools.json": typedTools})
	s := w.session(false)
	for _, c := range []struct{ tool, result string }{
		{"raw", `{"structuredContent":{"total":1,"rows":[]},"content":[]}`},
		{"raw", `{"isError":true,"content":[{"type":"text","text":"quota"}]}`},
		{"raw", `{"structuredContent":[1.0],"content":[]}`}, // no object: nothing is required of its members
		{"raw", `{"task":{"taskId":"1"}}`},
		{"raw", `{"content":[{"type":"text","text":"none"}]}`},
		{"raw", `{"structuredContent":{"TOTAL":1},"content":[]}`},
		{"raw", `{"structuredContent":{"rows":1},"content":[]}`},
	} {
		a, row := w.answered(s, tool("fake__"+c.tool, `{"result":`+c.result+`}`))
		if got := string(a.Reply.ResultBytes()); got != c.result || a.Result != nil {
			t.Errorf("%s became %s, %s", c.result, got, a.Result)
		}
		if failed := strings.Contains(c.result, "isError"); failed != (row.Outcome == "tool_error") {
			t.Errorf("%s: row %+v", c.result, row)
		}
	}
	w.answered(s, tool("fake__fail", `{"text":"quota"}`))
	w.answered(s, tool("fake__echo", `{}`))
	w.answered(s, tool("fake__big", `{"bytes":10}`))
	want := []string{
		"fake/raw answers without structuredContent, which its outputSchema requires; its results are handed on as they are",
		"fake/big answers without structuredContent, which its outputSchema requires; its results are handed on as they are",
	}
	if got := w.warnings(); !slices.Equal(got, want) {
		t.Errorf("the operator was told %q", got)
	}
}

func TestLacking(t *testing.T) {
	for _, c := range []struct{ object, schema, want string }{
		{`{"a":null,"b":1}`, `{"required":["a","b"]}`, ""},
		{`{"b":1}`, `{"required":["a","\u0062","c"]}`, "a c"},
		{`{}`, `{"required":["a",1,null,"b"]}`, "a b"},
		{`{}`, `{"required":"a"}`, ""},
		{`{}`, `{}`, ""},
		{`{}`, `{"required":["a"],"required":["b"]}`, ""},
		{`{"b":1,"b":2}`, `{"required":["a","b"]}`, ""},
		{`[]`, `{"required":["a"]}`, ""},
		{`null`, `{"required":["a"]}`, ""},
	} {
		if got := strings.Join(lacking([]byte(c.object), []byte(c.schema)), " "); got != c.want {
			t.Errorf("%s of %s: %q, want %q", c.object, c.schema, got, c.want)
		}
	}
	var all []string
	for n := range 10 * config.WarnedMembers {
		all = append(all, fmt.Sprintf("%q", fmt.Sprint("m", n)))
	}
	if n := len(lacking([]byte(`{}`), []byte(`{"required":[`+strings.Join(all, ",")+`]}`))); n != config.WarnedMembers {
		t.Errorf("%d were looked for", n)
	}
}

// However many tools there are, the operator's log is not theirs.
func TestRemarksAreBounded(t *testing.T) {
	n := 0
	h := &Host{o: HostOptions{Warn: func(string) { n++ }}}
	for i := range 10 * config.WarnedTools {
		h.remark(fmt.Sprint("fake/", i/2), "a line")
	}
	if n != config.WarnedTools {
		t.Errorf("%d lines", n)
	}
}
