package mcptest

import (
	"encoding/base64"
	"fmt"
	"path/filepath"
	"testing"
)

func TestMethods(t *testing.T) {
	a := start(t, "-more")
	contains(t, "initialize", a.Initialize(), `"completions":{}`, `"tasks":{"list"`)
	contains(t, "prompts/list", a.Ask("prompts/list", ""), `{"prompts":[{"name":"greet"`)
	contains(t, "prompts/get", a.Ask("prompts/get", `{"name":"greet","arguments":{"who":"\u0041"}}`), `greet {\"who\":\"\\u0041\"}`)
	contains(t, "resources/read", a.Ask("resources/read", `{"uri":"fake://text"}`), `"mimeType":"text/plain","text":"content of fake://text"`)
	contains(t, "a blob", a.Ask("resources/read", `{"uri":"fake://blob"}`), `"blob":"`+base64.StdEncoding.EncodeToString([]byte("content of fake://blob")))
	contains(t, "a template", a.Ask("resources/read", `{"uri":"fake://big/5"}`), `"text":"xxxxx"`)
	a.Request("resources/read", `{"uri":"fake://item/never"}`)
	a.Request("prompts/get", `{"name":"greet","arguments":{"who":"never"}}`)
	contains(t, "completion", a.Ask("completion/complete", `{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"a"}}`), `["greet","who=a"]`)
	contains(t, "vendor", a.Ask("vendor/any", `{"x":1.0}`), `{"method":"vendor/any","params":{"x":1.0}}`)
	contains(t, "as told", a.Ask("resources/subscribe", `{"_meta":{"fake/result":{"r": -0}}}`), `{"r": -0}`)
	for params, code := range map[string]string{
		`{"uri":"other://x"}`: "-32002", `{"_meta":{"fake/error":{"code":-1,"message":"m","x":1e400}}}`: `"x":1e400`,
	} {
		contains(t, params, a.Expect(a.Request("resources/read", params)).ErrorBytes(), code)
	}
	contains(t, "no prompt", a.Expect(a.Request("prompts/get", `{"name":"x"}`)).ErrorBytes(), "-32602")
	contains(t, "no listening", a.Expect(a.Request("subscriptions/listen", "")).ErrorBytes(), "-32601")
	contains(t, "needurl", a.Expect(a.Request("tools/call", CallParams("needurl", `{"elicitationId":"e","url":"https://x"}`))).ErrorBytes(),
		"-32042", `"elicitations":[{"mode":"url","elicitationId":"e","url":"https://x"`)
}

func TestLegacyNotifications(t *testing.T) {
	a := start(t, "-more")
	a.InitializeAs("2024-11-05", "{}")
	a.Call("update", `{"uri":"fake://text"}`)
	a.Ask("resources/subscribe", `{"uri":"fake://text"}`)
	a.Call("update", `{"uri":"fake://text"}`)
	a.ExpectNotification("notifications/resources/updated")
	a.Ask("resources/unsubscribe", `{"uri":"fake://text"}`)
	a.Call("update", `{"uri":"fake://text"}`)
	a.Ask("logging/setLevel", `{"level":"warning"}`)
	a.Call("log", `{"level":"info","data":1}`)
	a.Call("log", `{"level":"error","data":{"n":2}}`)
	contains(t, "message", a.ExpectNotification("notifications/message").ParamsBytes(), `"level":"error","data":{"n":2}`)
	contains(t, "a wrong level", a.Expect(a.Request("logging/setLevel", `{"level":"loud"}`)).ErrorBytes(), "-32602")
	a.Call("change", `{"prompts":[],"silent":true}`)
	contains(t, "changed", a.Ask("prompts/list", ""), `{"prompts":[]}`)
	a.Call("change", `{"templates":[]}`)
	a.ExpectNotification("notifications/resources/list_changed")
	if n := count(a, "notifications/resources/updated"); n != 1 {
		t.Errorf("updated %d times", n)
	}
}

func count(a *Agent, method string) (n int) {
	for _, m := range a.Lines() {
		if m.Method == method {
			n++
		}
	}
	return n
}

