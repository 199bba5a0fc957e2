package pkg

import (
	"fmt"
	"slices"
	"strings"

	"postern/pkg/mcptest"
	"postern/pkg/wire"
)

// everythingRow is a part of what is done with the public server. One agent does
// all of them, in order.
type everythingRow struct {
	name   string
	own    bool // of what is one agent's: not for a server that agents share
	alone  bool // of what the gateway merges over servers, if there can be several
	do     func(*everythingRun) (saw []string)
	shared func(item string) bool // what a server that agents share has not
}

// in reports whether a row is for a run.
func (row everythingRow) in(r *everythingRun) bool {
	return !(row.own && r.shared) && !(row.alone && r.prefix != "")
}

func everythingRows() []everythingRow {
	run := func(do func(*everythingRun)) func(*everythingRun) []string {
		return func(r *everythingRun) []string { do(r); return nil }
	}
	list := func(method, key string) func(*everythingRun) []string {
		return func(r *everythingRun) []string { return r.list(method, key) }
	}
	return []everythingRow{
		{name: "initialize", alone: true, do: func(r *everythingRun) []string { return []string{r.hello} }},
		{name: "roots", own: true, do: run((*everythingRun).roots)},
		{name: "tools/list", do: (*everythingRun).listTools, shared: func(item string) bool {
			return strings.Contains(item, `"name":"get-roots-list"`) || strings.Contains(item, `"name":"trigger-sampling-request"`)
		}},
		{name: "prompts/list", do: list("prompts/list", "prompts")},
		{name: "resources/list", do: list("resources/list", "resources")},
		{name: "resources/templates/list", do: list("resources/templates/list", "resourceTemplates")},
		{name: "calls", do: run((*everythingRun).calls)},
		{name: "failures", do: run((*everythingRun).failures)},
		{name: "traceparent", do: run((*everythingRun).traced)},
		{name: "progress", do: run((*everythingRun).progress)},
		{name: "cancel", do: run((*everythingRun).cancel)},
		{name: "elicitation", do: run((*everythingRun).elicit)},
		{name: "elicitation, url", do: run((*everythingRun).visit)},
		{name: "sampling", own: true, do: run((*everythingRun).sample)},
		{name: "prompts/get", do: run((*everythingRun).prompts)},
		{name: "resources/read", do: run((*everythingRun).resources)},
		{name: "resource links", do: (*everythingRun).links},
		{name: "completion", do: run((*everythingRun).complete)},
		{name: "subscriptions", do: run((*everythingRun).subscribe)},
		{name: "log levels", do: run((*everythingRun).levels)},
		{name: "tasks", do: run((*everythingRun).tasks)},
		{name: "8 MiB", do: run((*everythingRun).large)},
	}
}

// roots: the server asks after its start, and again when they change.
func (r *everythingRun) roots() {
	r.call("echo", `{"message":"start"}`)
	for _, answer := range []string{`{"roots":[{"uri":"file:///one","name":"One"},{"uri":"file:///two"}]}`, `{"roots":[{"uri":"file:///three"}]}`} {
		r.a.Answer(r.a.ExpectRequest("roots/list"), answer)
		r.a.ExpectNotification("notifications/message")
		r.call("get-roots-list", "{}")
		if strings.Contains(answer, "One") {
			r.a.Notify("notifications/roots/list_changed", "")
		}
	}
}

// listTools waits for the tools that the server has only for agents that it can
// ask; it adds them once it knows the agent.
func (r *everythingRun) listTools() []string {
	r.call("echo", `{"message":"start"}`)
	return r.listUntil("tools/list", "tools", `"trigger-url-elicitation"`)
}

func (r *everythingRun) listUntil(method, key, text string) (saw []string) {
	r.t.Helper()
	if !mcptest.Eventually(func() bool {
		saw = r.list(method, key)
		return slices.ContainsFunc(saw, func(item string) bool { return strings.Contains(item, text) })
	}) {
		r.t.Errorf("%s never had %s", method, text)
	}
	return saw
}

