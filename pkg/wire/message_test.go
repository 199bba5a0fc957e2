package wire

import (
	"errors"
	"strings"
	"testing"
)

func TestParseAccepts(t *testing.T) { // R2, R4
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	tests := []struct {
		line, id, params, result, failure, method string
		kind                                      Kind
	}{
		{line: `{"jsonrpc":"2.0","id":1,"method":"ping"}`, kind: Request, id: "1", method: "ping"},
		{line: ` { "jsonrpc" : "2.0" , "id" : "" , "method" : "a\/b" , "params" : [ 1 ] } `, kind: Request, id: `""`, method: "a/b", params: "[ 1 ]"},
		{line: `{"method":"x","id":9007199254740993,"jsonrpc":"2.0","other":1,"other":2}`, kind: Request, id: "9007199254740993", method: "x"},
		{line: `{"jsonrpc":"2.\u0030","\u0069d":1e400,"method":""}`, kind: Request, id: "1e400"},
		{line: `{"jsonrpc":"2.0","method":"n","params":null}`, kind: Notification, method: "n", params: "null"},
		{line: `{"jsonrpc":"2.0","id":"\ud800","result":null}`, kind: Response, id: `"\ud800"`, result: "null"},
		{line: `{"jsonrpc":"2.0","id":-0,"result":{"n":12345678901234567890,"f":1.0}}`, kind: Response, id: "-0", result: `{"n":12345678901234567890,"f":1.0}`},
		{line: `{"jsonrpc":"2.0","id":null,"error":{}}`, kind: Response, id: "null", failure: "{}"},
		{line: `{"jsonrpc":"2.0","error":{"code":-32700}}`, kind: Response, failure: `{"code":-32700}`},
		{line: "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"a\u2028b\u2029c\u0085d\"}", kind: Response, id: "1", result: "\"a\u2028b\u2029c\u0085d\""}, // MB-073
		{line: `{"jsonrpc":"2.0","id":1,"result":` + deep(MaxDepth-1) + `}`, kind: Response, id: "1", result: deep(MaxDepth - 1)},
	}
	for _, tt := range tests {
		m, err := Parse([]byte(tt.line))
		if err != nil {
			t.Errorf("%.80s: %v", tt.line, err)
			continue
		}
		if m.Kind != tt.kind || m.Method != tt.method || string(m.Raw) != tt.line {
			t.Errorf("%.80s: kind %d method %q", tt.line, m.Kind, m.Method)
		}
		for _, part := range []struct {
			name, want string
			got        []byte
		}{{"id", tt.id, m.IDBytes()}, {"params", tt.params, m.ParamsBytes()}, {"result", tt.result, m.ResultBytes()}, {"error", tt.failure, m.ErrorBytes()}} {
			if string(part.got) != part.want || (part.got == nil) != (part.want == "") {
				t.Errorf("%.80s: %s is %q", tt.line, part.name, part.got)
			}
		}
	}
}