func TestQuestions(t *testing.T) {
	events := filepath.Join(t.TempDir(), "events")
	a := start(t, "-events", events)
	a.Initialize()
	id := a.Request("tools/call", CallParams("ask", `{"method":"roots/list"}`))
	a.Answer(a.ExpectRequest("roots/list"), `{"roots":[]}`)
	contains(t, "answered", a.Expect(id).ResultBytes(), `"result":{"roots":[]}`)
	id = a.Request("tools/call", CallParams("ask", `{"method":"roots/list"}`))
	a.Refuse(a.ExpectRequest("roots/list"), -1, "no")
	contains(t, "refused", a.Expect(id).ResultBytes(), `"error":{"code":-1,"message":"no"}`)

	id = a.Request("tools/call", CallParams("ask", `{"method":"roots/list"}`))
	q := a.ExpectRequest("roots/list")
	a.Call("unask", `{"reason":"late"}`)
	contains(t, "cancelled", a.ExpectNotification("notifications/cancelled").ParamsBytes(), `"requestId":`+string(q.IDBytes()), `"reason":"late"`)
	contains(t, "unasked", a.Expect(id).ResultBytes(), `{"cancelled":true}`)
	contains(t, "nothing open", a.Call("unask", ""), "nothing is asked")

	a.Call("ask", `{"method":"x/y","after":true}`)
	a.ExpectRequest("x/y")
	a.Notify("notifications/roots/list_changed", "")
	id = a.Request("tools/call", CallParams("late", ""))
	WaitEvents(t, events, "call", 7)
	a.Cancel(id, "enough")
	a.Expect(id)
	a.Expect(a.Request("tools/call", `{"name":"notify","arguments":{"method":"notifications/progress","params":{"progressToken":"$TOKEN"}},"_meta":{"progressToken":1.0}}`))
	contains(t, "the token", a.ExpectNotification("notifications/progress").ParamsBytes(), `{"progressToken":1.0}`)
	contains(t, "events", []byte(fmt.Sprint(Events(t, events, ""))), "notifications/roots/list_changed", `"reason":"enough"`)
}

func TestLegacyTasks(t *testing.T) {
	a := start(t, "-more")
	a.Initialize()
	task := func(tool, args, want string) {
		t.Helper()
		contains(t, tool, a.Ask("tools/call", `{"name":"`+tool+`","arguments":`+args+`,"task":{"ttl":1}}`), `{"task":{"taskId":"`+want+`","status":"working"`)
	}
	task("echo", `{"a":1}`, "task-1")
	contains(t, "status", a.ExpectNotification("notifications/tasks/status").ParamsBytes(), `"taskId":"task-1","status":"completed"`)
	contains(t, "tasks/get", a.Ask("tasks/get", `{"taskId":"task-1"}`), `"status":"completed"`)
	contains(t, "tasks/result", a.Ask("tasks/result", `{"taskId":"task-1"}`), `"structuredContent":{"a":1}`, `related-task":{"taskId":"task-1"}`)
	task("never", `{}`, "task-2")
	waiting := a.Request("tasks/result", `{"taskId":"task-2"}`)
	contains(t, "tasks/cancel", a.Ask("tasks/cancel", `{"taskId":"task-2"}`), `"status":"cancelled"`)
	contains(t, "of a cancelled task", a.Expect(waiting).ErrorBytes(), "-32603")
	contains(t, "cancelled twice", a.Expect(a.Request("tasks/cancel", `{"taskId":"task-2"}`)).ErrorBytes(), "-32602")
	task("late", `{}`, "task-3")
	a.Call("finish", `{"taskId":"task-3"}`)
	contains(t, "finished", a.Ask("tasks/result", `{"taskId":"task-3"}`), "finished")
	contains(t, "tasks/list", a.Ask("tasks/list", ""), `"task-1"`, `"task-2"`, `"task-3"`)
	for method, code := range map[string]string{"tasks/get": "-32602", "tasks/update": "-32601"} {
		contains(t, method, a.Expect(a.Request(method, `{"taskId":"x"}`)).ErrorBytes(), code)
	}
}

func TestModernTasks(t *testing.T) {
	a := start(t, "-more", "-era", "modern")
	a.Modern(`{}`)
	contains(t, "discover", a.Ask("server/discover", ""), `"extensions":{"io.modelcontextprotocol/tasks":{}}`)
	listen := a.Request("subscriptions/listen", `{"notifications":{"taskIds":["task-1","task-2"]}}`)
	a.ExpectNotification("notifications/subscriptions/acknowledged")
	contains(t, "task", a.Call("task", `{"requests":{"q":{"method":"roots/list"}}}`), `{"resultType":"task","taskId":"task-1","status":"input_required"`)
	contains(t, "tasks/get", a.Ask("tasks/get", `{"taskId":"task-1"}`), `"resultType":"complete"`, `"inputRequests":{"q":{"method":"roots/list"}}`)
	a.Ask("tasks/update", `{"taskId":"task-1","inputResponses":{"q":{"roots":[]}}}`)
	contains(t, "told", a.ExpectNotification("notifications/tasks").ParamsBytes(), `subscriptionId":`+listen, `"status":"completed","createdAt"`, `{"q":{"roots":[]}}`)
	a.Call("task", "")
	a.Ask("tasks/cancel", `{"taskId":"task-2"}`)
	contains(t, "told", a.ExpectNotification("notifications/tasks").ParamsBytes(), `"status":"cancelled"`)
	a.Call("task", `{"ms":1}`)
	if !Eventually(func() bool {
		return string(member(a.Ask("tasks/get", `{"taskId":"task-3"}`), "status")) == `"completed"`
	}) {
		t.Error("a task does not end")
	}
	contains(t, "tasks/result", a.Expect(a.Request("tasks/result", `{"taskId":"task-1"}`)).ErrorBytes(), "-32601")
}

