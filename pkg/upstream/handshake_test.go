package upstream

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"postern/pkg/wire"
)

// script is what a server answers to a method: the rest of the response after
// the id, or "" to stay silent.
type script map[string]string

// hello runs the handshake against a script and tells what was asked.
func hello(t *testing.T, o Options, s script) (*Client, []string, error) {
	t.Helper()
	p := newPeer(t, o)
	p.c.mu.Lock()
	p.c.state = starting
	p.c.mu.Unlock()
	asked := make(chan string, 16)
	go func() { // ends when the client closes stdin
		defer close(asked)
		for {
			line, err := p.in.ReadString('\n')
			if err != nil {
				return
			}
			m, err := wire.Parse([]byte(strings.TrimSpace(line)))
			if err != nil {
				return
			}
			asked <- m.Method
			if answer := s[m.Method]; answer != "" {
				p.send(`{"jsonrpc":"2.0","id":%s,%s}`, m.IDBytes(), answer)
			}
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), p.c.o.StartTimeout)
	defer cancel()
	err := p.c.handshake(ctx)
	p.group.end("exit status 0")
	p.c.Close()
	var methods []string
	for m := range asked {
		methods = append(methods, m)
	}
	return p.c, methods, err
}

const (
	legacyAnswer = `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"x":1.0}},"serverInfo":{"name":"s","n":1e400},"instructions":"Do."}`
	modernAnswer = `"result":{"resultType":"complete","supportedVersions":["2027-01-01","2026-07-28"],"capabilities":{"tools":{}},"instructions":"New.","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"m"}}}`
	unknown      = `"error":{"code":-32601,"message":"what?"}`
	notThis      = `"error":{"code":-32022,"message":"no","data":{"supported":["2027-01-01"],"requested":"2026-07-28"}}`
)

// R13: which question is asked first, and when the other one follows.
func TestHandshake(t *testing.T) {
	for _, tc := range []struct {
		name     string
		protocol string
		era      string
		script   script
		asked    string
		version  string
	}{
		{"legacy", "", "", script{"initialize": legacyAnswer}, "initialize notifications/initialized", "2025-06-18"},
		{"auto", "auto", EraLegacy, script{"initialize": legacyAnswer}, "initialize notifications/initialized", "2025-06-18"},
		{"pinned legacy", EraLegacy, EraModern, script{"initialize": legacyAnswer}, "initialize notifications/initialized", "2025-06-18"},
		{"modern only", "auto", "", script{"initialize": unknown, "server/discover": modernAnswer}, "initialize server/discover", modernVersion},
		{"modern says so in initialize", "auto", "", script{"initialize": `"result":{"protocolVersion":"2026-07-28"}`, "server/discover": modernAnswer}, "initialize server/discover", modernVersion},
		{"remembered modern", "auto", EraModern, script{"initialize": legacyAnswer, "server/discover": modernAnswer}, "server/discover", modernVersion},
		{"pinned modern", EraModern, "", script{"server/discover": modernAnswer}, "server/discover", modernVersion},
		{"remembered modern, legacy again", "auto", EraModern, script{"initialize": legacyAnswer, "server/discover": unknown}, "server/discover initialize notifications/initialized", "2025-06-18"},
		{"remembered modern, silent", "auto", EraModern, script{"initialize": legacyAnswer}, "server/discover notifications/cancelled initialize notifications/initialized", "2025-06-18"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, asked, err := hello(t, Options{Protocol: tc.protocol, Era: tc.era, StartTimeout: 2 * time.Second}, tc.script)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(asked, " "); got != tc.asked {
				t.Errorf("asked %s, want %s", got, tc.asked)
			}
			i := c.Info()
			want := Info{Protocol: tc.version, Era: EraLegacy, Instructions: "Do.", PID: 4711,
				Capabilities: []byte(`{"tools":{"x":1.0}}`), ServerInfo: []byte(`{"name":"s","n":1e400}`)}
			if tc.version == modernVersion {
				want.Era, want.Instructions = EraModern, "New."
				want.Capabilities, want.ServerInfo = []byte(`{"tools":{}}`), []byte(`{"name":"m"}`)
			}
			if i.Era != want.Era || i.Protocol != want.Protocol || i.Instructions != want.Instructions || i.PID != want.PID ||
				string(i.Capabilities) != string(want.Capabilities) || string(i.ServerInfo) != string(want.ServerInfo) {
				t.Errorf("got  %+v\nwant %+v", i, want)
			}
		})
	}
}