func (r *everythingRun) calls() {
	r.call("echo", `{"message":"gr\u00fc\u00dfe \ud83d\ude00 <&>"}`)
	r.call("get-sum", `{"a":1.50,"b":9007199254740993}`)
	r.call("get-structured-content", `{"location":"Chicago"}`)
	r.call("get-tiny-image", `{}`)
	r.call("get-annotated-message", `{"messageType":"error","includeImage":true}`)
	r.call("get-resource-reference", `{"resourceType":"Text","resourceId":3}`)
	r.call("get-resource-reference", `{"resourceType":"Blob","resourceId":4}`)
}

func (r *everythingRun) failures() {
	r.call("echo", `{"message":5}`)
	r.call("get-resource-reference", `{"resourceId":-1}`)
	r.send("prompts/get", `{"name":"$Pargs-prompt"}`, `{"name":"$Presource-prompt","arguments":{"resourceType":"Other","resourceId":"1"}}`)
	r.send("resources/read", `{"uri":"demo://resource/dynamic/text/zero"}`)
}

func (r *everythingRun) traced() {
	r.call("echo", `{"message":"traced"}`, `"_meta":{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":"vendor=\u0041","baggage":"a=1","vendor/x":[1.0]}`)
}

// progress comes in order, under the agent's token, and before the answer.
func (r *everythingRun) progress() {
	id := r.start("trigger-long-running-operation", `{"duration":0.6,"steps":3}`, `"_meta":{"progressToken":"mine"}`)
	r.a.Expect(id)
	var order []string
	for _, m := range r.a.Lines()[r.lines:] {
		switch {
		case m.Method == "notifications/progress":
			order = append(order, string(member(r.t, m.ParamsBytes(), "progressToken"))+" "+string(member(r.t, m.ParamsBytes(), "progress")))
		case string(m.IDBytes()) == id:
			order = append(order, "answer")
		}
	}
	if got := fmt.Sprint(order); got != `["mine" 1 "mine" 2 "mine" 3 answer]` {
		r.t.Errorf("progress: %s", got)
	}
}

// cancel: a call is not answered, and the server hears which one it was, and why.
func (r *everythingRun) cancel() {
	heard := func(text string) {
		r.t.Helper()
		if !mcptest.Eventually(func() bool {
			all := r.recorded()
			return strings.Contains(string(all[len(all)-1].Raw), text)
		}) {
			r.t.Errorf("the server did not hear %s", text)
		}
	}
	id := r.start("trigger-long-running-operation", `{"duration":30,"steps":1}`)
	heard(`"duration":30`)
	r.a.Cancel(id, `no longer "wanted"`)
	heard("notifications/cancelled")
}

func (r *everythingRun) elicit() {
	for _, answer := range []string{
		`{"action":"accept","content":{"name":"A","check":true,"integer":42,"number":3.140,"untitledMultipleSelectEnum":["Piano"]}}`,
		`{"action":"decline"}`, `{"action":"cancel"}`,
	} {
		id := r.start("trigger-elicitation-request", "{}")
		r.a.Answer(r.a.ExpectRequest("elicitation/create"), answer)
		r.a.Expect(id)
	}
	id := r.start("trigger-elicitation-request", "{}")
	r.a.Refuse(r.a.ExpectRequest("elicitation/create"), -32000, "not today")
	r.a.Expect(id)
}

// visit: a question and an error that name an address.
func (r *everythingRun) visit() {
	id := r.start("trigger-url-elicitation", `{"url":"https://example.com/a?b=c&d","elicitationId":"e-1"}`)
	r.a.Answer(r.a.ExpectRequest("elicitation/create"), `{"action":"accept"}`)
	r.a.Expect(id)
	r.call("trigger-url-elicitation", `{"url":"https://example.com/b","elicitationId":"e-2","errorPath":true}`)
}

func (r *everythingRun) sample() {
	id := r.start("trigger-sampling-request", `{"prompt":"Say \"hi\"","maxTokens":7}`)
	r.a.Answer(r.a.ExpectRequest("sampling/createMessage"), `{"role":"assistant","content":{"type":"text","text":"hi"},"model":"m-1","stopReason":"endTurn"}`)
	r.a.Expect(id)
}

