package pkg

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"postern/pkg/mcptest"
	"postern/pkg/wire"
)

// question is a request of a server and the agent's answer.
type question struct{ method, params, answer string }

func questions() []question {
	const form = `{"x":$V,"message":"\u0041sk","requestedSchema":{"type":"object","properties":{"a":{"default":"D","format":"unknown"},"b":{"type":"string","default":""}},"required":[]},"_meta":{"vendor/x":$V}}`
	return []question{
		{"elicitation/create", form, `"result":{"action":"accept","content":$V,"x":$V}`},
		{"elicitation/create", form, `"result":{"action":"decline"}`},
		{"elicitation/create", form, `"error":{"code":-1,"message":"","data":$V,"x":$V}`},
		{"elicitation/create", `{"mode":"url","elicitationId":"","url":"https:\/\/example.com\/\u0041","message":"","x":$V}`, `"result":{"action":"cancel","x":1.0}`},
		{"roots/list", `{"_meta":{"vendor/x":$V}}`, `"result":{"roots":[{"uri":"file:\/\/\/","name":"","x":$V}],"x":$V}`},
		{"roots/list", ``, `"error":{"message":"no","code":-32603}`},
		{"sampling/createMessage", `{"messages":[{"role":"user","content":{"type":"text","text":"","x":$V}}],"maxTokens":1.0,"temperature":0,"metadata":$V,"tools":[$V],"x":$V,"_meta":{"progressToken":"\u0074\/"}}`,
			`"result":{"role":"assistant","content":[{"type":"tool_use","input":$V}],"model":"","stopReason":"","x":$V}`},
		{"elicitation/create", `{"x":$V,"task":{"ttl":1.0,"x":$V},"message":"\u0041sk"}`, `"result":{"task":{"taskId":"\u0074-1","status":"working","ttl":null,"x":$V},"x":$V}`},
		{"tasks/get", `{"taskId":"t-\u0031","x":$V}`, `"result":{"taskId":"t-1","status":"input_required","x":$V}`},
		{"tasks/result", `{"x":$V,"taskId":"t-1"}`, `"result":{"action":"accept","content":$V,"_meta":{"io.modelcontextprotocol\/related-task":{"taskId":"t-1"},"x":$V}}`},
		{"tasks/cancel", `{"taskId":"t-1","x":$V}`, `"error":{"code":-32602,"message":"","data":$V}`},
		{"tasks/list", `{"cursor":"","x":$V}`, `"result":{"x":$V,"tasks":[{"x":$V,"taskId":"t-1"} ],"nextCursor":"\u0041"}`},
	}
}

// talk is what servers ask and tell, and what agents answer and tell.
func (f *fidelity) talk(t *testing.T, p pair) {
	f.ledger.t = t
	for _, q := range questions() {
		f.ask(p, q)
	}
	f.othersTasks(p)
	f.withdrawn(p)
	f.heard(p)
	f.told(p)
}

// ask has the server ask, and answers.
func (f *fidelity) ask(p pair, q question) {
	f.t.Helper()
	what := fmt.Sprintf("%v: %s", p, q.method)
	args := `{"method":"` + q.method + `"`
	var asked []byte
	if q.params != "" {
		asked = []byte(f.fill(q.params))
		args += `,"params":` + string(asked)
	}
	params, _ := f.row(p, `{"name":"$Pask","arguments":`+args+`}}`)
	id := p.a.Request("tools/call", params)
	got := p.a.ExpectRequest(q.method)
	changes := []change{replaced("question | id", "id"), replaced("question | params._meta.progressToken", "params", "_meta", "progressToken")}
	if !p.only {
		changes = append(changes, replaced("question, elicitation/create | message", "params", "message"))
	}
	f.same(what, wire.RequestLine([]byte(`"fake"`), q.method, asked), got.Raw, changes...)
	if q.method == "sampling/createMessage" {
		f.askedProgress(p, got)
	}
	f.rows++
	mark := fmt.Sprintf(`"vendor/row":"r%d"`, f.rows)
	answer := f.fill(`{"vendor":[1.0],` + q.answer + ` ,"id":` + string(got.IDBytes()) + `,` + mark + `, "jsonrpc":"2.0"}`)
	p.a.Send(answer)
	f.same(what+", the answer", []byte(answer), f.came(p, mark), replaced("answer to a question | id", "id"))
	p.a.Expect(id)
}