func TestRounds(t *testing.T) {
	a := start(t, "-more", "-era", "dual")
	contains(t, "legacy", a.Call("rounds", ""), `"inputResponses":null`)
	a.Modern(`{"elicitation":{}}`)
	ask := `{"name":"rounds","arguments":{"n":2,"requests":[{"a":{"method":"roots/list"}},null]}`
	contains(t, "round 1", a.Ask("tools/call", ask+"}"), `{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}},"requestState":"\u0072ound\/1"}`)
	contains(t, "round 2", a.Ask("tools/call", ask+`,"requestState":"\u0072ound\/1"}`), `{"resultType":"input_required","requestState":"\u0072ound\/2"}`)
	contains(t, "the end", a.Ask("tools/call", ask+`,"inputResponses":{"a": {}},"requestState":"\u0072ound\/2"}`),
		`"structuredContent":{"inputResponses":{"a": {}},"requestState":"\u0072ound\/2"}`, `"resultType":"complete"`)
	contains(t, "another encoder", a.Expect(a.Request("tools/call", ask+`,"requestState":"round/1"}`)).ErrorBytes(), "-32602")
	contains(t, "a prompt", a.Ask("prompts/get", `{"name":"rounds"}`), `"input_required"`, `elicitation/create`)
	contains(t, "a resource", a.Ask("resources/read", `{"uri":"fake://rounds"}`), `"input_required"`)
	contains(t, "read", a.Ask("resources/read", `{"uri":"fake://text"}`), `"ttlMs":0,"cacheScope":"private"`, `"resultType":"complete"`)
	contains(t, "no resource", a.Expect(a.Request("resources/read", `{"uri":"x:y"}`)).ErrorBytes(), "-32602")
}

func TestListens(t *testing.T) {
	a := start(t, "-more", "-era", "modern")
	a.Modern("{}")
	one := a.Request("subscriptions/listen", `{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["fake://text"]}}`)
	contains(t, "acknowledged", a.ExpectNotification("notifications/subscriptions/acknowledged").ParamsBytes(), `subscriptionId":`+one, `{"toolsListChanged":true,"res`)
	two := a.Request("subscriptions/listen", `{"notifications":{"promptsListChanged":true},"_meta":{"x":1}}`)
	a.ExpectNotification("notifications/subscriptions/acknowledged")
	a.Call("change", `{"tools":[]}`)
	contains(t, "tools", a.ExpectNotification("notifications/tools/list_changed").ParamsBytes(), `{"io.modelcontextprotocol/subscriptionId":`+one+`}`)
	a.Call("change", `{"prompts":[]}`)
	contains(t, "prompts", a.ExpectNotification("notifications/prompts/list_changed").ParamsBytes(), `subscriptionId":`+two)
	a.Call("update", `{"uri":"fake://blob"}`)
	a.Call("update", `{"uri":"fake://text"}`)
	contains(t, "updated", a.ExpectNotification("notifications/resources/updated").ParamsBytes(), `"uri":"fake://text"`, `subscriptionId":`+one)
	a.Cancel(one, "")
	a.Call("change", `{"tools":[]}`)
	a.Call("unlisten", "")
	contains(t, "the end", a.Expect(two).ResultBytes(), `subscriptionId":`+two, `"resultType":"complete"`)
	if n := count(a, "notifications/tools/list_changed"); n != 1 {
		t.Errorf("tools changed %d times", n)
	}
	a.Ask("tools/call", `{"name":"log","arguments":{"level":"error","data":0}}`)
	a.Ask("tools/call", `{"name":"log","arguments":{"level":"error","data":1},"_meta":{"io.modelcontextprotocol/logLevel":"error"}}`)
	contains(t, "logged", a.ExpectNotification("notifications/message").ParamsBytes(), `"data":1`)
	contains(t, "nothing named", a.Expect(a.Request("subscriptions/listen", "{}")).ErrorBytes(), "-32602")
}
