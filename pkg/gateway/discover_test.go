package gateway

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"postern/pkg/mcptest"
	"postern/pkg/upstream"
)

// R62: in a session of one server of the modern era the agent hears what it would
// hear from the server itself, but for how long it may keep it, and that the
// legacy era is spoken too.
func TestOnlyInTheModernEra(t *testing.T) {
	w := newWorld(t, `version: 1
servers:
  other: {command: $FAKE, args: [-more]}
  fake: {command: $FAKE, args: [-more, -era, modern, -ttl, "7", -info, '{"name":"f","vendor":[1.0]}', -instructions, "as \"is\"", -page, "2"]}
`+allowAll, nil)
	fake := mcptest.FakeServerCommand(t)
	direct := mcptest.Start(t, exec.Command(fake, "-more", "-era", "modern", "-ttl", "7", "-info", `{"name":"f","vendor":[1.0]}`, "-instructions", `as "is"`))
	through := w.connect(Options{Only: "fake"})
	for _, a := range []*mcptest.Agent{direct, through} {
		a.Modern(`{"elicitation":{}}`)
	}
	for i, c := range []struct{ method, params, own string }{
		{"server/discover", "", "supportedVersions ttlMs cacheScope"},
		{"tools/list", "", "ttlMs cacheScope"},
		{"prompts/list", "", "ttlMs cacheScope"},
		{"resources/list", "", "ttlMs cacheScope"},
		{"resources/templates/list", "", "ttlMs cacheScope"},
		{"tools/call", `{"name":"echo","arguments":{"a":1e400,"b":[null,-0]},"x":1}`, ""},
		{"tools/call", `{"name":"rounds","arguments":{"n":2}}`, ""},
		{"prompts/get", `{"name":"rounds"}`, ""},
		{"resources/read", `{"uri":"fake://text"}`, ""},
		{"resources/read", `{"uri":"nobody://x"}`, ""},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"a"}}`, ""},
		{"vendor/method", `{"n":9007199254740993,"z":[1.0]}`, "params"}, // says which version asked
	} {
		got, want := direct.Expect(direct.Request(c.method, c.params)), through.Expect(through.Request(c.method, c.params))
		if string(got.ErrorBytes()) != string(want.ErrorBytes()) {
			t.Errorf("%d %s: error %s, directly %s", i, c.method, want.ErrorBytes(), got.ErrorBytes())
		}
		if got.Error.Ok() {
			continue
		}
		a, b := members(t, want.ResultBytes()), members(t, got.ResultBytes())
		if !strings.Contains(a["_meta"], `"io.modelcontextprotocol/serverInfo":{"name":"f","vendor":[1.0]}`) {
			t.Errorf("%d %s is signed by %s", i, c.method, a["_meta"])
		}
		for _, name := range append(strings.Fields(c.own), "_meta") {
			delete(a, name)
			delete(b, name)
		}
		if len(a) != len(b) {
			t.Errorf("%d %s: %v, directly %v", i, c.method, a, b)
		}
		for name, value := range b {
			if a[name] != value {
				t.Errorf("%d %s: %s is %s, directly %s", i, c.method, name, a[name], value)
			}
		}
	}
}

func members(t *testing.T, obj []byte) map[string]string {
	t.Helper()
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(obj, &raw); err != nil {
		t.Fatalf("%s: %v", obj, err)
	}
	out := map[string]string{}
	for name, value := range raw {
		out[name] = string(value)
	}
	return out
}

// Streams of a session of one server carry what that server promises (R62).
func TestOnlyPromisesWhatTheServerDoes(t *testing.T) {
	w := newWorld(t, `version: 1
servers:
  fake: {command: $FAKE, args: [-capabilities, '{"tools":{"listChanged":true},"prompts":{},"tasks":{}}', -prompts, $WORK/prompts.json]}
`+allowAll, map[string]string{"prompts.json": `[{"name":"p"}]`})
	a := w.connect(Options{Only: "fake"})
	a.Modern("{}")
	if got := members(t, a.Ask("server/discover", ""))["capabilities"]; got != `{"tools":{"listChanged":true},"prompts":{}}` {
		t.Errorf("capabilities %s", got)
	}
	id := listens(a, `{"toolsListChanged":true,"promptsListChanged":true}`)
	hears(t, a, acked, id, `"notifications":{"toolsListChanged":true}`)
}

// What a legacy server can do that means another thing in the modern era, or goes
// by methods that nobody else knows, is not offered there (R73).
func TestPortable(t *testing.T) {
	for _, c := range []struct{ era, in, want string }{
		{upstream.EraLegacy, `{"tools":{},"tasks":{"list":{}},"x":1.0}`, `{"tools":{},"x":1.0}`},
		{upstream.EraLegacy, `{"experimental":{"a":{}},"tasks":{}}`, `{}`},
		{upstream.EraLegacy, `{"tasks":{},"tools":{},"experimental":{}}`, `{"tools":{}}`},
		{upstream.EraLegacy, `{"logging":{}}`, `{"logging":{}}`},
		{upstream.EraLegacy, `{"tasks":{},"tasks":{}}`, `{}`},
		{upstream.EraLegacy, ``, `{}`},
		{upstream.EraModern, `{"tasks":{},"experimental":{"a":{}}}`, `{"tasks":{},"experimental":{"a":{}}}`},
		{upstream.EraModern, ``, `{}`},
	} {
		var in []byte
		if c.in != "" {
			in = []byte(c.in)
		}
		if got := string(portable(in, c.era)); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.era, c.in, got, c.want)
		}
	}
}

// R62: where the one server was never listed the answer waits for it, and no longer
// than --list-wait.
func TestDiscoverOfAServerThatIsDown(t *testing.T) {
	w := newWorld(t, `version: 1
servers:
  gone: {command: /no/such/program}
`+allowAll, nil)
	a := w.connect(Options{Only: "gone"})
	a.Modern("{}")
	got := string(a.Ask("server/discover", ""))
	if !strings.Contains(got, `"io.modelcontextprotocol/serverInfo":{"name":"postern"`) || !strings.Contains(got, "gone: not listed yet") {
		t.Error(got)
	}
}