func TestParseRefuses(t *testing.T) { // R2, R3
	deep := strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)
	tests := []struct {
		line   string
		code   int
		id     string
		noise  bool
		batch  bool
		reason string
	}{
		// MB-065: what servers print beside the protocol.
		{line: `Server listening...`, code: CodeParse, noise: true},
		{line: "\x1b[32mok\x1b[0m", code: CodeParse, noise: true},
		{line: `{not json`, code: CodeParse, noise: true},
		{line: ``, code: CodeParse, noise: true},
		{line: `123`, code: CodeInvalidRequest, noise: true},
		{line: `"str"`, code: CodeInvalidRequest, noise: true},
		{line: `null`, code: CodeInvalidRequest, noise: true},
		{line: `{}`, code: CodeInvalidRequest, noise: true},
		{line: `{"level":"info","id":7}`, code: CodeInvalidRequest, noise: true, id: "7"},
		// Not JSON, whatever it looks like.
		{line: `{"jsonrpc":"2.0","id":1,"method":"x"`, code: CodeParse, noise: true},
		{line: `{"jsonrpc":"2.0","id":1,"method":"x"}{}`, code: CodeParse, noise: true, reason: "text after"},
		{line: `{"jsonrpc":"2.0","id":1,"method":"x",}`, code: CodeParse, noise: true},
		{line: `{"jsonrpc":"2.0","id":01,"method":"x"}`, code: CodeParse, noise: true},
		{line: "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\t\"}", code: CodeParse, noise: true, reason: "control character"},
		{line: `{"jsonrpc":"2.0","id":1,"ID":2,"method":}`, code: CodeParse, noise: true, reason: "no JSON value"},
		// JSON-RPC that cannot be passed on.
		{line: "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":\"\xff\"}", code: CodeParse, id: "5", reason: "UTF-8 at byte 34"},
		{line: "{\"id\":5,\"result\":\"\xed\xa0\x80\"}", code: CodeParse, id: "5", noise: true},
		{line: `{"jsonrpc":"2.0","result":` + deep + `,"id":6}`, code: CodeInvalidRequest, id: "6", reason: "1000"},
		{line: deep + "]", code: CodeParse, noise: true},
		{line: "[" + deep + "]", code: CodeInvalidRequest, noise: true},
		{line: `{"jsonrpc":"1.0","id":1,"method":"x"}`, code: CodeInvalidRequest, id: "1"},
		{line: `{"jsonrpc":2.0,"id":1,"method":"x"}`, code: CodeInvalidRequest, id: "1"},
		{line: `{"JSONRPC":"2.0","id":1,"method":"x"}`, code: CodeInvalidRequest, id: "1", reason: "jsonrpc is there in another case"},
		{line: `{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`, code: CodeInvalidRequest, id: "1", reason: "both"},
		{line: `{"jsonrpc":"2.0","id":1,"result":{},"error":null}`, code: CodeInvalidRequest, id: "1", reason: "both"},
		{line: `{"jsonrpc":"2.0","id":1}`, code: CodeInvalidRequest, id: "1", reason: "neither"},
		{line: `{"jsonrpc":"2.0","id":1,"params":{},"result":1}`, code: CodeInvalidRequest, id: "1"},
		{line: `{"jsonrpc":"2.0","id":1,"method":"x","result":1}`, code: CodeInvalidRequest, id: "1"},
		{line: `{"jsonrpc":"2.0","id":1,"error":"no"}`, code: CodeInvalidRequest, id: "1", reason: "object"},
		{line: `{"jsonrpc":"2.0","result":1}`, code: CodeInvalidRequest, reason: "id"},
		{line: `{"jsonrpc":"2.0","id":null,"result":1}`, code: CodeInvalidRequest, reason: "id"},
		{line: `{"jsonrpc":"2.0","id":null,"method":"x"}`, code: CodeInvalidRequest, reason: "id"},
		{line: `{"jsonrpc":"2.0","id":{"a":1},"method":"x"}`, code: CodeInvalidRequest, reason: "id"},
		{line: `{"jsonrpc":"2.0","id":true,"error":{}}`, code: CodeInvalidRequest, reason: "id"},
		{line: `{"jsonrpc":"2.0","id":1,"method":5}`, code: CodeInvalidRequest, id: "1", reason: "method"},
		{line: `{"jsonrpc":"2.0","id":1,"method":"\ud800"}`, code: CodeInvalidRequest, id: "1", reason: "method"},
		{line: `{"jsonrpc":"2.0","id":1,"method":"x","params":"p"}`, code: CodeInvalidRequest, id: "1", reason: "params"},
		// Two readers could take two values.
		{line: `{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}`, code: CodeInvalidRequest, reason: "id is there twice"},
		{line: `{"jsonrpc":"2.0","id":1,"Id":2,"method":"x"}`, code: CodeInvalidRequest, reason: "id is there in another case"},
		{line: `{"jsonrpc":"2.0","id":1,"\u0049D":2,"method":"x"}`, code: CodeInvalidRequest, reason: "another case"},
		{line: `{"jsonrpc":"2.0","id":1,"m\u0065thod":"a","method":"x"}`, code: CodeInvalidRequest, id: "1", reason: "method is there twice"},
		{line: `{"jsonrpc":"2.0","id":1,"method":"x","paramſ":{}}`, code: CodeInvalidRequest, id: "1", reason: "params is there in another case"},
		// R5
		{line: `[]`, code: CodeInvalidRequest, noise: true, batch: true},
		{line: `[1,{"a":2}]`, code: CodeInvalidRequest, noise: true, batch: true},
		{line: `[1,{"jsonrpc":"2.0","id":1,"method":"x"},2]`, code: CodeInvalidRequest, batch: true},
	}
	for _, tt := range tests {
		_, err := Parse([]byte(tt.line))
		var pe *ParseError
		if !errors.As(err, &pe) {
			t.Errorf("%.80s: %v", tt.line, err)
			continue
		}
		if pe.Code != tt.code || string(pe.ID) != tt.id || pe.Noise != tt.noise || pe.Batch != tt.batch || !strings.Contains(err.Error(), tt.reason) {
			t.Errorf("%.80s: %+v, id %s, %v", tt.line, pe, pe.ID, err)
		}
	}
}