// othersTasks is a list of tasks of which some are of another server's questions.
func (f *fidelity) othersTasks(p pair) {
	f.t.Helper()
	id := p.a.Request("tools/call", mcptest.CallParams(p.name("ask"), `{"method":"tasks/list"}`))
	q := p.a.ExpectRequest("tasks/list")
	f.rows++
	mark := fmt.Sprintf(`"vendor/row":"r%d"`, f.rows)
	answer := f.fill(`{"jsonrpc":"2.0","result":{"tasks":[ {"taskId":"t-2","x":$V}, {"x":$V,"taskId":"t-1"} ],` + mark + `,"x":$V},"id":` + string(q.IDBytes()) + `}`)
	p.a.Send(answer)
	want := strings.Replace(answer, f.fill(`[ {"taskId":"t-2","x":$V}, {"x":$V,"taskId":"t-1"} ]`), f.fill(`[{"x":$V,"taskId":"t-1"}]`), 1)
	f.same(p.String()+": others' tasks", []byte(answer), f.came(p, mark),
		taken("answer to a question, tasks/list | tasks", func([]byte) []byte { return []byte(want) }), replaced("answer to a question | id", "id"))
	p.a.Expect(id)
}

// askedProgress is the agent's progress of what it is asked.
func (f *fidelity) askedProgress(p pair, q wire.Message) {
	f.t.Helper()
	at, _ := find(q.Raw, []string{"params", "_meta", "progressToken"})
	f.rows++
	mark := fmt.Sprintf(`"vendor/row":"r%d"`, f.rows)
	params := f.fill(`{"x":$V,"progress":1.0,"progressToken":` + string(at.Of(q.Raw)) + `,"message":"",` + mark + `}`)
	p.a.Notify("notifications/progress", params)
	restored := strings.Replace(params, `"progressToken":`+string(at.Of(q.Raw)), `"progressToken":"\u0074\/"`, 1)
	f.same(p.String()+": progress of a question", wire.NotificationLine("notifications/progress", []byte(restored)), f.came(p, mark))
}

// withdrawn is a question that the server takes back.
func (f *fidelity) withdrawn(p pair) {
	f.t.Helper()
	id := p.a.Request("tools/call", mcptest.CallParams(p.name("ask"), `{"method":"roots/list"}`))
	q := p.a.ExpectRequest("roots/list")
	p.a.Call(p.name("unask"), `{"reason":"\u0041 \"reason\""}`)
	got := p.a.ExpectNotification("notifications/cancelled")
	sent := wire.NotificationLine("notifications/cancelled", []byte(`{"requestId":`+string(q.IDBytes())+`,"reason":`+string(wire.Quote(`A "reason"`))+`}`))
	f.same(p.String()+": a question taken back", sent, got.Raw)
	p.a.Expect(id)
}

// heard are the notifications of a server.
func (f *fidelity) heard(p pair) {
	f.t.Helper()
	p.a.Ask("resources/subscribe", `{"uri":"`+p.uri("fake://text")+`"}`)
	for _, n := range []struct{ method, params string }{
		{"notifications/message", `{"level":"info","logger":"","data":$V,"x":$V}`},
		{"notifications/message", `{"level":"debug","data":null}`},
		{"notifications/progress", `{"x":$V,"progressToken":"$TOKEN","progress":0,"total":1e400,"message":""}`},
		{"notifications/resources/updated", `{"x":$V,"uri":"fake:\/\/text","_meta":{"vendor/x":$V}}`},
		{"notifications/vendor/any", `$V`},
		{"notifications/vendor/none", ``},
	} {
		args, sent := `{"method":"`+n.method+`"`, []byte(nil)
		if n.params != "" {
			sent = []byte(f.fill(strings.ReplaceAll(n.params, `"$TOKEN"`, `"\u0074\/2"`)))
			args += `,"params":` + f.fill(n.params)
		}
		id := p.a.Request("tools/call", `{"name":"`+p.name("notify")+`","arguments":`+args+`},"_meta":{"progressToken":"\u0074\/2"}}`)
		got := p.a.ExpectNotification(n.method)
		f.same(p.String()+": "+n.method, wire.NotificationLine(n.method, sent), got.Raw)
		p.a.Expect(id)
	}
}

