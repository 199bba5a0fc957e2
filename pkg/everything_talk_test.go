package pkg

import (
	"bytes"
	"encoding/base64"
	"os"
	"regexp"
	"slices"
	"strings"

	"postern/pkg/mcptest"
	"postern/pkg/wire"
)

// shown reports whether a method is one that rows show: the gateway answers the
// others itself, or asks for them when it has reasons of its own.
func (r *everythingRun) shown(method string) bool {
	if strings.Contains(method, "roots/") {
		return true
	}
	return !strings.HasSuffix(method, "/list") && !strings.HasSuffix(method, "list_changed") &&
		!slices.Contains([]string{"initialize", "notifications/initialized", "logging/setLevel"}, method)
}

// show runs a row and keeps what it showed: what the row says, then what the
// agent and the server got meanwhile, in order.
func (r *everythingRun) show(row everythingRow) {
	r.t.Helper()
	saw := row.do(r)
	end := `{"message":"the end of ` + row.name + `"}`
	id := r.a.Request("tools/call", mcptest.CallParams(r.prefix+"echo", end))
	r.own[id] = true
	r.a.Expect(id)
	var heard []wire.Message
	if !mcptest.Eventually(func() bool {
		heard = r.recorded()
		return slices.ContainsFunc(heard, func(m wire.Message) bool { return bytes.Contains(m.ParamsBytes(), []byte(end)) })
	}) {
		r.t.Fatalf("row %s: its end is not in the record", row.name)
	}
	for _, m := range r.a.Lines()[r.lines:] {
		r.lines++
		if m.Kind == wire.Response && !r.own[string(m.IDBytes())] || m.Kind != wire.Response && r.shown(m.Method) {
			saw = append(saw, "agent: "+r.plain(m, nil))
		}
	}
	for _, m := range heard[r.heard:] {
		r.heard++
		if m.Kind == wire.Response || r.shown(m.Method) && !bytes.Contains(m.ParamsBytes(), []byte(end)) {
			saw = append(saw, "server: "+r.plain(m, heard))
		}
	}
	r.saw[row.name] = saw
}

// recorded is what the server got so far, but for a line that is still written.
func (r *everythingRun) recorded() (all []wire.Message) {
	text, err := os.ReadFile(r.record)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, line := range bytes.SplitAfter(text, []byte("\n")) {
		if m, err := wire.Parse(bytes.TrimRight(line, "\n")); err == nil && bytes.HasSuffix(line, []byte("\n")) {
			all = append(all, m)
		}
	}
	return all
}

// plain is a message without what package gateway lists as changed: ids and tokens,
// the envelope of what is no answer, the span of a trace, the server's name in front
// of a question. heard finds which request a cancellation means.
func (r *everythingRun) plain(m wire.Message, heard []wire.Message) string {
	raw := m.WithID([]byte(`"*"`))
	for _, path := range [][]string{{"params", "_meta", "progressToken"}, {"params", "progressToken"}} {
		if at, ok := find(raw, path); ok {
			raw = wire.Splice(raw, wire.Edit{Span: at, New: []byte(`"*"`)})
		}
	}
	if at, ok := find(raw, []string{"params", "_meta", "traceparent"}); ok {
		span := wire.Span{Start: at.Start + len(`"00-`) + 33, End: at.Start + len(`"00-`) + 49}
		raw = wire.Splice(raw, wire.Edit{Span: span, New: []byte("*")})
	}
	if at, ok := find(raw, []string{"params", "requestId"}); ok {
		raw = wire.Splice(raw, wire.Edit{Span: at, New: r.meant(at.Of(raw), heard)})
	}
	if m, err := wire.Parse(raw); err == nil && m.Kind != wire.Response {
		raw = append([]byte(m.Method+" "), m.ParamsBytes()...)
	}
	if r.prefix != "" && m.Method == "elicitation/create" {
		raw = bytes.Replace(raw, []byte(`"message":"[server everything] `), []byte(`"message":"`), 1)
	}
	return r.timeless(string(raw))
}

// meant is the name in the request that an id is of.
func (r *everythingRun) meant(id []byte, heard []wire.Message) []byte {
	for _, m := range heard {
		if m.Kind == wire.Request && wire.IDKey(m.IDBytes()) == wire.IDKey(id) {
			return member(r.t, m.ParamsBytes(), "name")
		}
	}
	return []byte("null")
}

// timeless is a text without the times and the random ids that the server makes.
func (r *everythingRun) timeless(text string) string {
	if len(text) > 1<<20 {
		return text // bytes of the test's own
	}
	text = regexp.MustCompile(`"blob":"[^"]*"`).ReplaceAllStringFunc(text, func(member string) string {
		blob, err := base64.StdEncoding.DecodeString(member[len(`"blob":"`) : len(member)-1])
		if err != nil || !bytes.Contains(blob, []byte(" created at ")) {
			return member
		}
		return string(blob)
	})
	for _, one := range []string{
		` created at [0-9:]+ ?[AP]M`, `"(createdAt|lastUpdatedAt)":"[^"]*"`, `"taskId":"[^"]*"`,
		`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`,
	} {
		text = regexp.MustCompile(one).ReplaceAllString(text, "*")
	}
	return text
}

// ask sends a request whose result only the row shows, if at all.
func (r *everythingRun) ask(method, params string) []byte {
	r.t.Helper()
	id := r.a.Request(method, params)
	r.own[id] = true
	m := r.a.Expect(id)
	if m.Error.Ok() {
		r.t.Fatalf("%s %s: %s", method, params, m.ErrorBytes())
	}
	return m.ResultBytes()
}

// send sends requests, one after the other, and waits for each answer, whatever it
// is. $P in params is the prefix of names.
func (r *everythingRun) send(method string, params ...string) {
	r.t.Helper()
	for _, p := range params {
		r.a.Expect(r.a.Request(method, strings.ReplaceAll(p, "$P", r.prefix)))
	}
}

// start calls a tool, with more members of params, and returns the id.
func (r *everythingRun) start(tool, arguments string, more ...string) (id string) {
	params := strings.TrimSuffix(mcptest.CallParams(r.prefix+tool, arguments), "}")
	return r.a.Request("tools/call", strings.Join(append([]string{params}, more...), ",")+"}")
}

// call calls a tool and waits for the answer, whatever it is.
func (r *everythingRun) call(tool, arguments string, more ...string) {
	r.t.Helper()
	r.a.Expect(r.start(tool, arguments, more...))
}

// list is the items of a list, under the names the server has for them.
func (r *everythingRun) list(method, key string) (saw []string) {
	r.t.Helper()
	for cursor := ""; ; {
		result := r.ask(method, cursor)
		for _, item := range items(r.t, member(r.t, result, key)) {
			saw = append(saw, strings.Replace(string(item), `"name":"`+r.prefix, `"name":"`, 1))
		}
		at, ok := find(result, []string{"nextCursor"})
		if !ok {
			return saw
		}
		cursor = `{"cursor":` + string(at.Of(result)) + `}`
	}
}
