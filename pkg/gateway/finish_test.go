package gateway

import (
	"bytes"
	"encoding/json"
	"testing"

	"postern/pkg/wire"
)

const testInfo = `{"name":"g","version":"1"}`

// R71, R4: what a result of the modern era must say is put in front, every other
// byte stays, and what the server said itself stays too.
func TestFinishing(t *testing.T) {
	const signature = `"_meta":{"io.modelcontextprotocol/serverInfo":` + testInfo + `}`
	const whole = `"resultType":"complete",` + signature
	const cached = `"resultType":"complete","ttlMs":0,"cacheScope":"private",` + signature
	for _, c := range []struct{ name, method, result, want string }{
		{"empty", "tools/call", `{}`, `{` + whole + `}`},
		{"empty with space", "tools/call", "{ \t}", `{` + whole + " \t}"},
		{"kept bytes", "tools/call", `{ "n":1e400,"content":[ ] }`, `{` + whole + `, "n":1e400,"content":[ ] }`},
		{"typed", "tools/call", `{"resultType":"complete"}`, `{` + signature + `,"resultType":"complete"}`},
		{"other type", "resources/read", `{"inputRequests":{},"resultType":"input_required"}`, `{` + signature + `,"inputRequests":{},"resultType":"input_required"}`},
		{"unknown type", "tools/call", `{"resultType":"task"}`, `{` + signature + `,"resultType":"task"}`},
		{"odd type", "resources/read", `{"resultType":null}`, `{` + signature + `,"resultType":null}`},
		{"list", "tools/list", `{"tools":[]}`, `{` + cached + `,"tools":[]}`},
		{"prompts", "prompts/list", `{"prompts":[]}`, `{` + cached + `,"prompts":[]}`},
		{"resources", "resources/list", `{"resources":[]}`, `{` + cached + `,"resources":[]}`},
		{"templates", "resources/templates/list", `{"resourceTemplates":[]}`, `{` + cached + `,"resourceTemplates":[]}`},
		{"discover", "server/discover", `{"supportedVersions":[]}`, `{` + cached + `,"supportedVersions":[]}`},
		{"read", "resources/read", `{"contents":[]}`, `{` + cached + `,"contents":[]}`},
		{"read of a modern server", "resources/read", `{"resultType":"complete","ttlMs":5000.0,"cacheScope":"public","contents":[]}`,
			`{` + signature + `,"resultType":"complete","ttlMs":5000.0,"cacheScope":"public","contents":[]}`},
		{"read with one of them", "resources/read", `{"ttlMs":1,"contents":[]}`, `{"resultType":"complete","cacheScope":"private",` + signature + `,"ttlMs":1,"contents":[]}`},
		{"get is not cached", "prompts/get", `{"messages":[]}`, `{` + whole + `,"messages":[]}`},
		{"meta", "tools/call", `{"_meta":{"a":1}}`, `{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":` + testInfo + `,"a":1}}`},
		{"empty meta", "tools/call", `{"_meta":{ }}`, `{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":` + testInfo + ` }}`},
		{"signed", "tools/call", `{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"u"}}}`, `{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"u"}}}`},
		{"signed oddly", "tools/call", `{"_meta":{"io.modelcontextprotocol/serverInfo":null}}`, `{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":null}}`},
		{"no meta object", "tools/call", `{"_meta":null}`, `{"resultType":"complete","_meta":null}`},
		{"member twice", "tools/call", `{"resultType":"a","resultType":"b"}`, `{"resultType":"a","resultType":"b"}`},
		{"other case", "tools/call", `{"ResultType":"a"}`, `{"ResultType":"a"}`},
		{"meta twice", "tools/call", `{"_meta":{"io.modelcontextprotocol/serverInfo":1,"io.modelcontextprotocol/serverInfo":2}}`,
			`{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":1,"io.modelcontextprotocol/serverInfo":2}}`},
		{"array", "tools/call", `[]`, `[]`},
		{"text", "tools/call", `"x"`, `"x"`},
		{"null", "tools/call", `null`, `null`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := wire.Splice([]byte(c.result), finishing([]byte(c.result), cacheable(c.method), []byte(testInfo))...)
			if string(got) != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

// An error has no type, and nobody signs it.
func TestFinishModernLine(t *testing.T) {
	s := &session{g: &Gateway{version: "1.0"}}
	r := &request{method: "tools/call"}
	for in, want := range map[string]string{
		`{"id":1, "error":{"code":1,"message":"m"},"jsonrpc":"2.0"}`: `{"id":1, "error":{"code":1,"message":"m"},"jsonrpc":"2.0"}`,
		`{"jsonrpc":"2.0","x":[1.0], "id":"" , "result": {"a":1} }`:  `{"jsonrpc":"2.0","x":[1.0], "id":"" , "result": {"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"postern","version":"1.0"}},"a":1} }`,
	} {
		if got := string(s.finishModern(r, []byte(in))); got != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
	}
}

// A notification on a stream names it and keeps all else; the id under which the
// gateway itself listens to a server is not the agent's.
func TestWithSubscription(t *testing.T) {
	const id = `9007199254740993`
	const named = `"io.modelcontextprotocol/subscriptionId":` + id
	for in, want := range map[string]string{
		``:                           `{"_meta":{` + named + `}}`,
		`null`:                       `{"_meta":{` + named + `}}`,
		`{}`:                         `{"_meta":{` + named + `}}`,
		`{"uri":"a:b", "n":1.0}`:     `{"_meta":{` + named + `},"uri":"a:b", "n":1.0}`,
		`{"_meta":{"k":[]},"uri":1}`: `{"_meta":{` + named + `,"k":[]},"uri":1}`,
		`{"uri":1,"_meta":{}}`:       `{"uri":1,"_meta":{` + named + `}}`,
		`{"uri":1,"_meta":null}`:     `{"uri":1,"_meta":{` + named + `}}`,
		`{"_meta":{"a":1,"io.modelcontextprotocol/subscriptionId": "7" ,"b":2}}`: `{"_meta":{"a":1,"io.modelcontextprotocol/subscriptionId": ` + id + ` ,"b":2}}`,
	} {
		if got := string(withSubscription([]byte(in), []byte(id))); got != want {
			t.Errorf("%s:\n got %s\nwant %s", in, got, want)
		}
	}
}

// FuzzFinishing: whatever a server answers stays JSON, keeps what it had, and is
// finished once for all.
func FuzzFinishing(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":1}`, `{ "_meta" : { } }`, `{"resultType":"complete","_meta":{"x":1}}`, `{"_meta":null}`, `[1]`, `{"ttlMs":0}`, `{"\u005fmeta":{}}`} {
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, result []byte, cached bool) {
		m, err := wire.Parse(wire.ResultLine([]byte("1"), result))
		if err != nil {
			return
		}
		result = m.ResultBytes()
		once := wire.Splice(result, finishing(result, cached, []byte(testInfo))...)
		if !json.Valid(once) {
			t.Fatalf("%s became %s", result, once)
		}
		if again := wire.Splice(once, finishing(once, cached, []byte(testInfo))...); !bytes.Equal(once, again) {
			t.Fatalf("%s became %s", once, again)
		}
		var before, after map[string]json.RawMessage
		if json.Unmarshal(result, &before) != nil || before == nil {
			return
		}
		if err := json.Unmarshal(once, &after); err != nil {
			t.Fatal(err)
		}
		for name, value := range before {
			if name != "_meta" && !bytes.Equal(after[name], value) {
				t.Fatalf("%q of %s became %s", name, result, after[name])
			}
		}
		if json.Valid(result) && !json.Valid(withSubscription(result, []byte("1"))) {
			t.Fatalf("%s became %s", result, withSubscription(result, []byte("1")))
		}
	})
}
