package pkg

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"postern/pkg/gateway"
	"postern/pkg/mcptest"
	"postern/pkg/wire"
)

// The entries of the list that need a message of their own.

// rebuilt is a message in the envelope that the gateway writes.
func rebuilt(entry string) change {
	return change{entry, func(sent, came []byte) ([]byte, []byte) {
		m, err := wire.Parse(sent)
		if err != nil {
			return sent, came
		}
		if m.Kind == wire.Notification {
			return wire.NotificationLine(m.Method, m.ParamsBytes()), came
		}
		return wire.RequestLine(m.IDBytes(), m.Method, m.ParamsBytes()), came
	}}
}

// taken is a change for which sent is made into what ought to come.
func taken(entry string, make func(sent []byte) []byte) change {
	return change{entry, func(sent, came []byte) ([]byte, []byte) { return make(sent), came }}
}

// line sends a call as a line of the test's own and returns it, the line that the
// server got, and the answer.
func (f *fidelity) line(p pair, line string) (sent, came []byte, answer wire.Message) {
	f.t.Helper()
	line, mark := f.row(p, line)
	p.a.Send(line)
	m, err := wire.Parse([]byte(line))
	if err != nil {
		f.t.Fatal(err)
	}
	return []byte(line), f.came(p, mark), p.a.Expect(string(m.IDBytes()))
}

func ids(entry string) change { return replaced(entry, "id") }

// envelopes are members beside those of JSON-RPC, and spaces.
func (f *fidelity) envelopes(p pair) {
	f.t.Helper()
	sent, came, _ := f.line(p, `{"vendor":$V, "params" : {"name":"echo","_meta":{$M}},"id": 70,"method":"tools\/call","jsonrpc":"2.0"}`)
	f.same("the envelope of a request", sent, came, rebuilt("request | envelope"), ids("request | id"))

	write := func(line, more string) string {
		return mcptest.CallParams("write", `{"line":`+string(wire.Quote(line))+more+`}`)
	}
	answer := f.fill(`{"vendor":$V, "result" : {"content":[ ]} ,"id": $ID,"jsonrpc":"2.0"}`)
	id := p.a.Request("tools/call", write(answer, ""))
	f.same("the envelope of an answer", []byte(strings.Replace(answer, "$ID", id, 1)), p.a.Expect(id).Raw)

	note := f.fill(`{"vendor":$V, "params" : {"x":$V} ,"method":"notifications\/vendor\/spaced","jsonrpc":"2.0"}`)
	p.a.Ask("tools/call", write(note, `,"answer":true`))
	f.same("the envelope of a notification", []byte(note), p.a.ExpectNotification("notifications/vendor/spaced").Raw, rebuilt("notification | envelope"))

	question := f.fill(`{"vendor":$V, "params" : {"x":$V} ,"id": "q","method":"roots\/list","jsonrpc":"2.0"}`)
	p.a.Ask("tools/call", write(question, `,"answer":true`))
	q := p.a.ExpectRequest("roots/list")
	f.same("the envelope of a question", []byte(question), q.Raw, rebuilt("question | envelope"), ids("question | id"))
	p.a.Answer(q, `{"roots":[]}`)
}

// requests are changes of requests.
func (f *fidelity) requests(p pair) {
	f.t.Helper()
	sent, came, _ := f.line(p, `{"jsonrpc":"2.0","id":71,"method":"tools/call","params":{"arguments": null ,"name":"echo","_meta":{$M}}}`)
	f.same("arguments null", sent, came, ids("request | id"), taken("request, tools/call | params.arguments", func(sent []byte) []byte {
		return bytes.Replace(sent, []byte("null ,"), []byte("{} ,"), 1)
	}))
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	sent, came, _ = f.line(p, `{"jsonrpc":"2.0","id":72,"method":"tools/call","params":{"name":"echo","_meta":{"tracestate":"","traceparent":"`+trace+`",$M,"baggage":"a=\u0041"}}}`)
	at, _ := find(came, []string{"params", "_meta", "traceparent"})
	ours := string(at.Of(came))
	if len(ours) != len(trace)+2 || ours[:36] != `"`+trace[:35] || ours[53:] != `-01"` || ours == `"`+trace+`"` {
		f.t.Errorf("traceparent %s", ours)
	}
	f.same("a trace", sent, came, ids("request | id"), replaced("request | params._meta.traceparent", "params", "_meta", "traceparent"))
}

