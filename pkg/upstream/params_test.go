package upstream

import (
	"slices"
	"strings"
	"testing"

	"postern/pkg/wire"
)

func reservedMeta(info string) *reserved {
	return &reserved{version: []byte(`"2026-07-28"`), info: []byte(info), capabilities: []byte(`{}`)}
}

// The reserved members of a modern request are ours, whatever the caller put
// there, and every other byte stays (R4).
func TestModernParams(t *testing.T) {
	c := &Client{o: Options{Server: "demo"}, meta: reservedMeta(`{"name":"postern"}`)}
	const m = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"postern"},"io.modelcontextprotocol/clientCapabilities":{}`
	for _, tc := range []struct{ in, token, want string }{
		{``, "", `{"_meta":{` + m + `}}`},
		{`{}`, "", `{"_meta":{` + m + `}}`},
		{`{ }`, "", `{"_meta":{` + m + `} }`},
		{` {"name": 1.0 }`, "", ` {"_meta":{` + m + `},"name": 1.0 }`},
		{`{"a":1,"_meta":{}}`, "", `{"a":1,"_meta":{` + m + `}}`},
		{`{"_meta": { "x":1e400,"progressToken":"t" },"a":1}`, `"t"`, `{"_meta": {` + m + `, "x":1e400,"progressToken":7 },"a":1}`},
		{`{"_meta":{"progressToken":"t","io.modelcontextprotocol/protocolVersion":"2099-01-01","z":0}}`, `"t"`,
			`{"_meta":{` + m[len(`"io.modelcontextprotocol/protocolVersion":"2026-07-28",`):] +
				`,"progressToken":7,"io.modelcontextprotocol/protocolVersion":"2026-07-28","z":0}}`},
	} {
		call := Call{Method: "x"}
		if tc.in != "" {
			call.Params = []byte(tc.in)
		}
		if tc.token != "" {
			at := strings.Index(tc.in, tc.token)
			call.Token = wire.Span{Start: at, End: at + len(tc.token)}
		}
		got, err := c.params(call, []byte("7"))
		if err != nil || string(got) != tc.want {
			t.Errorf("%s:\ngot  %s, %v\nwant %s", tc.in, got, err, tc.want)
		}
	}
	for _, bad := range []string{`[1]`, `{"_meta":null}`, `{"_meta":1}`, `{"_meta":{},"_meta":{}}`, `{"_meta":{},"_Meta":{}}`} {
		if _, err := c.params(Call{Method: "x", Params: []byte(bad)}, []byte("7")); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

// R16, R72: a request's own capabilities and log level stand in its _meta, in
// place of what stood there, and "" is no level.
func TestModernParamsOfACall(t *testing.T) {
	c := &Client{o: Options{Server: "demo"}, meta: reservedMeta(`{"name":"postern"}`)}
	const (
		v, i, k, l = `"` + metaVersion + `":`, `"` + metaClientInfo + `":`, `"` + metaCapabilities + `":`, `"` + metaLogLevel + `":`
		vi         = v + `"2026-07-28",` + i + `{"name":"postern"},`
	)
	for _, tc := range []struct{ in, capabilities, level, want string }{
		{``, `{"x":1.0}`, "info", `{"_meta":{` + vi + k + `{"x":1.0},` + l + `"info"}}`},
		{`{"a":1}`, `[]`, "", `{"_meta":{` + vi + k + `{}},"a":1}`},
		{`{"_meta":{` + k + `{"old":1}}}`, `{ "new":1e400 }`, "debug", `{"_meta":{` + vi + l + `"debug",` + k + `{ "new":1e400 }}}`},
		{`{"_meta":{` + l + `"debug"}}`, ``, "error", `{"_meta":{` + vi + k + `{},` + l + `"error"}}`},
		{`{"_meta":{` + l + `"\u0065rror"}}`, ``, "error", `{"_meta":{` + vi + k + `{},` + l + `"\u0065rror"}}`},
		{`{"_meta":{` + l + `7, "a":1}}`, ``, "error", `{"_meta":{` + vi + k + `{},` + l + `"error", "a":1}}`},
		{`{"_meta":{` + l + `"debug"}}`, ``, "", `{"_meta":{` + vi + k + `{}}}`},
		{`{"_meta":{"a":1, ` + l + `"debug" , "b":1}}`, ``, "", `{"_meta":{"a":1, ` + vi + k + `{} , "b":1}}`},
		{`{"_meta":{` + v + `0,` + i + `0,` + k + `0,` + l + `"debug"}}`, ``, "", `{"_meta":{` + vi + k + `{}}}`},
		{`{"_meta":{` + l + `"debug",` + v + `0,` + i + `0,` + k + `0}}`, ``, "", `{"_meta":{` + vi + k + `{}}}`},
		{`{"requestState":"s","inputResponses":{"a":{}},"_meta":{` + vi + k + `{}}}`, ``, "",
			`{"requestState":"s","inputResponses":{"a":{}},"_meta":{` + vi + k + `{}}}`},
	} {
		for _, modern := range []bool{false, true} {
			call := Call{Method: "x", LogLevel: tc.level, Modern: modern}
			if tc.in != "" {
				call.Params = []byte(tc.in)
			}
			if tc.capabilities != "" {
				call.Capabilities = []byte(tc.capabilities)
			}
			got, err := c.params(call, []byte("7"))
			if err != nil || string(got) != tc.want {
				t.Errorf("%s:\ngot  %s, %v\nwant %s", tc.in, got, err, tc.want)
			}
		}
	}
	for _, bad := range []string{`{"_meta":{` + l + `1,` + l + `2}}`, `{"_meta":{"io.modelcontextprotocol/LogLevel":1}}`} {
		if _, err := c.params(Call{Params: []byte(bad)}, nil); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

// R73: what only the modern era knows does not reach a legacy server, and all
// else does as it was; of a legacy agent everything does.
func TestModernParamsToLegacy(t *testing.T) {
	const r = `"` + metaVersion + `":"2026-07-28","` + metaClientInfo + `":{"name":"a"},"` + metaCapabilities + `":{"roots":{}}`
	c := &Client{o: Options{Server: "demo"}}
	for _, tc := range []struct{ in, want string }{
		{``, ``},
		{`{}`, `{}`},
		{` { "a":1e400 } `, ` { "a":1e400 } `},
		{`{"_meta":{` + r + `}}`, `{"_meta":{}}`},
		{`{"name":"x","_meta":{` + r + `,"progressToken":"t","traceparent":"00"}}`, `{"name":"x","_meta":{"progressToken":7,"traceparent":"00"}}`},
		{`{"_meta":{"progressToken":"t",` + r + `},"name":"x"}`, `{"_meta":{"progressToken":7},"name":"x"}`},
		{`{"_meta":{"z":-0, "` + metaLogLevel + `" : "debug" , "progressToken":"t"}}`, `{"_meta":{"z":-0, "progressToken":7}}`},
		{`{"inputResponses":{"k":{"_meta":{` + r + `}}},"name":"x","requestState":"s","_meta":{` + r + `}}`, `{"name":"x","_meta":{}}`},
		{`{"name":"x","requestState":"s","inputResponses":{}}`, `{"name":"x"}`},
		{`{"arguments":{"_meta":{` + r + `},"requestState":1}}`, `{"arguments":{"_meta":{` + r + `},"requestState":1}}`},
	} {
		call := Call{Method: "x", Modern: true, LogLevel: "debug", Capabilities: []byte(`{"x":1}`)}
		if tc.in != "" {
			call.Params = []byte(tc.in)
		}
		if at := strings.Index(tc.in, `"t"`); at >= 0 {
			call.Token = wire.Span{Start: at, End: at + 3}
		}
		got, err := c.params(call, []byte("7"))
		if err != nil || string(got) != tc.want {
			t.Errorf("%s:\ngot  %s, %v\nwant %s", tc.in, got, err, tc.want)
		}
		call.Modern = false
		same, err := c.params(call, []byte(`"t"`))
		if err != nil || string(same) != tc.in {
			t.Errorf("of a legacy agent, %s became %s, %v", tc.in, same, err)
		}
	}
	for _, bad := range []string{`[1]`, `{"_meta":1}`, `{"requestState":1,"requestState":2}`, `{"RequestState":1}`, `{"_meta":{` + r + `,` + r + `}}`} {
		if _, err := c.params(Call{Params: []byte(bad), Modern: true}, nil); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

// Whatever object the params are, the spliced ones are JSON that has our members
// once, the level as wanted, and otherwise the same members as before.
func FuzzModernParams(f *testing.F) {
	for _, s := range paramsSeeds() {
		f.Add([]byte(s), "")
		f.Add([]byte(s), "debug")
	}
	c := &Client{meta: reservedMeta(`{}`)}
	f.Fuzz(func(t *testing.T, in []byte, level string) {
		if !isParams(in) || len(level) > 20 {
			return
		}
		out, err := c.params(Call{Params: in, LogLevel: level}, nil)
		if err != nil {
			return
		}
		meta, _, at, err := lookupMeta(out)
		if err != nil || !at[2].Ok() {
			t.Fatalf("%s: %v", out, err)
		}
		if text(at[0].Of(meta)) != modernVersion || string(at[1].Of(meta)) != `{}` || string(at[2].Of(meta)) != `{}` {
			t.Fatalf("%s", out)
		}
		if at[3].Ok() != (level != "") || at[3].Ok() && text(at[3].Of(meta)) != text(wire.Quote(level)) {
			t.Fatalf("%q: %s", level, out)
		}
		if a, b := others(in, "_meta"), others(out, "_meta"); a != b {
			t.Fatalf("%s became %s", a, b)
		}
		old, _, _, _ := lookupMeta(in)
		if a, b := others(old, metaNames()...), others(meta, metaNames()...); a != b {
			t.Fatalf("_meta %s became %s", a, b)
		}
	})
}

// The same the other way: what is left for a legacy server is all but the members
// of the modern era.
func FuzzModernParamsToLegacy(f *testing.F) {
	for _, s := range paramsSeeds() {
		f.Add([]byte(s))
	}
	c := &Client{}
	f.Fuzz(func(t *testing.T, in []byte) {
		if !isParams(in) {
			return
		}
		out, err := c.params(Call{Params: in, Modern: true}, nil)
		if err != nil {
			return
		}
		meta, _, at, err := lookupMeta(out)
		if err != nil || at != [4]wire.Span{} {
			t.Fatalf("%s: %v", out, err)
		}
		names := []string{"_meta", "inputResponses", "requestState"}
		if a, b := others(in, names...), others(out, "_meta"); a != b {
			t.Fatalf("%s became %s", a, b)
		}
		old, _, _, _ := lookupMeta(in)
		if a, b := others(old, metaNames()...), others(meta); a != b {
			t.Fatalf("_meta %s became %s", a, b)
		}
	})
}

func paramsSeeds() []string {
	return []string{
		`{}`, `{"_meta":{"x":1}}`, `{"_meta":{"io.modelcontextprotocol/clientInfo":0}}`, `{ "a" : [ ] }`,
		`{"requestState":"s" , "_meta":{ "io.modelcontextprotocol/logLevel":"info" }, "inputResponses":{}}`,
		`{"_meta":{"a":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"b":2},"name":1e400}`,
	}
}

func isParams(in []byte) bool {
	return wire.EachMember(in, func([]byte, wire.Span) bool { return true }) == nil
}

// others is every member but those.
func others(obj []byte, names ...string) string {
	var b strings.Builder
	wire.EachMember(obj, func(key []byte, v wire.Span) bool {
		if name, _ := wire.Unquote(key); !slices.Contains(names, name) {
			b.Write(key)
			b.Write(v.Of(obj))
		}
		return true
	})
	return b.String()
}
