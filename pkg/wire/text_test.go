package wire

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestCanonical(t *testing.T) { // C40
	tests := []struct{ raw, want string }{
		{` { "b" : 1 , "a" : [ 1.0, true , null ] } `, `{"a":[1,true,null],"b":1}`},
		{`{"b":{"d":1,"c":[{"f":1,"e":2}]},"a":{}}`, `{"a":{},"b":{"c":[{"e":2,"f":1}],"d":1}}`},
		{`[]`, `[]`},
		{`"\u0061\/\u001f\u000a\u2028<é\ud83d\ude00\""`, `"a/\u001f\n` + "\u2028" + `<é😀\""`},
		// RFC 8785, section 3.2.3: order is that of UTF-16 code units.
		{"{\"\u20ac\":1,\"\\r\":2,\"\ufb33\":3,\"1\":4,\"\U0001f600\":5,\"\u0080\":6,\"\u00f6\":7}",
			"{\"\\r\":2,\"1\":4,\"\u0080\":6,\"\u00f6\":7,\"\u20ac\":1,\"\U0001f600\":5,\"\ufb33\":3}"},
		{`{"ab":1,"a":2,"":3}`, `{"":3,"a":2,"ab":1}`},
		// Numbers a double holds.
		{`[1E0,-0,0.0,100e-2,1e21,1e20,0.000001,1e-7,123e-20,4.50]`, `[1,0,0,1,1e+21,100000000000000000000,0.000001,1e-7,1.23e-18,4.5]`},
		// Numbers a double would change.
		{`[9007199254740993,12345678901234567890,1e400,1e-400,333333333.33333329]`, `[9007199254740993,12345678901234567890,1e400,1e-400,333333333.33333329]`},
	}
	for _, tt := range tests {
		got, err := Canonical([]byte(tt.raw))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s\n got %s\nwant %s %v", tt.raw, got, tt.want, err)
		}
	}
	for _, bad := range []string{``, `{`, `{"a":1,"b":2,"\u0061":3}`, `[{"a":1,"a":1}]`, `"\ud800"`, `{"\udc00":1}`, `1 2`, "\"\xff\"", strings.Repeat("[", 1001) + strings.Repeat("]", 1001)} {
		var se *SyntaxError
		if got, err := Canonical([]byte(bad)); !errors.As(err, &se) {
			t.Errorf("%.40s: %s %v", bad, got, err)
		}
	}
}

func TestQuoteAndUnquote(t *testing.T) {
	for _, s := range []string{"", "plain", `q"b\s/`, "\b\f\n\r\t\x00\x1f\x7f", "é\u2028😀<&>"} {
		raw := Quote(s)
		back, err := Unquote(raw)
		var std string
		if err != nil || back != s || json.Unmarshal(raw, &std) != nil || std != s {
			t.Errorf("%q: %s → %q, %q, %v", s, raw, back, std, err)
		}
	}
	if got := string(Quote("a\xffb<")); got != "\"a\ufffdb<\"" {
		t.Errorf("invalid bytes: %s", got)
	}
	for _, bad := range []string{``, `"`, `a`, `"a" `, ` "a"`, `"\ud800"`, `"\ud800x"`, `"\ud800\u0041"`, `"\ud800\ud800"`, `"\udc00"`, `"\ud83d\u"`, `"\x"`, `"\u12g4"`, "\"\xff\"", "\"\n\"", `1`} {
		if got, err := Unquote([]byte(bad)); err == nil {
			t.Errorf("%s: %q", bad, got)
		}
	}
	if got, err := Unquote([]byte(`"\ud83d\ude00\u00e9\b\f\n\r\t\/\\\""`)); err != nil || got != "😀é\b\f\n\r\t/\\\"" {
		t.Errorf("escapes: %q %v", got, err)
	}
}

func TestLines(t *testing.T) {
	for got, want := range map[string]string{
		string(RequestLine([]byte("1"), `a"b`, nil)):                                              `{"jsonrpc":"2.0","id":1,"method":"a\"b"}`,
		string(RequestLine([]byte(`"x"`), "m", []byte("{\r\n \"a\": 1.0\n}"))):                    `{"jsonrpc":"2.0","id":"x","method":"m","params":{ "a": 1.0}}`,
		string(NotificationLine("n", []byte("{}"))):                                               `{"jsonrpc":"2.0","method":"n","params":{}}`,
		string(ResultLine([]byte("9007199254740993"), []byte("null"))):                            `{"jsonrpc":"2.0","id":9007199254740993,"result":null}`,
		string(ErrorLine(nil, &RPCError{Code: CodeParse, Message: "no\n"})):                       `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no\n"}}`,
		string(ErrorLine([]byte("2"), &RPCError{Code: 1, Message: "m", Data: []byte("[\n1.0]")})): `{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"m","data":[1.0]}}`,
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if _, err := Parse([]byte(got)); err != nil {
			t.Error(err)
		}
	}
}

func TestParseRPCError(t *testing.T) {
	e, err := ParseRPCError([]byte(`{"code":-32002,"message":"no \"x\"","data":{"uri":1.0},"more":1}`))
	if err != nil || e.Code != -32002 || e.Message != `no "x"` || string(e.Data) != `{"uri":1.0}` {
		t.Errorf("%+v %v", e, err)
	}
	if e.Error() != `no "x" (code -32002)` {
		t.Error(e)
	}
	for _, bad := range []string{``, `null`, `{"code":"1","message":""}`, `{"code":1.5,"message":""}`, `{"message":""}`, `{"code":1}`, `{"code":1,"message":null}`, `{"code":1,"Code":2,"message":""}`, `{"code":99999999999999999999,"message":""}`} {
		if e, err := ParseRPCError([]byte(bad)); err == nil {
			t.Errorf("%s: %+v", bad, e)
		}
	}
}
