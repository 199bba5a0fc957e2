package call

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"postern/pkg/config"
	"postern/pkg/wire"
)

// R42: what the server answers goes back as the bytes it sent, errors with
// code, message and data; the row says what it was.
func TestAnswersPass(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plain, nil)
	s := w.session(false)
	result := `{"content":[],"structuredContent":{"n":9007199254740993,"f":1.0,"e":1e400},"x":null}`
	for _, c := range []struct {
		name, arguments string
		want            string // the member of the response, byte for byte
		outcome, word   string
		code            int
	}{
		{"raw", `{"result":` + result + `}`, result, "ok", "", 0},
		{"raw", `{"result":{"isError":true,"content":[]}}`, `{"isError":true,"content":[]}`, "tool_error", "", 0},
		{"fail", `{"text":"no"}`, `{"content":[{"type":"text","text":"no"}],"isError":true}`, "tool_error", "", 0},
		{"rpcerror", `{"error":{"code":-32000,"message":"<no>","data":{"a":1.0}}}`, `{"code":-32000,"message":"<no>","data":{"a":1.0}}`, "upstream_error", "upstream_error", -32000},
		{"rpcerror", `{"error":{"code":-32602,"message":"bad","data":[1]}}`, `{"code":-32602,"message":"bad","data":[1]}`, "upstream_error", "upstream_error", -32602},
	} {
		a, row := w.answered(s, tool("fake__"+c.name, c.arguments))
		member := a.Reply.ResultBytes()
		if a.Reply.Error.Ok() {
			member = a.Reply.ErrorBytes()
		}
		if string(member) != c.want || a.Result != nil || a.Error != nil {
			t.Errorf("%s %s: got %s, result %s, error %v", c.name, c.arguments, member, a.Result, a.Error)
		}
		if string(row.Outcome) != c.outcome || row.Word != c.word || row.Code != c.code {
			t.Errorf("%s %s: row %+v", c.name, c.arguments, row)
		}
		if row.ResponseBytes != len(a.Reply.Raw) || row.ResponseTokens != (len(a.Reply.Raw)+3)/4 {
			t.Errorf("%s: %d bytes, row %+v", c.name, len(a.Reply.Raw), row)
		}
	}
}

// schema requires two members and says a thing with brackets.
const schema = `{"type":"object","properties":{"a":{"description":"<a> & b"}},"required":["a","b"]}`

// explaining declares tools with schemas of several sizes.
func explaining(t *testing.T) (*world, *Session) {
	yaml := strings.Replace(plain, "args: [", "args: [-tools, $WORK/tools, ", 1)
	big := func(bytes int) string {
		s := `{"type":"object","required":["a"],"description":""}`
		return strings.Replace(s, `""`, `"`+strings.Repeat("x", bytes-len(s))+`"`, 1)
	}
	w := newWorld(t, yaml, map[string]string{"tools": fmt.Sprintf(
		`[{"name":"raw","inputSchema":%s},{"name":"rpcerror","inputSchema":%s},{"name":"fail","inputSchema":%s},{"name":"rpcerror.big","inputSchema":%s},{"name":"slow"}]`,
		schema, schema, big(config.MaxReturnedSchema), big(config.MaxReturnedSchema+1))})
	return w, w.session(false)
}

// R41: the schema comes back where a required member is missing from the call
// of an isError result, as one more block of text, and nowhere else.
func TestSchemaComesBackWithToolErrors(t *testing.T) {
	t.Parallel()
	w, s := explaining(t)
	block := `{"type":"text","text":` + string(wire.Quote("input schema of raw: "+schema)) + `}`
	for _, c := range []struct{ result, more, want string }{
		{`{"content":[{"type":"text","text":"no"}],"isError":true}`, "", `{"content":[{"type":"text","text":"no"},` + block + `],"isError":true}`},
		{`{"content":[ ],"isError":true,"x":1.0}`, "", `{"content":[ ` + block + `],"isError":true,"x":1.0}`},
		{`{"content":[],"isError":true}`, `,"a":1`, `{"content":[` + block + `],"isError":true}`},
		{`{"content":[],"isError":true}`, `,"a":1,"b":null`, ""}, // nothing is missing
		{`{"content":[],"isError":false}`, "", ""},               // no error
		{`{"content":[]}`, "", ""},                               // no error
		{`{"content":[],"structuredContent":{},"a":[]}`, "", ""}, // no error
		{`{"structuredContent":{"content":[]},"isError":true}`, "", ""},
	} {
		a, row := w.answered(s, tool("fake__raw", `{"result":`+c.result+c.more+`}`))
		if string(a.Result) != c.want || a.Error != nil {
			t.Errorf("%s%s: got %s, want %s", c.result, c.more, a.Result, c.want)
		}
		if string(a.Reply.ResultBytes()) != c.result {
			t.Errorf("the reply was changed: %s", a.Reply.ResultBytes())
		}
		if want := row.Outcome == "tool_error"; want != strings.Contains(c.result, `"isError":true`) {
			t.Errorf("%s: outcome %s", c.result, row.Outcome)
		}
	}
	// At most 8 KiB.
	if a, _ := w.answered(s, tool("fake__fail", `{"text":"no"}`)); len(a.Result) < config.MaxReturnedSchema {
		t.Errorf("a schema of 8 KiB: %d bytes", len(a.Result))
	}
	if a, _ := w.answered(s, Request{Exposed: "fake__fail"}); a.Result == nil {
		t.Error("a call without arguments lacks them all")
	}
}

// R41: the schema is the data of -32602 where the server sent none.
func TestSchemaComesBackWithInvalidParams(t *testing.T) {
	t.Parallel()
	w, s := explaining(t)
	a, row := w.answered(s, tool("fake__rpcerror", `{"error":{"code":-32602,"message":"a is <missing>"}}`))
	if a.Error == nil || a.Error.Code != wire.CodeInvalidParams || a.Error.Message != "a is <missing>" || a.Result != nil {
		t.Fatalf("got %+v", a.Error)
	}
	data := gjson.ParseBytes(a.Error.Data)
	if got := data.Get("input_schema.properties.a.description").String(); got != "<a> & b" {
		t.Errorf("data %s", a.Error.Data)
	}
	if data.Get("word").String() != "upstream_error" || data.Get("server").String() != "fake" || data.Get("tool").String() != "rpcerror" {
		t.Errorf("data %s", a.Error.Data)
	}
	if row.Code != wire.CodeInvalidParams || row.Outcome != "upstream_error" {
		t.Errorf("row %+v", row)
	}
	for _, e := range []string{
		`{"code":-32602,"message":"m","data":null}`, `{"code":-32602,"message":"m","data":{}}`, `{"code":-32601,"message":"m"}`, `{"code":-32000,"message":"m"}`,
	} {
		if a, _ := w.answered(s, tool("fake__rpcerror", `{"error":`+e+`}`)); a.Error != nil {
			t.Errorf("%s: got %+v", e, a.Error)
		}
	}
	v := s.View()
	if a, _ := w.answered(s, tool(v.Server("fake").Tools[3].Exposed, "{}")); a.Error != nil || a.Result != nil {
		t.Errorf("a schema over the bound: %+v", a)
	}
}