func (r *everythingRun) prompts() {
	r.send("prompts/get", `{"name":"$Psimple-prompt"}`, `{"name":"$Pargs-prompt","arguments":{"city":"Chicago","state":"Illinois"}}`,
		`{"name":"$Pcompletable-prompt","arguments":{"department":"Sales","name":"Eve"}}`,
		`{"name":"$Presource-prompt","arguments":{"resourceType":"Text","resourceId":"1"}}`,
		`{"name":"$Presource-prompt","arguments":{"resourceType":"Blob","resourceId":"2"}}`)
}

func (r *everythingRun) resources() {
	r.send("resources/read", `{"uri":"demo://resource/static/document/features.md"}`, `{"uri":"demo://resource/dynamic/text/7"}`, `{"uri":"demo://resource/dynamic/blob/8"}`)
}

// links: results that name resources, one of which is new.
func (r *everythingRun) links() []string {
	r.call("get-resource-links", `{"count":4}`)
	r.send("resources/read", `{"uri":"demo://resource/dynamic/text/2"}`)
	r.call("gzip-file-as-resource", `{"name":"small.gz","data":"data:text/plain,hello"}`)
	r.a.ExpectNotification("notifications/resources/list_changed")
	saw := r.listUntil("resources/list", "resources", `"demo://resource/session/small.gz"`)
	r.send("resources/read", `{"uri":"demo://resource/session/small.gz"}`)
	return saw
}

func (r *everythingRun) complete() {
	r.send("completion/complete",
		`{"ref":{"type":"ref/prompt","name":"$Pcompletable-prompt"},"argument":{"name":"department","value":"S"}}`,
		`{"ref":{"type":"ref/prompt","name":"$Pcompletable-prompt"},"argument":{"name":"name","value":""},"context":{"arguments":{"department":"Support"}}}`,
		`{"ref":{"type":"ref/resource","uri":"demo://resource/dynamic/text/{resourceId}"},"argument":{"name":"resourceId","value":"5"}}`)
}

// subscribe: the server tells at once of what is subscribed to when it is asked to
// tell, and then no more.
func (r *everythingRun) subscribe() {
	const features = `{"uri":"demo://resource/static/document/features.md"}`
	r.send("resources/subscribe", features)
	r.call("toggle-subscriber-updates", `{}`)
	r.a.ExpectNotification("notifications/resources/updated")
	r.call("toggle-subscriber-updates", `{}`)
	r.send("resources/unsubscribe", features)
	r.call("toggle-subscriber-updates", `{}`)
	r.call("toggle-subscriber-updates", `{}`)
}

// levels: the server says something at the level info of each subscription.
func (r *everythingRun) levels() {
	for _, level := range []string{"error", "info", "warning", "debug"} {
		r.ask("logging/setLevel", `{"level":"`+level+`"}`)
		r.send("resources/subscribe", `{"uri":"demo://resource/dynamic/text/`+level+`"}`)
	}
}

// tasks: a call goes on behind a task, which asks the agent something.
func (r *everythingRun) tasks() {
	id := r.start("simulate-research-query", `{"topic":"python","ambiguous":true}`, `"task":{"ttl":60000}`)
	task := `{"taskId":` + string(member(r.t, r.a.Expect(id).ResultBytes(), "task", "taskId")) + `}`
	r.send("tasks/get", task)
	id = r.a.Request("tasks/result", task)
	r.a.Answer(r.a.ExpectRequest("elicitation/create"), `{"action":"accept","content":{"interpretation":"snake"}}`)
	r.a.Expect(id)
	r.send("tasks/get", task)
}

func (r *everythingRun) large() {
	r.call("gzip-file-as-resource", `{"name":"large.gz","outputType":"resource","data":"`+r.page+`"}`)
	r.send("resources/read", `{"uri":"demo://resource/session/large.gz"}`)
	for _, m := range r.a.Lines()[r.lines:] {
		if m.Kind == wire.Response && len(m.Raw) < 8<<20 {
			r.t.Errorf("an answer of %d bytes", len(m.Raw))
		}
	}
}