// told are the notifications of the agent.
func (f *fidelity) told(p pair) {
	f.t.Helper()
	methods := []string{"notifications/roots/list_changed", "notifications/tasks/status"}
	if p.only {
		methods = append(methods, "notifications/vendor/any")
	}
	for _, method := range methods {
		f.rows++
		mark := fmt.Sprintf(`"vendor/row":"r%d"`, f.rows)
		sent := wire.NotificationLine(method, []byte(f.fill(`{"x":$V,"taskId":"t-1","_meta":{`+mark+`}}`)))
		p.a.Send(string(sent))
		f.same(p.String()+": "+method, sent, f.came(p, mark))
	}
	params, mark := f.row(p, `{"name":"$Plate","_meta":{$M}}`)
	id := p.a.Request("tools/call", params)
	at, _ := find(f.came(p, mark), []string{"id"})
	theirs := string(at.Of(f.came(p, mark)))
	sent := wire.NotificationLine("notifications/cancelled", []byte(`{"requestId":`+id+`,"reason":"\u0041 reason"}`))
	p.a.Send(string(sent))
	var came []byte
	if !mcptest.Eventually(func() bool {
		for _, e := range mcptest.Events(f.t, f.h.path(p.server+".events"), "recv") {
			if strings.Contains(e.Data, "notifications/cancelled") && strings.Contains(e.Data, `"requestId":`+theirs) {
				came = []byte(e.Data)
			}
		}
		return came != nil
	}) {
		f.t.Fatalf("%v: a cancellation did not come", p)
	}
	f.same(p.String()+": cancelled", sent, came, replaced("notification, cancelled | requestId", "params", "requestId"), replaced("notification, cancelled | reason", "params", "reason"))
}

// lists are the four lists, item by item.
func (f *fidelity) lists(t *testing.T, p pair) {
	f.ledger.t = t
	for _, list := range []struct{ method, file, key, name string }{
		{"tools/list", "tools", "tools", "name"}, {"prompts/list", "prompts", "prompts", "name"},
		{"resources/list", "resources", "resources", "uri"}, {"resources/templates/list", "templates", "resourceTemplates", "uriTemplate"},
	} {
		text, err := os.ReadFile("testdata/fidelity/" + list.file + ".json")
		if err != nil {
			t.Fatal(err)
		}
		sent := items(t, wire.OneLine([]byte(f.fill(string(text)))))
		params, _ := f.row(p, `{"_meta":{$M}}`)
		result := p.a.Ask(list.method, params)
		at, _ := find(result, []string{list.key})
		if !p.only && strings.Contains(string(at.Of(result)), "old") && strings.Contains(string(at.Of(result)), "new") {
			f.seen("list | the list")
		}
		byName := map[string][]byte{}
		for _, item := range items(t, at.Of(result)) {
			in, _ := find(item, []string{list.name})
			name, _ := wire.Unquote(in.Of(item))
			byName[name] = item
		}
		for _, item := range sent {
			in, _ := find(item, []string{list.name})
			own, _ := wire.Unquote(in.Of(item))
			exposed := p.name(own)
			if strings.HasPrefix(list.name, "uri") {
				exposed = p.uri(own)
			}
			changes := []change{replaced("list | name, uri", list.name), inserted("list, tools | inputSchema", "inputSchema", "type")}
			f.same(p.String()+": "+list.method+", "+own, item, byName[exposed], changes...)
		}
	}
}

func items(t *testing.T, array []byte) (all [][]byte) {
	t.Helper()
	if err := wire.EachElement(array, func(v wire.Span) bool {
		all = append(all, v.Of(array))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return all
}