// subscriptions are counted; the first and the last go on.
func (f *fidelity) subscriptions(p pair) {
	f.t.Helper()
	for _, method := range []string{"resources/subscribe", "resources/unsubscribe"} {
		params, mark := f.row(p, `{"x":$V,"uri":"fake:\/\/blob","_meta":{$M,"progressToken":"\u0074"}}`)
		p.a.Ask(method, params)
		sent := wire.RequestLine([]byte("0"), method, []byte(params))
		f.same(method, sent, f.came(p, mark), ids("request | id"), replaced("request | params._meta.progressToken", "params", "_meta", "progressToken"))
	}
}

// answers are changes of answers that a tool with a schema gets.
func (f *fidelity) answers(p pair) {
	f.t.Helper()
	const schema = `{"type":"object","required":["must"],"properties":{"must":{"type":"string"}}}`
	_, _, m := f.line(p, `{"jsonrpc":"2.0","id":75,"method":"tools/call","params":{"name":"strict","arguments":{},"_meta":{$M,"fake/result":{"content":[{"type":"text","text":"must!","x":$V}],"isError":true,"x":$V}}}}`)
	sent := f.fill(`{"jsonrpc":"2.0","id":75,"result":{"content":[{"type":"text","text":"must!","x":$V}],"isError":true,"x":$V}}`)
	f.same("a missing argument", []byte(sent), m.Raw, change{"result, isError | content", func(sent, came []byte) ([]byte, []byte) {
		at, _ := find(came, []string{"result", "content"})
		all := items(f.t, at.Of(came))
		last := string(all[len(all)-1])
		if !strings.Contains(last, string(wire.Quote(schema)[1:20])) {
			f.t.Errorf("no schema: %s", last)
		}
		return sent, bytes.Replace(came, []byte(","+last), nil, 1)
	}})
	_, _, m = f.line(p, `{"jsonrpc":"2.0","id":76,"method":"tools/call","params":{"name":"strict","arguments":{"must":1},"_meta":{$M,"fake/error":{"x":$V,"code":-32602,"message":"no"}}}}`)
	sent = f.fill(`{"jsonrpc":"2.0","id":76,"error":{"x":$V,"code":-32602,"message":"no"}}`)
	f.same("refused arguments", []byte(sent), m.Raw, inserted("error -32602 | data", "error", "data"))
}

// lazily are calls through call_tool.
func (f *fidelity) lazily() {
	f.t.Helper()
	p := pair{agent: "old", server: "old", a: f.h.connect(gateway.Options{Exposure: "lazy"})}
	p.a.InitializeAs("2025-11-25", agentCapabilities)
	p.a.Ask("tools/list", "")
	sent, came, m := f.line(p, `{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"x":$V,"name":"call_tool","_meta":{$M,"fake/result":{"structuredContent":{"a":[1.0,{"b":9007199254740993}]},"content":[]}},"arguments":{"get":"structuredContent.a.1","name":"old__echo","arguments":$V}}}`)
	f.same("call_tool", sent, came, ids("request | id"), taken("request, call_tool | params", func(sent []byte) []byte {
		sent = bytes.Replace(sent, []byte(`{"get":"structuredContent.a.1","name":"old__echo","arguments":`+f.value+`}`), []byte(f.value), 1)
		return bytes.Replace(sent, []byte(`"name":"call_tool"`), []byte(`"name":"echo"`), 1)
	}))
	at, _ := find(m.Raw, []string{"result", "content"})
	if got := string(at.Of(m.Raw)); !strings.Contains(got, `"text":"{\"b\":9007199254740993}"`) {
		f.t.Errorf("get: %s", m.Raw)
	}
	f.seen("result, call_tool | the result")
}