// R13, MB-020: what cannot be agreed on is refused with both sides' versions,
// and a broken answer is the server's fault by name.
func TestHandshakeRefused(t *testing.T) {
	for _, tc := range []struct {
		name     string
		protocol string
		script   script
		word     Word
		phase    string
		text     []string
	}{
		{"a version of the future", "", script{"initialize": `"result":{"protocolVersion":"2031-01-01"}`}, Protocol, "initialize", []string{"2031-01-01", "2025-11-25", "2024-11-05"}},
		{"no version", "", script{"initialize": `"result":{}`}, Protocol, "initialize", []string{"none", "2025-11-25"}},
		{"a version of another kind", "", script{"initialize": `"result":{"protocolVersion":7}`}, Protocol, "initialize", []string{"version 7"}},
		{"modern where legacy is pinned", EraLegacy, script{"initialize": `"result":{"protocolVersion":"2026-07-28"}`}, Protocol, "initialize", []string{"2026-07-28"}},
		{"a modern version of the future", EraModern, script{"server/discover": `"result":{"supportedVersions":["2027-01-01"]}`}, Protocol, "server/discover", []string{"2027-01-01", "2026-07-28"}},
		{"the same as an error", EraModern, script{"server/discover": notThis}, ServerError, "server/discover", []string{"2027-01-01", "2026-07-28"}},
		{"no discovery at all", EraModern, script{"server/discover": unknown}, ServerError, "server/discover", []string{"what? (code -32601)"}},
		{"neither era", "", script{"initialize": unknown, "server/discover": unknown}, ServerError, "initialize", []string{"what?"}},
		{"another error", "", script{"initialize": `"error":{"code":1,"message":"no licence"}`}, ServerError, "initialize", []string{"no licence"}},
		{"a broken error", "", script{"initialize": `"error":{"code":"1"}`}, Protocol, "initialize", []string{"an error that breaks the protocol"}},
		{"no object", "", script{"initialize": `"result":[]`}, Protocol, "initialize", []string{"no JSON object"}},
		{"ambiguous", "", script{"initialize": `"result":{"protocolVersion":"2025-06-18","ProtocolVersion":"2024-11-05"}`}, Protocol, "initialize", []string{"another case"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := hello(t, Options{Protocol: tc.protocol}, tc.script)
			f := failure(t, err, tc.word)
			if f.Phase != tc.phase || (f.Word == ServerError) != (f.RPC != nil) {
				t.Errorf("got %+v", f)
			}
			for _, want := range tc.text {
				if !strings.Contains(f.Error(), want) {
					t.Errorf("%q lacks %q", f, want)
				}
			}
		})
	}
}

// R13: a server that never answers is bounded by start_timeout, and is not sent
// a cancellation of initialize (MB-090).
func TestHandshakeSilent(t *testing.T) {
	_, asked, err := hello(t, Options{StartTimeout: 100 * time.Millisecond}, script{})
	f := failure(t, err, Timeout)
	if f.Limit != 100*time.Millisecond || f.Phase != "initialize" || !strings.Contains(f.Error(), "start_timeout") {
		t.Errorf("got %+v", f)
	}
	if !slices.Equal(asked, []string{"initialize"}) {
		t.Errorf("asked %s", asked)
	}
}

// What a legacy server is told about us.
func TestInitializeParams(t *testing.T) {
	p := newPeer(t, Options{Version: "1.2"})
	p.c.mu.Lock()
	p.c.state = starting
	p.c.mu.Unlock()
	go p.c.handshake(t.Context()) // ends with the test's connection
	_, m := p.request()
	want := `{"capabilities":{},"clientInfo":{"name":"postern","version":"1.2"},"protocolVersion":"2025-11-25"}`
	if string(m.ParamsBytes()) != want {
		t.Errorf("got %s, want %s", m.ParamsBytes(), want)
	}
}

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

// Whatever object the params are, the spliced ones are JSON that has our members
// once and otherwise the same members as before.
func FuzzModernParams(f *testing.F) {
	for _, s := range []string{`{}`, `{"_meta":{"x":1}}`, `{"_meta":{"io.modelcontextprotocol/clientInfo":0}}`, `{ "a" : [ ] }`} {
		f.Add([]byte(s))
	}
	c := &Client{meta: reservedMeta(`{}`)}
	f.Fuzz(func(t *testing.T, in []byte) {
		if wire.EachMember(in, func([]byte, wire.Span) bool { return true }) != nil {
			return
		}
		out, err := c.params(Call{Params: in}, nil)
		if err != nil {
			return
		}
		var at [1]wire.Span
		if err := wire.Lookup(out, []string{"_meta"}, at[:]); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		var in3 [3]wire.Span
		meta := at[0].Of(out)
		if err := wire.Lookup(meta, []string{metaVersion, metaClientInfo, metaCapabilities}, in3[:]); err != nil || !in3[2].Ok() {
			t.Fatalf("%s: %v", out, err)
		}
		if string(in3[0].Of(meta)) != `"2026-07-28"` || string(in3[1].Of(meta)) != `{}` || string(in3[2].Of(meta)) != `{}` {
			t.Fatalf("%s", out)
		}
		if a, b := others(in), others(out); a != b {
			t.Fatalf("%s became %s", a, b)
		}
	})
}

// others is every member but _meta.
func others(obj []byte) string {
	var b strings.Builder
	wire.EachMember(obj, func(key []byte, v wire.Span) bool {
		if name, _ := wire.Unquote(key); name != "_meta" {
			b.Write(key)
			b.Write(v.Of(obj))
		}
		return true
	})
	return b.String()
}
