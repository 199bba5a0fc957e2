package pkg

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"postern/pkg/call"
	"postern/pkg/config"
	"postern/pkg/gateway"
	"postern/pkg/mcptest"
	places "postern/pkg/state"
	"postern/pkg/wire"
)

// everything is the end of a configuration in which all may be used and is shown
// as it is.
const everything = `
policies:
  everything: {servers: ["*"], allow: [read, write, execute], exposure: full, max_description_chars: 0, max_result_bytes: 0}
defaults: {policy: everything, trust_level: 2}
`

// hosted is a host and its gateway in this process, with a scratch home.
type hosted struct {
	t    testing.TB
	dir  string
	host *call.Host
	g    *gateway.Gateway
	ends sync.WaitGroup
	mu   sync.Mutex
	said []string
}

// newHosted writes the configuration and further files into a scratch home;
// $FAKE and $WORK in them become the fake server's path and the folder.
func newHosted(t testing.TB, mcpYAML string, files map[string]string) *hosted {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &hosted{t: t, dir: dir}
	h.write("config/mcp.yaml", mcpYAML)
	for name, text := range files {
		h.write(name, text)
	}
	h.host = call.OpenHost(call.HostOptions{
		Dirs:    places.Dirs{Config: h.path("config"), State: h.path("state"), Cache: h.path("cache")},
		Environ: append(os.Environ(), "HOME="+dir), Version: "1.0",
		Warn: func(line string) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.said = append(h.said, line)
		},
	}, config.Log{Args: "hash", Days: 1, MaxFile: 1 << 20})
	h.g = gateway.New(h.host, "1.0")
	t.Cleanup(func() {
		h.ends.Wait()
		h.host.Close()
		if t.Failed() {
			h.mu.Lock()
			defer h.mu.Unlock()
			t.Logf("warnings: %q", h.said)
		}
	})
	return h
}

func (h *hosted) path(name string) string { return filepath.Join(h.dir, filepath.FromSlash(name)) }

func (h *hosted) write(name, text string) {
	h.t.Helper()
	text = strings.NewReplacer("$FAKE", mcptest.FakeServerCommand(h.t), "$WORK", h.dir).Replace(text)
	if err := os.MkdirAll(filepath.Dir(h.path(name)), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(h.path(name), []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// connect opens a session. It ends when the agent hangs up, at the latest with
// the test.
func (h *hosted) connect(o gateway.Options) *mcptest.Agent {
	h.t.Helper()
	if o.ListWait == 0 {
		o.ListWait = mcptest.Bound
	}
	in, toGateway := io.Pipe()
	fromGateway, out := io.Pipe()
	h.ends.Add(1)
	go func() { // ends with the session
		defer h.ends.Done()
		if err := h.g.Serve(context.Background(), in, out, o); err != nil {
			h.t.Errorf("Serve: %v", err)
		}
		out.Close()
	}()
	return mcptest.Connect(h.t, fromGateway, toGateway)
}

// find is where the value at a path of members lies.
func find(raw []byte, path []string) (wire.Span, bool) {
	at := wire.Span{Start: 0, End: len(raw)}
	for _, name := range path {
		var in [1]wire.Span
		obj := at.Of(raw)
		if !wire.IsObject(obj) || wire.Lookup(obj, []string{name}, in[:]) != nil || !in[0].Ok() {
			return at, false
		}
		at = wire.Span{Start: at.Start + in[0].Start, End: at.Start + in[0].End}
	}
	return at, true
}

// member is the value at a path, which must be there.
func member(t *testing.T, raw []byte, path ...string) []byte {
	t.Helper()
	at, ok := find(raw, path)
	if !ok {
		t.Fatalf("%.300s has no %v", raw, path)
	}
	return at.Of(raw)
}

func has(t *testing.T, what string, got []byte, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(string(got), want) {
			t.Errorf("%s: %.600s has no %s", what, got, want)
		}
	}
}

func hasNot(t *testing.T, what string, got []byte, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if strings.Contains(string(got), want) {
			t.Errorf("%s: %.600s has %s", what, got, want)
		}
	}
}
