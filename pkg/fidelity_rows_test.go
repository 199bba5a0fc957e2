package pkg

import (
	"fmt"
	"strings"
	"testing"

	"postern/pkg/wire"
)

// exchange is one request and its answer. In params and answers $V is a value of
// everything that encoders like to change, $M are members of _meta, $P begins an
// exposed name and $U(…) is a URI as the agent knows it.
type exchange struct {
	method, params string
	result, err    string // one of them
	also           change // of the answer, where there is one
}

func exchanges() []exchange {
	const (
		tool   = `{"unknown":$V,"name":"$Pecho","arguments":$V,"_meta":{"vendor/x":$V,$M},"more":[]}`
		get    = `{"arguments":{"who":"","n":$V},"name":"$Pgreet","x":$V,"_meta":{$M,"vendor/x":$V}}`
		read   = `{"x":$V,"uri":"$U(fake://text)","_meta":{$M}}`
		meta   = `"_meta":{"vendor/y":$V}`
		either = `"x":$V,"resultType":"complete",` + meta
	)
	return []exchange{
		{method: "tools/call", params: tool, result: `{"x":$V,"content":[{"type":"text","text":"","x":$V},{"type":"video","data":"-_","y":null},{"type":"image","data":"AA","mimeType":"","annotations":{"priority":0}},{"type":"resource","resource":{"uri":"","text":"","x":$V}},{"type":"resource_link","uri":"other:x","name":"","size":0}],"structuredContent":$V,"isError":false,` + meta + `}`},
		{method: "tools/call", params: tool, result: `{"structuredContent":{"n":null},"content":[],` + either + `,"isError":true}`, also: replaced("result | content, empty", "result", "content")},
		{method: "tools/call", params: tool, result: `{"content":[{"text":"\u0041","type":"text"}] , "structuredContent" : {} }`},
		{method: "tools/call", params: tool, err: `{"code":-32000,"message":"","data":$V,"x":$V}`},
		{method: "tools/call", params: tool, err: `{"data":null,"message":"\u0041","code":-1}`},
		{method: "tools/call", params: `{"name":"$Pecho","_meta":{$M,"progressToken":"\u0074\/1"}}`, result: `{"content":[]}`},
		{method: "tools/call", params: `{"_meta":{$M,"progressToken":9007199254740993},"name":"$Pecho","arguments":{}}`, result: `{"content":[]}`},
		{method: "prompts/get", params: get, result: `{"description":"","messages":[{"role":"user","content":{"type":"text","text":"","x":$V}},{"role":"x","content":$V}],"x":$V}`},
		{method: "prompts/get", params: get, err: `{"code":-32602,"message":"m","data":$V,"x":$V}`},
		{method: "resources/read", params: read, result: `{"contents":[{"uri":"fake://text","text":"","x":$V},{"uri":"","blob":"-_","mimeType":null}],` + either + `,"ttlMs":1.0,"cacheScope":"private"}`},
		{method: "resources/read", params: read, result: `{"contents":[]}`},
		{method: "resources/read", params: `{"uri":"$U(fake://item/a%20b)","_meta":{$M}}`, result: `{"contents":[{"uri":"fake://item/a%20b","text":""}]}`},
		{method: "completion/complete", params: `{"ref":{"type":"ref/prompt","x":$V,"name":"$Pgreet"},"argument":{"name":"who","value":"","x":$V},"context":{"arguments":{"a":""},"x":$V},"x":$V,"_meta":{$M}}`, result: `{"completion":{"values":["",""],"total":0,"hasMore":false,"x":$V},` + either + `}`},
		{method: "completion/complete", params: `{"ref":{"uri":"$U(fake://item/{id})","type":"ref/resource"},"argument":{"name":"id","value":"\u0041"},"_meta":{$M}}`, result: `{"completion":{"values":[]}}`},
		{method: "completion/complete", params: `{"ref":{"uri":"$U(fake://item/{id})","type":"ref/resource"},"argument":{"name":"id","value":""},"_meta":{$M}}`, result: `{"completion":{"values":["a" , "\u0064enied","b"],"total":3,"x":$V}}`,
			also: replaced("result, completion | values", "result", "completion", "values")},
		{method: "completion/complete", params: `{"ref":{"uri":"$U(fake://item/{id})","type":"ref/resource"},"argument":{"name":"id","value":"\u0041"},"_meta":{$M}}`, err: `{"code":-32603,"message":"","data":$V}`},
	}
}

// What a request is changed by on its way to a server, and its answer on its way
// to the agent.
func onTheWay(p pair, method string) (there, back []change) {
	there = []change{
		replaced("request | id", "id"),
		replaced("request | params._meta.progressToken", "params", "_meta", "progressToken"),
	}
	if !p.only {
		switch method {
		case "tools/call", "prompts/get":
			there = append(there, replaced("request | params.name", "params", "name"))
		case "resources/read":
			there = append(there, replaced("request | params.uri", "params", "uri"))
		case "completion/complete":
			there = append(there, replaced("request, completion/complete | params.ref", "params", "ref", "name"),
				replaced("request, completion/complete | params.ref", "params", "ref", "uri"))
		}
	}
	return append(there, metaThere(p)...), metaBack(p, method)
}