// between are changes between the eras, apart from the members of every message.
func (f *fidelity) between(old, new pair) {
	f.t.Helper()
	// A modern agent in front of a legacy server.
	sent, came, _ := f.line(new, `{"jsonrpc":"2.0","id":78,"method":"tools/call","params":{"inputResponses":{"a":$V},"name":"old__echo","task":{"ttl":1},"requestState":"\u0041","_meta":{$M,"io.modelcontextprotocol/logLevel":"info"}}}`)
	gone := []change{ids("request | id"), replaced("request | params.name", "params", "name")}
	gone = append(gone, reserved(removed, "request | params, modern agent", "logLevel")...)
	for _, name := range []string{"inputResponses", "requestState", "task"} {
		gone = append(gone, removed("request | params, modern agent", "params", name))
	}
	f.same("what only a modern agent says", sent, came, gone...)
	hasNot(f.t, "a legacy server's request", came, "io.modelcontextprotocol/", "inputResponses", "requestState", `"task"`)
	_, _, m := f.line(new, `{"jsonrpc":"2.0","id":79,"method":"resources/read","params":{"uri":"fake://text","_meta":{$M,"fake/error":{"x":$V,"message":"","code": -32002,"data":$V}}}}`)
	f.same("no such resource", []byte(f.fill(`{"jsonrpc":"2.0","id":79,"error":{"x":$V,"message":"","code": -32002,"data":$V}}`)), m.Raw, replaced("error -32002 | code", "error", "code"))
	need := `{"x":$V,"mode":"url","elicitationId":"e","url":"https:\/\/example.com","message":"\u0041"}`
	_, _, m = f.line(new, `{"jsonrpc":"2.0","id":80,"method":"tools/call","params":{"name":"old__echo","_meta":{$M,"fake/error":{"message":"","code":-32042,"data":{"elicitations":[`+need+`]}}}}}`)
	want := f.fill(strings.NewReplacer(`"elicitationId":"e",`, "", `"\u0041"`, `"[server old] \u0041"`).Replace(need))
	if !strings.Contains(string(m.Raw), `"params":`+want) || !strings.Contains(string(m.Raw), `"resultType":"input_required"`) {
		f.t.Errorf("-32042 became %.600s", m.Raw)
	}
	f.seen("error -32042 | the error")
	f.again(old)
}

// again is a legacy agent's call that a modern server asks something first.
func (f *fidelity) again(p pair) {
	f.t.Helper()
	params, mark := f.row(p, `{"x":$V,"name":"new__rounds","arguments":{"requests":{"\u0071":{"method":"elicitation/create","params":{"x":$V,"mode":"url","url":"https:\/\/example.com","message":"\u0041"}}}},"_meta":{$M}}`)
	id := p.a.Request("tools/call", params)
	q := p.a.ExpectRequest("elicitation/create")
	asked := wire.RequestLine(q.IDBytes(), "elicitation/create", []byte(f.fill(`{"x":$V,"mode":"url","url":"https:\/\/example.com","message":"\u0041"}`)))
	f.same("a question of a round", asked, q.Raw, replaced("question, elicitation/create | message", "params", "message"), inserted("question, elicitation/create | elicitationId", "params", "elicitationId"))
	first := f.came(p, mark)
	p.a.Answer(q, f.fill(`{"action":"accept","x":$V}`))
	m := p.a.Expect(id)
	var second []byte
	for _, e := range mcptest.Events(f.t, f.h.path("new.events"), "recv") {
		if strings.Contains(e.Data, mark) && strings.Contains(e.Data, "inputResponses") {
			second = []byte(e.Data)
		}
	}
	if !bytes.Contains(second, []byte(f.fill(`"inputResponses":{"\u0071":{"action":"accept","x":$V}},"requestState":"\u0072ound\/1"`))) {
		f.t.Errorf("the second request: %s\nthe answer: %.300s", second, m.Raw)
	}
	f.same("a request that is sent again", first, second, ids("request | id"), inserted("request | params, again", "params", "inputResponses"), inserted("request | params, again", "params", "requestState"))
}

