package pkg

import (
	"strings"
	"testing"

	"postern/pkg/gateway"
	"postern/pkg/wire"
)

// What only one era has, or only a session of one server.

// withinEra are exchanges between an agent and a server of one era, in order: a
// task must be there before it is asked about.
func withinEra(era, task string) (all []exchange) {
	for _, e := range withinOneEra(era) {
		for _, text := range []*string{&e.params, &e.result, &e.err} {
			*text = strings.ReplaceAll(*text, "$T", task)
		}
		all = append(all, e)
	}
	return all
}

func withinOneEra(era string) []exchange {
	const about = `{"x":$V,"taskId":"t\u002d$T","_meta":{$M,"vendor/x":$V}}`
	if era == "old" {
		return []exchange{
			{method: "tools/call", params: `{"task":{"ttl":1.0,"x":$V},"name":"$Pecho","_meta":{$M}}`, result: `{"x":$V,"task":{"taskId":"t\u002d$T","status":"working","ttl":1.0,"pollInterval":null,"x":$V},"_meta":{"vendor/x":$V}}`},
			{method: "tasks/get", params: about, result: `{"x":$V,"taskId":"t-$T","status":"working","statusMessage":""}`},
			{method: "tasks/result", params: about, result: `{"content":[{"type":"text","text":"","x":$V}],"x":$V,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t-$T","x":$V}}}`},
			{method: "tasks/cancel", params: about, err: `{"code":-32602,"message":"","data":$V,"x":$V}`},
			{method: "tasks/cancel", params: about, result: `{"x":$V,"taskId":"t-$T","status":"cancelled"}`},
		}
	}
	const asks = `{"x":$V,"resultType":"input_required","inputRequests":{"\u0071":{"x":$V,"method":"elicitation/create","params":$V}},"requestState":"\u0041\/"}`
	const again = `"inputResponses":{"\u0071":{"x":$V,"action":"accept"}},"requestState":"\u0041\/"`
	return []exchange{
		{method: "tools/call", params: `{"name":"$Pecho","_meta":{$M}}`, result: `{"resultType":"task","taskId":"t\u002d$T","status":"working","ttlMs":1.0,"x":$V}`},
		{method: "tasks/get", params: about, result: `{"x":$V,"resultType":"complete","taskId":"t-$T","status":"input_required","inputRequests":$V}`},
		{method: "tasks/update", params: `{"inputResponses":$V,"taskId":"t-$T","_meta":{$M}}`, result: `{"x":$V}`},
		{method: "tasks/cancel", params: about, result: `{"x":$V}`},
		{method: "tools/call", params: `{"name":"$Pecho","_meta":{$M}}`, result: asks},
		{method: "tools/call", params: `{"x":$V,` + again + `,"name":"$Pecho","_meta":{$M}}`, result: `{"content":[]}`},
		{method: "prompts/get", params: `{"name":"$Pgreet","_meta":{$M}}`, result: asks},
		{method: "resources/read", params: `{` + again + `,"uri":"$U(fake://text)","_meta":{$M}}`, result: `{"contents":[]}`},
		{method: "tools/call", params: `{"name":"$Pecho","_meta":{$M}}`, result: `{"resultType":"vendor\/odd","x":$V}`},
	}
}

// unknowns are methods that nobody knows.
func unknowns() []exchange {
	return []exchange{
		{method: "vendor/any", params: `{"x":$V,"_meta":{$M,"vendor/x":$V}}`, result: `{"x":$V,"list":[ ]}`},
		{method: "vendor/any", params: `{"x":$V,"_meta":{$M}}`, err: `{"message":"","x":$V,"code":-5}`},
	}
}

// era is one era on both sides.
func (f *fidelity) era(t *testing.T, p pair) {
	f.ledger.t = t
	if p.agent != p.server {
		return
	}
	task := "1" // another one for every session of a server
	if p.only {
		task = "2"
	}
	all := withinEra(p.agent, task)
	for _, e := range all[:1] {
		f.exchange(p, e)
	}
	f.tasks(p, task)
	for _, e := range all[1:] {
		f.exchange(p, e)
	}
	if p.only {
		for _, e := range unknowns() {
			f.exchange(p, e)
		}
	}
	if p.agent == "new" {
		f.heardLately(p)
	}
}

