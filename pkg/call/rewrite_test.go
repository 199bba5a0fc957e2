package call

import (
	"strings"
	"testing"

	"postern/pkg/policy"
	"postern/pkg/wire"
)

// requestOf is a request as it is before dispatch, its subject found as name.
func requestOf(t *testing.T, method, params, name string) *Call {
	t.Helper()
	c := &Call{Request: Request{Method: method, Params: []byte(params)}, method: methodOf(method), name: name}
	if err := c.checkParams(); err != nil {
		t.Fatalf("%s: %v", params, err)
	}
	if problem := c.subject(); problem != "" {
		t.Fatalf("%s: %s", params, problem)
	}
	return c
}

// R4: of each method only what says what it is about is replaced, and only where
// the server calls it otherwise; every other byte stays.
func TestParamsOfOtherMethods(t *testing.T) {
	for _, c := range []struct{ method, params, name, want, token string }{
		{methodPrompt, `{"name":"s__p","arguments":{"a":"1"},"x":1e400}`, "p", `{"name":"p","arguments":{"a":"1"},"x":1e400}`, ""},
		{methodPrompt, `{"arguments":null,"name":"p"}`, "p", `{"arguments":null,"name":"p"}`, ""},
		{methodPrompt, `{"name":"s__p","_meta":{"progressToken":""}}`, "p", `{"name":"p","_meta":{"progressToken":""}}`, `""`},
		{methodRead, `{"uri":"postern+s:a:\u002fb","_meta":{"progressToken":-0}}`, "a:/b", `{"uri":"a:/b","_meta":{"progressToken":-0}}`, `-0`},
		{methodRead, `{"uri":"a:\u002fb","URL":1,"arguments":1,"Arguments":2}`, "a:/b", `{"uri":"a:\u002fb","URL":1,"arguments":1,"Arguments":2}`, ""},
		{methodSubscribe, `{"x":1.0,"uri":"postern+s:a:b","_meta":{"progressToken":"t"}}`, "a:b", `{"x":1.0,"uri":"a:b","_meta":{"progressToken":"t"}}`, `"t"`},
		{methodUnsubscribe, `{"uri":"a:\u0062","x":1.0}`, "a:b", `{"uri":"a:\u0062","x":1.0}`, ""},
		{methodComplete, `{"ref":{"type":"ref/prompt","x":1.0,"name":"s__p"},"argument":{"name":"n","value":""}}`, "p",
			`{"ref":{"type":"ref/prompt","x":1.0,"name":"p"},"argument":{"name":"n","value":""}}`, ""},
		{methodComplete, `{"_meta":{"progressToken":7},"ref":{"uri":"postern+s:t:{x}","type":"ref/resource","name":"kept"},"context":{}}`, "t:{x}",
			`{"_meta":{"progressToken":7},"ref":{"uri":"t:{x}","type":"ref/resource","name":"kept"},"context":{}}`, `7`},
		{methodComplete, `{"ref":{"type":"ref/prompt","name":"p","uri":"kept"}}`, "p", `{"ref":{"type":"ref/prompt","name":"p","uri":"kept"}}`, ""},
		{methodTaskGet, `{"taskId":"t\u0031","ttl":1.0}`, "tool", `{"taskId":"t\u0031","ttl":1.0}`, ""},
		{"vendor/x", ``, "vendor/x", ``, ""},
		{"vendor/x", `[1.0,{"name":"n"}]`, "vendor/x", `[1.0,{"name":"n"}]`, ""},
		{"vendor/x", `{"name":1,"Name":2,"_meta":{"progressToken":1}}`, "vendor/x", `{"name":1,"Name":2,"_meta":{"progressToken":1}}`, `1`},
	} {
		got, token, err := requestOf(t, c.method, c.params, c.name).outgoing()
		if err != nil || string(got) != c.want || string(token.Of(got)) != c.token {
			t.Errorf("%s %s:\n got %s, token %s, %v\nwant %s, token %s", c.method, c.params, got, token.Of(got), err, c.want, c.token)
		}
	}
}

// R2: what two readers could take for two requests, and what is none.
func TestParamsThatAreRefused(t *testing.T) {
	for _, c := range []struct{ method, params, problem string }{
		{methodRead, `{"uri":"a","URI":"b"}`, "in another case"},
		{methodRead, `{"uri":"a","uri":"a"}`, "twice"},
		{methodRead, `{"uri":"a","_meta":{"traceparent":"x","traceParent":"y"}}`, "in another case"},
		{methodRead, `{}`, "needs params.uri"},
		{methodRead, `{"uri":""}`, "needs params.uri"},
		{methodRead, `{"uri":["a"]}`, "needs params.uri"},
		{methodRead, ``, "needs params.uri"},
		{methodRead, `[]`, "no JSON object"},
		{methodPrompt, `{"name":null}`, "needs params.name"},
		{methodPrompt, `{"name":"a","arguments":{},"Arguments":{}}`, "in another case"},
		{methodTaskGet, `{"taskId":5}`, "needs params.taskId"},
		{methodComplete, `{"ref":"p"}`, "needs params.ref"},
		{methodComplete, `{"ref":{"name":"p"}}`, "needs params.ref"},
		{methodComplete, `{"ref":{"type":"ref/prompt","uri":"u"}}`, "needs params.ref"},
		{methodComplete, `{"ref":{"type":"ref/resource","uri":1}}`, "needs params.ref"},
		{methodComplete, `{"ref":{"type":"ref/tool","name":"p"}}`, "needs params.ref"},
		{methodComplete, `{"ref":{"type":"ref/prompt","name":"p","name":"q"}}`, "twice"},
		{methodComplete, `{"ref":{"type":"ref/prompt","name":"p"},"Ref":{}}`, "in another case"},
	} {
		call := &Call{Request: Request{Params: []byte(c.params)}, method: methodOf(c.method)}
		problem := ""
		if err := call.checkParams(); err != nil {
			problem = err.Error()
		} else {
			problem = call.subject()
		}
		if !strings.Contains(problem, c.problem) {
			t.Errorf("%s %s: %q, want %q", c.method, c.params, problem, c.problem)
		}
	}
}

