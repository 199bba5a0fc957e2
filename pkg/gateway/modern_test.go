package gateway

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"postern/pkg/wire"
)

// meta writes params with a modern introduction and more members of _meta.
func introduced(more string) string {
	return `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}` + more + `}}`
}

// R71: the era is that of one request; it is modern when it says so itself.
func TestIntroduceLegacy(t *testing.T) {
	for _, params := range []string{
		``, `null`, `[]`, `{}`, `{"_meta":null}`, `{"_meta":[]}`, `{"_meta":{}}`, `{"_meta":{"progressToken":1}}`,
		`{"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}}`,
		`{"protocolVersion":"2026-07-28"}`,
		`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}}`,
		`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2024-11-05"}}`,
	} {
		if in, problem := introduce("tools/list", []byte(params)); in != nil || problem != nil {
			t.Errorf("%s: %+v %v", params, in, problem)
		}
	}
}

func TestIntroduceModern(t *testing.T) {
	for params, want := range map[string]introduction{
		introduced(``): {},
		introduced(`,"io.modelcontextprotocol/clientInfo":{"name":"a"},"io.modelcontextprotocol/logLevel":"notice"`):                                   {client: []byte(`{"name":"a"}`)},
		`{"name":"x", "_meta" : {"io.modelcontextprotocol\/protocolVersion":"2026\u002d07-28","x":1,"io.modelcontextprotocol/clientCapabilities":{}}}`: {},
		`{"\u005fmeta":{"io.modelcontextprotocol/\u0070rotocolVersio\u006e":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`:            {},
	} {
		in, problem := introduce("tools/list", []byte(params))
		if problem != nil || in == nil || string(in.Capabilities) != "{}" || string(in.client) != string(want.client) {
			t.Errorf("%s: %+v %v", params, in, problem)
		} else if strings.Contains(params, "logLevel") != (in.LogLevel == "notice") {
			t.Errorf("%s: level %q", params, in.LogLevel)
		}
	}
}

// R2, R71: what breaks the rules of the era is refused with the protocol's code
// and names what is wrong; nothing is taken for a request of the other era.
func TestIntroduceRefuses(t *testing.T) {
	version := func(v string) string {
		return `{"_meta":{"io.modelcontextprotocol/protocolVersion":` + v + `,"io.modelcontextprotocol/clientCapabilities":{}}}`
	}
	for _, c := range []struct {
		params string
		code   int
		want   string
	}{
		{version(`"2031-01-01"`), -32022, `"requested":"2031-01-01"`},
		{version(`"1900-01-01"`), -32022, `"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]`},
		{version(`""`), -32022, `"requested":""`},
		{version(`"<\u0041>"`), -32022, `"requested":"<\u0041>"`},
		{version(`20260728`), -32602, `protocolVersion\" is not a string`},
		{version(`null`), -32602, `protocolVersion\" is not a string`},
		{`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`, -32602, `clientCapabilities\" is missing`},
		{`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":null}}`, -32602, `clientCapabilities\" is not an object`},
		{introduced(`,"io.modelcontextprotocol/clientInfo":"me"`), -32602, `clientInfo\" is not an object`},
		{introduced(`,"io.modelcontextprotocol/logLevel":"loud"`), -32602, `logLevel\" is no log level`},
		{introduced(`,"io.modelcontextprotocol/logLevel":3`), -32602, `logLevel\" is no log level`},
		{introduced(`,"io.modelcontextprotocol/protocolVersion":"2026-07-28"`), -32602, "twice"},
		{introduced(`,"io.modelcontextprotocol/ClientInfo":{}`), -32602, "another case"},
		{`{"_meta":{},` + introduced(``)[1:], -32602, "twice"},
		{strings.Replace(introduced(``), "_meta", "_Meta", 1), -32602, "another case"},
	} {
		in, problem := introduce("tools/list", []byte(c.params))
		if in != nil || problem == nil {
			t.Errorf("%s: %+v %v", c.params, in, problem)
			continue
		}
		if text, err := json.Marshal(problem); err != nil || problem.Code != c.code || !strings.Contains(string(wire.ErrorLine(nil, problem)), c.want) {
			t.Errorf("%s: %s %v, want %s", c.params, text, err, c.want)
		}
	}
}

// Methods that only the modern era has are refused outside it: an answer would
// hide that what has to stand in each request does not.
func TestIntroduceModernMethods(t *testing.T) {
	for _, method := range []string{"server/discover", "subscriptions/listen"} {
		for _, params := range []string{``, `{}`, `{"_meta":{}}`, `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25","io.modelcontextprotocol/clientCapabilities":{}}}`} {
			in, problem := introduce(method, []byte(params))
			if in != nil || problem == nil || problem.Code != wire.CodeInvalidParams || !strings.Contains(problem.Message, `"2026-07-28"`) {
				t.Errorf("%s %s: %+v %v", method, params, in, problem)
			}
		}
	}
}

// FuzzIntroduce: a request is of one era and of one only, and whoever reads the
// same bytes with encoding/json reads the same.
func FuzzIntroduce(f *testing.F) {
	for _, seed := range []string{`{}`, introduced(``), introduced(`,"io.modelcontextprotocol/logLevel":"debug"`), `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}}`, `[]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, params []byte) {
		m, err := wire.Parse(wire.RequestLine([]byte("1"), "tools/call", params))
		if err != nil {
			return
		}
		in, problem := introduce("tools/call", m.ParamsBytes())
		if in != nil && problem != nil {
			t.Fatal("both")
		}
		var read struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		}
		bad := json.Unmarshal(m.ParamsBytes(), &read)
		version, _ := wire.Unquote(read.Meta[metaVersion])
		switch {
		case in != nil && (bad != nil || version != modernRevision || !wire.IsObject(read.Meta[metaCapabilities])):
			t.Fatalf("taken for modern: %s", m.ParamsBytes())
		case in == nil && problem == nil && bad == nil && read.Meta[metaVersion] != nil && !slices.Contains(revisions[:], version):
			t.Fatalf("taken for legacy: %s", m.ParamsBytes())
		}
		if problem != nil && !json.Valid(wire.ErrorLine([]byte("1"), problem)) {
			t.Fatalf("%s", wire.ErrorLine([]byte("1"), problem))
		}
	})
}
