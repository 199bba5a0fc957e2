package call

import (
	"slices"
	"testing"

	"postern/pkg/wire"
)

// toolCall is a call of a tool that the server calls name.
func toolCall(params, name string) *Call {
	return &Call{Request: Request{Params: []byte(params)}, method: methodOf(methodTool), name: name}
}

// R4, R2, MB-079: the name is spliced in, arguments are no null, the token is
// found, every other byte stays; what two readers could understand differently is refused.
func TestToolParams(t *testing.T) {
	for _, c := range []struct{ in, want, token string }{
		{``, `{"name":"get"}`, ""},
		{`{}`, `{"name":"get"}`, ""},
		{`{"name":"fake__get","arguments":{"n":1.0}}`, `{"name":"get","arguments":{"n":1.0}}`, ""},
		{`{ "arguments":{} , "name" : "x" }`, `{ "arguments":{} , "name" : "get" }`, ""},
		{`{"arguments":{"name":"x"}}`, `{"name":"get","arguments":{"name":"x"}}`, ""},
		{`{"_meta":{"progressToken":"a"},"name":"a long exposed name"}`, `{"_meta":{"progressToken":"a"},"name":"get"}`, `"a"`},
		{`{"name":"n","_meta":{"x":{"progressToken":1},"progressToken":9007199254740993}}`, `{"name":"get","_meta":{"x":{"progressToken":1},"progressToken":9007199254740993}}`, `9007199254740993`},
		{`{"_meta":{"progressToken":5}}`, `{"name":"get","_meta":{"progressToken":5}}`, "5"},
		{`{"_meta":[],"name":1}`, `{"_meta":[],"name":"get"}`, ""},
		{`{"name":"n", "arguments": null ,"x":null}`, `{"name":"get", "arguments": {} ,"x":null}`, ""},
		{`{"\u0061rguments":null,"_meta":{"progressToken":5},"name":"n"}`, `{"\u0061rguments":{},"_meta":{"progressToken":5},"name":"get"}`, "5"},
		{`{"arguments":{"arguments":null}}`, `{"name":"get","arguments":{"arguments":null}}`, ""},
		{`{"_meta":null}`, `{"name":"get","_meta":null}`, ""},
		{`{"unknown":{"a":[1e400]},"name":"n"}`, `{"unknown":{"a":[1e400]},"name":"get"}`, ""},
	} {
		call := toolCall(c.in, "get")
		if err := call.checkParams(); err != nil {
			t.Errorf("%s: %v", c.in, err)
		}
		got, token, err := call.outgoing()
		if err != nil || string(got) != c.want || string(token.Of(got)) != c.token {
			t.Errorf("%s: got %s, token %s, %v", c.in, got, token.Of(got), err)
		}
	}
	for _, in := range []string{
		`{"name":"a","name":"b"}`, `{"name":"a","Name":"b"}`, `{"_meta":{},"_META":{}}`, `{"arguments":{},"Arguments":{}}`,
		`{"_meta":{"progressToken":1,"progresstoken":2}}`, `[]`, `5`, `"x"`,
	} {
		if err := toolCall(in, "").checkParams(); err == nil {
			t.Errorf("%s was accepted", in)
		}
	}
}

// The names of a schema's required members that arguments lack.
func TestMissingRequired(t *testing.T) {
	for _, c := range []struct {
		schema, arguments string
		want              []string
	}{
		{`{"required":["a","b"]}`, `{"b":null}`, []string{"a"}},
		{`{"required":["a"]}`, ``, []string{"a"}},
		{`{"required":["a"]}`, `{"A":1}`, nil}, // another spelling: nobody knows what was meant
		{`{"required":["a"]}`, `{"x":{"a":1}}`, []string{"a"}},
		{`{"required":[]}`, `{}`, nil},
		{`{"required":"a"}`, `{}`, nil},
		{`{"required":[1]}`, `{}`, nil},
		{`{"properties":{"a":{}}}`, `{}`, nil},
		{`{`, `{}`, nil},
		{``, ``, nil},
		{`{"required":["a"]}`, `[]`, nil},
	} {
		if got := missingRequired([]byte(c.schema), []byte(c.arguments)); !slices.Equal(got, c.want) {
			t.Errorf("%s %s: %q, want %q", c.schema, c.arguments, got, c.want)
		}
	}
}

func FuzzToolParams(f *testing.F) {
	for _, seed := range []string{`{}`, `{"name":"x","arguments":{"a":1},"_meta":{"progressToken":"t"}}`, `{"_meta":{"progressToken":1,"x":2}}`, `[]`, `{"name":1,"Name":2}`} {
		f.Add([]byte(seed), "tool")
	}
	f.Fuzz(func(t *testing.T, params []byte, name string) {
		m, err := wire.Parse(wire.RequestLine([]byte("1"), "tools/call", params))
		if err != nil {
			return
		}
		call := toolCall(string(m.ParamsBytes()), name)
		if call.checkParams() != nil {
			return
		}
		got, token, err := call.outgoing()
		if err != nil {
			t.Fatalf("%s was checked, and then %v", params, err)
		}
		var spans [1]wire.Span
		if err := wire.Lookup(got, []string{"name"}, spans[:]); err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		if back := spans[0].Of(got); string(back) != string(wire.Quote(name)) {
			t.Errorf("the name is %s", back)
		}
		if token.Ok() && token.End > len(got) {
			t.Error("the token lies outside")
		}
	})
}