func FuzzParams(f *testing.F) {
	for _, seed := range []string{
		`{"uri":"a:b","name":"n","taskId":"t","_meta":{"progressToken":1,"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}`,
		`{"ref":{"type":"ref/prompt","name":"n"},"_meta":{"progressToken":"x"}}`, `{"ref":{"type":"ref/resource","uri":"n"}}`, `[]`, `{}`, `null`,
	} {
		f.Add([]byte(seed), "own name")
	}
	methods := []string{methodTool, methodPrompt, methodRead, methodComplete, methodTaskGet, "vendor/x"}
	f.Fuzz(func(t *testing.T, params []byte, name string) {
		m, err := wire.Parse(wire.RequestLine([]byte("1"), "x", params))
		if err != nil {
			return
		}
		for _, method := range methods {
			call := &Call{Request: Request{Params: m.ParamsBytes()}, method: methodOf(method), name: name}
			if call.checkParams() != nil || call.subject() != "" {
				continue
			}
			before := call.trace
			got, token, err := call.outgoing()
			if err != nil {
				t.Fatalf("%s %s was checked, and then %v", method, params, err)
			}
			if _, err := wire.Parse(wire.RequestLine([]byte("1"), "x", got)); err != nil {
				t.Fatalf("%s: %s is sent: %v", method, got, err)
			}
			if at, err := call.membersOf(got); len(got) > 0 && err == nil {
				meta, err := metaOf(got, at.meta)
				if err != nil || meta.token != token {
					t.Errorf("%s: the token of %s is at %v, not %v (%v)", method, got, meta.token, token, err)
				}
			}
			if before.span != "" && !strings.Contains(string(got), before.span) {
				t.Errorf("%s: the span is lost in %s", method, got)
			}
		}
	})
}

// R46: a traceparent of W3C's goes on with our span and the caller's trace; what
// is none goes on as it is, and none is invented.
func TestTrace(t *testing.T) {
	const id, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	good := "00-" + id + "-" + parent + "-01"
	for _, c := range []struct {
		in string
		ok bool
	}{
		{good, true}, {strings.Replace(good, "00-", "cc-", 1), true}, {strings.Replace(good, "00-", "cc-", 1) + "-more", true},
		{good + "-more", false}, {strings.Replace(good, "00-", "ff-", 1), false}, {strings.Replace(good, "00-", "cc-", 1) + "x", false},
		{strings.ToUpper(good), false}, {"", false}, {good[:54], false}, {strings.Replace(good, id, strings.Repeat("0", 32), 1), false},
		{strings.Replace(good, parent, strings.Repeat("0", 16), 1), false}, {strings.Replace(good, "-01", "-0g", 1), false},
		{strings.Replace(good, "-b7", "_b7", 1), false},
	} {
		params := `{"name":"t","_meta":{"tracestate":"a=b","traceparent":` + string(wire.Quote(c.in)) + `,"progressToken":"tok"}}`
		call := requestOf(t, methodTool, params, "t")
		got, token, err := call.outgoing()
		if err != nil || string(token.Of(got)) != `"tok"` {
			t.Fatalf("%s: %s %v", c.in, got, err)
		}
		if !c.ok {
			if string(got) != params || call.trace != (trace{}) {
				t.Errorf("%s: %s, %+v", c.in, got, call.trace)
			}
			continue
		}
		if call.trace.id != id || call.trace.parent != parent || len(call.trace.span) != 16 || call.trace.span == parent {
			t.Errorf("%s: %+v", c.in, call.trace)
		}
		if want := strings.Replace(params, parent, call.trace.span, 1); string(got) != want {
			t.Errorf("%s: got %s, want %s", c.in, got, want)
		}
	}
	if call := requestOf(t, methodTool, `{"name":"t","_meta":{}}`, "t"); call.trace != (trace{}) {
		t.Errorf("a trace was invented: %+v", call.trace)
	}
}

// What a method is about is known, and rows tell it by their via (C80).
func TestMethods(t *testing.T) {
	for name, want := range map[string]struct {
		via  string
		kind policy.Kind
		word Word
	}{
		"": {"", policy.ToolKind, UnknownTool}, methodTool: {"", policy.ToolKind, UnknownTool},
		methodPrompt: {ViaPrompt, policy.PromptKind, UnknownPrompt}, methodRead: {ViaResource, policy.ResourceKind, UnknownResource},
		methodSubscribe: {ViaResource, policy.ResourceKind, UnknownResource}, methodUnsubscribe: {ViaResource, policy.ResourceKind, UnknownResource},
		methodComplete: {ViaCompletion, policy.PromptKind, UnknownPrompt}, methodTaskGet: {ViaTask, policy.ToolKind, UnknownTask},
		methodTaskList: {ViaTask, policy.MethodKind, UnknownMethod}, "vendor/x": {ViaMethod, policy.MethodKind, UnknownMethod},
	} {
		m := methodOf(name)
		if m.via != want.via || m.kind != want.kind || m.word != want.word || m.find == nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
}