// tasks are what a server tells of the task that withinEra began.
func (f *fidelity) tasks(p pair, task string) {
	f.t.Helper()
	method, meta := "notifications/tasks/status", ""
	var changes []change
	if p.agent == "new" {
		method, meta = "notifications/tasks", `,"_meta":{`+modernMeta+`}`
		p.a.Request("subscriptions/listen", `{"notifications":{"taskIds":["t-`+task+`"]}`+meta+`}`)
		f.same("acknowledged", []byte(`["t-`+task+`"]`), member(f.t, p.a.ExpectNotification("notifications/subscriptions/acknowledged").Raw, "params", "notifications", "taskIds"))
		changes = []change{inserted("notification | params._meta.subscriptionId", "params", "_meta")}
	}
	params := f.fill(`{"x":$V,"taskId":"t\u002d` + task + `","status":"working","ttl":1.0}`)
	p.a.Ask("tools/call", `{"name":"`+p.name("notify")+`","arguments":{"method":"`+method+`","params":`+params+`}`+meta+`}`)
	f.same(p.String()+": "+method, wire.NotificationLine(method, []byte(params)), p.a.ExpectNotification(method).Raw, changes...)
}

// heardLately is what a modern agent hears while its request is under way.
func (f *fidelity) heardLately(p pair) {
	f.t.Helper()
	for _, n := range []struct{ method, params string }{
		{"notifications/message", `{"x":$V,"level":"error","data":$V,"logger":""}`},
		{"notifications/progress", `{"x":$V,"progress":1.0,"progressToken":"\u0074","message":""}`},
		{"notifications/vendor/any", `$V`},
	} {
		sent := f.fill(n.params)
		args := `{"method":"` + n.method + `","params":` + strings.Replace(sent, `"\u0074"`, `"$TOKEN"`, 1) + `}`
		p.a.Ask("tools/call", `{"name":"`+p.name("notify")+`","arguments":`+args+`,"_meta":{`+modernMeta+`,"io.modelcontextprotocol/logLevel":"info","progressToken":"\u0074"}}`)
		f.same(p.String()+": "+n.method, wire.NotificationLine(n.method, []byte(sent)), p.a.ExpectNotification(n.method).Raw)
	}
}

// TestFidelityOfHandshakes: a server that is served as itself says of itself what
// it said (R62, R71).
func TestFidelityOfHandshakes(t *testing.T) {
	const (
		info         = `{"name":"odd","version":"","title":"\u0041","x":[1e400,-0, 1.0]}`
		capabilities = `{"tools":{"x":1.0},"experimental":{"a":[1e400]},"vendor": {} ,"completions":{}}`
		instructions = `Say "é" first.`
	)
	for _, era := range []string{"legacy", "modern"} {
		h := newHosted(t, `version: 1
servers:
  odd: {command: $FAKE, args: [-era, `+era+`, -info, '`+info+`', -capabilities, '`+capabilities+`', -instructions, '`+instructions+`']}
`+everything, nil)
		l := newLedger(t)
		a := h.connect(gateway.Options{Only: "odd"})
		said := a.InitializeAs("2025-11-25", agentCapabilities)
		l.same("serverInfo, "+era, []byte(info), member(t, said, "serverInfo"))
		l.same("capabilities, "+era, []byte(capabilities), member(t, said, "capabilities"))
		l.same("instructions, "+era, wire.Quote(instructions), member(t, said, "instructions"))
		b := h.connect(gateway.Options{Only: "odd"})
		b.Modern("{}")
		said = b.Ask("server/discover", "")
		l.same("serverInfo, discovered, "+era, []byte(info), member(t, said, "_meta", "io.modelcontextprotocol/serverInfo"))
		l.same("instructions, discovered, "+era, wire.Quote(instructions), member(t, said, "instructions"))
		if era == "modern" {
			l.same("capabilities, discovered", []byte(capabilities), member(t, said, "capabilities"))
		}
	}
}
