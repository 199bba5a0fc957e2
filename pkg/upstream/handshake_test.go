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
		{"preferred modern", "auto", "prefer", script{"initialize": legacyAnswer, "server/discover": modernAnswer}, "server/discover", modernVersion},
		{"preferred modern, remembered legacy", "auto", "prefer legacy", script{"initialize": legacyAnswer, "server/discover": modernAnswer}, "server/discover", modernVersion},
		{"preferred modern, legacy", "", "prefer", script{"initialize": legacyAnswer, "server/discover": unknown}, "server/discover initialize notifications/initialized", "2025-06-18"},
		{"preferred modern, not yet initialized", "", "prefer", script{"initialize": legacyAnswer, "server/discover": `"error":{"code":0,"message":"not initialized"}`}, "server/discover initialize notifications/initialized", "2025-06-18"},
		{"preferred modern, answers anything", "", "prefer", script{"initialize": legacyAnswer, "server/discover": `"result":{}`}, "server/discover initialize notifications/initialized", "2025-06-18"},
		{"preferred modern, another modern version", "", "prefer", script{"initialize": legacyAnswer, "server/discover": notThis}, "server/discover initialize notifications/initialized", "2025-06-18"},
		{"preferred modern, silent", "auto", "prefer", script{"initialize": legacyAnswer}, "server/discover notifications/cancelled initialize notifications/initialized", "2025-06-18"},
		{"preferred modern, pinned legacy", EraLegacy, "prefer", script{"initialize": legacyAnswer}, "initialize notifications/initialized", "2025-06-18"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel() // two of them wait for the probe's deadline, a half of this
			o := Options{Protocol: tc.protocol, Era: tc.era, StartTimeout: 8 * time.Second}
			if era, ok := strings.CutPrefix(tc.era, "prefer"); ok {
				o.Prefer, o.Era = EraModern, strings.TrimSpace(era)
			}
			c, asked, err := hello(t, o, tc.script)
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
		{"neither era, modern preferred", "prefer", script{"initialize": unknown, "server/discover": `"error":{"code":1,"message":"no licence"}`}, ServerError, "server/discover", []string{"no licence"}},
		{"another error", "", script{"initialize": `"error":{"code":1,"message":"no licence"}`}, ServerError, "initialize", []string{"no licence"}},
		{"a broken error", "", script{"initialize": `"error":{"code":"1"}`}, Protocol, "initialize", []string{"an error that breaks the protocol"}},
		{"no object", "", script{"initialize": `"result":[]`}, Protocol, "initialize", []string{"no JSON object"}},
		{"ambiguous", "", script{"initialize": `"result":{"protocolVersion":"2025-06-18","ProtocolVersion":"2024-11-05"}`}, Protocol, "initialize", []string{"another case"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := Options{Protocol: tc.protocol}
			if tc.protocol == "prefer" {
				o.Protocol, o.Prefer = "", EraModern
			}
			_, _, err := hello(t, o, tc.script)
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

// R16: what a server is told about us: the capabilities byte for byte, or none.
func TestDeclared(t *testing.T) {
	for _, tc := range []struct{ capabilities, want string }{
		{``, `{}`},
		{`{ "elicitation":{"form":{}},"x":1e400,"roots":{"listChanged":true} }`, `{ "elicitation":{"form":{}},"x":1e400,"roots":{"listChanged":true} }`},
		{`{"a":"<&>"}`, `{"a":"<&>"}`},
		{`null`, `{}`},
		{`[]`, `{}`},
	} {
		for _, protocol := range []string{EraLegacy, EraModern} {
			p := newPeer(t, Options{Version: `1.2"`, Protocol: protocol, Capabilities: []byte(tc.capabilities)})
			p.c.mu.Lock()
			p.c.state = starting
			p.c.mu.Unlock()
			go p.c.handshake(t.Context()) // ends with the test's connection
			_, m := p.request()
			want := `{"capabilities":` + tc.want + `,"clientInfo":{"name":"postern","version":"1.2\""},"protocolVersion":"2025-11-25"}`
			if protocol == EraModern {
				want = `{"_meta":{"` + metaVersion + `":"2026-07-28","` + metaClientInfo + `":{"name":"postern","version":"1.2\""},"` + metaCapabilities + `":` + tc.want + `}}`
			}
			if string(m.ParamsBytes()) != want {
				t.Errorf("got  %s\nwant %s", m.ParamsBytes(), want)
			}
		}
	}
}