func reserved(of func(string, ...string) change, entry string, more ...string) (changes []change) {
	for _, name := range append([]string{"protocolVersion", "clientInfo", "clientCapabilities"}, more...) {
		changes = append(changes, of(entry, "params", "_meta", "io.modelcontextprotocol/"+name))
	}
	return changes
}

// metaThere are the members of _meta that an era wants or has not.
func metaThere(p pair) []change {
	switch {
	case p.server == "new":
		return reserved(put, "request | params._meta, modern server")
	case p.agent == "new":
		return reserved(removed, "request | params, modern agent", "logLevel")
	}
	return nil
}

func metaBack(p pair, method string) []change {
	switch {
	case p.agent == "new":
		back := []change{
			inserted("result | resultType", "result", "resultType"),
			inserted("result | _meta.serverInfo", "result", "_meta", "io.modelcontextprotocol/serverInfo"),
			inserted("result | _meta.serverInfo", "result", "_meta"),
		}
		if method == "resources/read" {
			back = append(back, inserted("result | ttlMs, cacheScope", "result", "ttlMs"), inserted("result | ttlMs, cacheScope", "result", "cacheScope"))
		}
		return back
	case p.server == "new":
		return []change{removed("result | resultType", "result", "resultType")}
	}
	return nil
}

// TestFidelity sends every message of the protocol through the gateway, in both
// directions and between both eras, filled with what encoders like to change. It
// arrives as it was sent, but for the list of pkg/gateway (R4).
func TestFidelity(t *testing.T) {
	f := newFidelity(t)
	by := map[string]pair{}
	for _, p := range f.pairs() {
		by[p.String()] = p
		t.Run(p.String(), func(t *testing.T) {
			f.ledger.t = t
			for _, e := range exchanges() {
				f.exchange(p, e)
			}
			t.Run("lists", func(t *testing.T) { f.lists(t, p) })
			t.Run("era", func(t *testing.T) { f.era(t, p) })
			if p.agent == "old" && p.server == "old" {
				t.Run("talk", func(t *testing.T) { f.talk(t, p) })
			}
		})
	}
	f.ledger.t = t
	itself := by["old agent, old server, only"]
	f.envelopes(itself)
	f.requests(itself)
	f.subscriptions(itself)
	f.answers(itself)
	f.lazily()
	f.between(by["old agent, new server"], by["new agent, old server"])
	f.listening(by["old agent, new server"], by["new agent, new server"])
	t.Run("cuts", f.cuts)
	if left := f.unused(); len(left) > 0 {
		t.Errorf("on the list, and in no row: %q", left)
	}
}

func (f *fidelity) exchange(p pair, e exchange) {
	f.t.Helper()
	answer := `"fake/result":` + e.result
	if e.err != "" {
		answer = `"fake/error":` + e.err
	}
	params, mark := f.row(p, strings.Replace(e.params, "$M", "$M,"+answer, 1))
	sent, got := f.request(p, e.method, params)
	there, back := onTheWay(p, e.method)
	what := fmt.Sprintf("%v: %s", p, e.method)
	request := f.came(p, mark)
	f.same(what, sent, request, there...)
	f.owed(what, p, request, got)
	want := wire.ResultLine(got.IDBytes(), []byte(f.fill(e.result)))
	if e.err != "" {
		want = []byte(`{"jsonrpc":"2.0","id":` + string(got.IDBytes()) + `,"error":` + f.fill(e.err) + `}`)
	}
	if e.also.undo != nil {
		back = append(back, e.also)
	}
	f.same(what+", the answer", want, got.Raw, back...)
}

// owed is what the eras must say and must not say, changed or not.
func (f *fidelity) owed(what string, p pair, request []byte, answer wire.Message) {
	f.t.Helper()
	for _, name := range []string{"protocolVersion", "clientInfo", "clientCapabilities"} {
		if _, ok := find(request, []string{"params", "_meta", "io.modelcontextprotocol/" + name}); ok != (p.server == "new") {
			f.t.Errorf("%s: %s reaches the server: %v", what, name, ok)
		}
	}
	if !answer.Result.Ok() {
		return
	}
	_, kind := find(answer.Raw, []string{"result", "resultType"})
	_, info := find(answer.Raw, []string{"result", "_meta", "io.modelcontextprotocol/serverInfo"})
	switch {
	case p.agent == "new" && (!kind || !info):
		f.t.Errorf("%s: the answer has resultType: %v, serverInfo: %v", what, kind, info)
	case p.agent == "old" && p.server == "new" && kind:
		f.t.Errorf("%s: the answer has resultType", what)
	}
}