// MB-077, R4: ids come back as they were, and nothing else changes.
func TestWithIDKeepsEveryOtherByte(t *testing.T) {
	const before, after = ` {"x":{"id":1.0,"e":1e400} , "jsonrpc":"2.0","id" : `, ` ,"method":"tools/call","params":{"n":9007199254740993,"z":-0,"t":""}, "x":2}`
	for _, id := range []string{"1", `"1"`, `"abc"`, "9007199254740993", `""`, "-0", "1.50", `"\u0061"`} {
		m, err := Parse([]byte(before + id + after))
		if err != nil {
			t.Fatal(err)
		}
		there := m.WithID([]byte("4711"))
		if want := before + "4711" + after; string(there) != want {
			t.Errorf("id %s: sent %s", id, there)
		}
		back, err := Parse(there)
		if err != nil {
			t.Fatal(err)
		}
		if got := back.WithID(m.IDBytes()); string(got) != string(m.Raw) {
			t.Errorf("id %s: came back as %s", id, got)
		}
		if string(m.Raw) != before+id+after {
			t.Errorf("id %s: the message itself changed", id)
		}
	}
	n, err := Parse([]byte(`{"jsonrpc":"2.0","method":"x"}`))
	if err != nil || string(n.WithID([]byte("1"))) != string(n.Raw) {
		t.Errorf("notification: %s %v", n.WithID([]byte("1")), err)
	}
}

func TestSplitBatch(t *testing.T) { // R5
	tests := []struct {
		line string
		want string
		code int
	}{
		{` [ {"a":1} , 2,"x" ] `, `{"a":1}|2|"x"`, 0},
		{`[1,2,3]`, `1|2|3`, 0},
		{`[1,2,3,4]`, "", CodeInvalidRequest},
		{`[ ]`, "", CodeInvalidRequest},
		{`{}`, "", CodeParse},
		{`[1,]`, "", CodeParse},
		{`[1] x`, "", CodeParse},
		{"[\"\xff\"]", "", CodeParse},
	}
	for _, tt := range tests {
		got, err := SplitBatch([]byte(tt.line), 3)
		var parts []string
		for _, e := range got {
			parts = append(parts, string(e))
		}
		var pe *ParseError
		if errors.As(err, &pe) != (tt.code != 0) || pe != nil && pe.Code != tt.code || strings.Join(parts, "|") != tt.want {
			t.Errorf("%s: %q %v", tt.line, parts, err)
		}
	}
}
