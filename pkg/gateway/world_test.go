package gateway

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"postern/pkg/call"
	"postern/pkg/config"
	"postern/pkg/mcptest"
	"postern/pkg/state"
)

func TestMain(m *testing.M) { mcptest.Main(m) }

// allowAll is the end of a configuration in which every tool may be called and
// is shown as it is.
const allowAll = `
policies:
  everything: {servers: ["*"], allow: [read, write, execute], exposure: full, max_description_chars: 0, max_result_bytes: 0}
defaults: {policy: everything, trust_level: 2}
`

// plainConfig declares one fake server.
const plainConfig = `version: 1
servers:
  fake: {command: $FAKE, args: [-events, $WORK/events]}
` + allowAll

// world is a scratch home with one host, and agents connected to its gateway.
type world struct {
	t      testing.TB
	dir    string
	dirs   state.Dirs
	agents []*mcptest.Agent
	host   *call.Host
	g      *Gateway
	ends   sync.WaitGroup
	mu     sync.Mutex
	warned []string
}

// newWorld writes the configuration and further files into a scratch home;
// $FAKE and $WORK in them become the fake server's path and the folder.
func newWorld(t testing.TB, mcpYAML string, files map[string]string) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir()}
	dirs := state.Dirs{Config: w.path("config"), State: w.path("state"), Cache: w.path("cache")}
	fake := mcptest.FakeServerCommand(t)
	write := func(name, text string) {
		text = strings.NewReplacer("$FAKE", fake, "$WORK", w.dir).Replace(text)
		if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(w.path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("config/mcp.yaml", mcpYAML)
	for name, text := range files {
		write(name, text)
	}
	w.dirs = dirs
	w.open()
	t.Cleanup(w.close)
	return w
}

func (w *world) open() {
	w.host = call.OpenHost(call.HostOptions{
		Dirs: w.dirs, Environ: append(os.Environ(), "HOME="+w.dir), Version: "1.0",
		Warn: func(s string) {
			w.mu.Lock()
			w.warned = append(w.warned, s)
			w.mu.Unlock()
		},
	}, config.Log{Args: "hash", Days: 1, MaxFile: 1 << 20})
	w.g = New(w.host, "1.0")
}

// restart ends all sessions and servers and opens a new host on the same home.
func (w *world) restart() {
	for _, a := range w.agents {
		a.Hangup()
	}
	w.ends.Wait()
	w.host.Close()
	w.open()
}

func (w *world) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

// close waits for all sessions and stops the servers, both bounded.
func (w *world) close() {
	w.ends.Wait()
	w.host.Close()
	if w.t.Failed() {
		w.mu.Lock()
		w.t.Logf("warnings: %q", w.warned)
		w.mu.Unlock()
	}
}

// connect opens one session and returns its agent. The session ends when the
// agent closes its end, at the latest with the test.
func (w *world) connect(o Options) *mcptest.Agent {
	w.t.Helper()
	if o.ListWait == 0 {
		o.ListWait = 10 * time.Second
	}
	in, toGateway := io.Pipe()
	fromGateway, out := io.Pipe()
	w.ends.Add(1)
	go func() { // ends with the session
		defer w.ends.Done()
		if err := w.g.Serve(context.Background(), in, out, o); err != nil {
			w.t.Errorf("Serve: %v", err)
		}
		out.Close()
	}()
	// Registered after w.close, so it runs before: the session's end is seen.
	a := mcptest.Connect(w.t, fromGateway, toGateway)
	w.agents = append(w.agents, a)
	return a
}