// listening are notifications for which agents subscribed.
func (f *fidelity) listening(old, new pair) {
	f.t.Helper()
	const uri = "postern+new:fake://text"
	listen := new.a.Request("subscriptions/listen", `{"notifications":{"resourceSubscriptions":["`+uri+`"]},"_meta":{`+modernMeta+`}}`)
	new.a.ExpectNotification("notifications/subscriptions/acknowledged")
	params, mark := f.row(old, `{"uri":"`+uri+`","_meta":{$M}}`)
	old.a.Ask("resources/subscribe", params)
	for _, e := range mcptest.Events(f.t, f.h.path("new.events"), "recv") {
		if strings.Contains(e.Data, mark) {
			f.t.Errorf("a modern server got %s", e.Data)
		}
	}
	f.seen("request, subscriptions | params")
	line := f.fill(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"x":$V,"_meta":{"io.modelcontextprotocol/subscriptionId":1,"vendor/x":$V},"uri":"fake://text"}}`)
	old.a.Ask("tools/call", `{"name":"new__write","arguments":{"answer":true,"line":`+string(wire.Quote(line))+`}}`)
	const entry = "notification | params._meta.subscriptionId"
	path := []string{"params", "_meta", "io.modelcontextprotocol/subscriptionId"}
	named := replaced("notification, updated | uri", "params", "uri")
	heard := old.a.ExpectNotification("notifications/resources/updated").Raw
	f.same("updated, legacy agent", []byte(line), heard, named, removed(entry, path...))
	hasNot(f.t, "updated, legacy agent", heard, "subscriptionId")
	got := new.a.ExpectNotification("notifications/resources/updated").Raw
	if at, _ := find(got, path); string(at.Of(got)) != listen {
		f.t.Errorf("updated on %s, not on %s", at.Of(got), listen)
	}
	f.same("updated, modern agent", []byte(line), got, named, replaced(entry, path...))
}

// cuts are what is too long, or secret; the rest is as it was.
func (f *fidelity) cuts(t *testing.T) {
	f.ledger.t = t
	long := strings.Repeat("Some words. ", 300)
	tools := fmt.Sprintf(`[{"zeta":$V,"name":"echo","title":"it-is-a-secret-value","description":"First. %s","inputSchema":{"type":"object"},"x":$V}]`, long)
	h := newHosted(t, strings.NewReplacer("max_description_chars: 0", "max_description_chars: 40", "max_result_bytes: 0", "max_result_bytes: 2KiB").Replace(
		"version: 1\nservers:\n  cut: {command: $FAKE, env: {TOKEN: it-is-a-secret-value}, args: [-events, $WORK/cut.events, -more, -tools, $WORK/tools.json]}\n"+everything), map[string]string{"tools.json": f.fill(tools)})
	g := &fidelity{ledger: f.ledger, h: h, value: f.value, rows: f.rows}
	p := pair{agent: "old", server: "cut", a: h.connect(gateway.Options{})}
	p.a.Initialize()
	listed := items(t, member(t, p.a.Ask("tools/list", ""), "tools"))[0]
	f.same("a cut description", []byte(f.fill(tools[1:len(tools)-1])), listed, replaced("list | name, uri", "name"),
		replaced("list, tools | description", "description"), replaced("list | strings", "title"))
	if !bytes.Contains(listed, []byte(`"description":"First.`)) || bytes.Contains(listed, []byte("secret")) {
		t.Errorf("listed %.300s", listed)
	}
	result := `{"x":$V,"structuredContent":{"s":"` + long + `"},"content":[{"type":"text","text":"` + long + `","x":$V},{"type":"vendor","y":$V}],"isError":false}`
	_, _, m := g.line(p, `{"jsonrpc":"2.0","id":90,"method":"tools/call","params":{"name":"cut__echo","_meta":{$M,"fake/result":`+result+`}}}`)
	f.same("a cut result", []byte(f.fill(`{"jsonrpc":"2.0","id":90,"result":`+result+`}`)), m.Raw,
		removed("result | structuredContent", "result", "structuredContent"), replaced("result | texts", "result", "content"))
	for _, want := range []string{f.fill(`"x":$V}`), f.fill(`{"type":"vendor","y":$V}`), "postern://results/"} {
		if !bytes.Contains(m.Raw, []byte(want)) {
			t.Errorf("the cut result has no %.60s: %.300s", want, m.Raw)
		}
	}
}
