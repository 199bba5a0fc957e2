package pool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"postern/pkg/catalog"
	"postern/pkg/config"
	"postern/pkg/mcptest"
	"postern/pkg/secret"
	"postern/pkg/state"
	"postern/pkg/trust"
	"postern/pkg/upstream"
)

func TestMain(m *testing.M) { mcptest.Main(m) }

// world is a pool whose servers are fakes of the user's own, with one file of
// events for all of them.
type world struct {
	t        testing.TB
	dir      string
	events   string
	catalogs *catalog.Store
	pool     *Pool
	changes  atomic.Int64 // calls of Options.Changed
	hub      []string
	secrets  *secret.Redactor
}

func newWorld(t testing.TB) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, events: filepath.Join(dir, "events"), hub: []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}, secrets: &secret.Redactor{}}
	w.catalogs = catalog.NewStore(filepath.Join(dir, "catalogs"), nil)
	stderr := filepath.Join(dir, "stderr")
	if err := state.EnsureDir(stderr); err != nil {
		t.Fatal(err)
	}
	w.pool = New(Options{
		Owner: OwnerMark(), StderrDir: stderr, Catalogs: w.catalogs, Version: "1.0", Redactor: w.secrets,
		Changed: func() { w.changes.Add(1) },
	})
	t.Cleanup(func() { w.pool.Close() })
	return w
}

// server declares a fake with these arguments.
func (w *world) server(args ...string) *config.Server {
	return &config.Server{
		ID: "fake", Scope: config.User, Source: filepath.Join(w.dir, "mcp.yaml"), Digest: "sha256:" + strings.Join(args, "\x00"),
		Command: mcptest.FakeServerCommand(w.t), Args: append([]string{"-events", w.events}, args...),
		Timeout: mcptest.Bound, MaxTimeout: mcptest.Bound, StartTimeout: mcptest.Bound, Class: config.ClassExecute,
		Start: "lazy", IdleStop: 10 * time.Minute, RestartDelay: time.Minute, Breaker: config.Breaker{Failures: 5, Cooldown: 30 * time.Second},
		MaxConcurrency: 8, Queue: 64, MaxMessageBytes: 4 << 20, MaxQueueBytes: 4 << 20, Protocol: "auto", Enabled: true, Shared: true,
	}
}

// approve is what trust.Check makes of the declaration.
func (w *world) approve(srv *config.Server) *trust.Approved {
	w.t.Helper()
	records, err := trust.NewStore(state.Dirs{Config: filepath.Join(w.dir, "config")}).Records("")
	if err != nil {
		w.t.Fatal(err)
	}
	a, err := trust.Check(records, srv, &trust.Environ{Hub: w.hub, Redactor: w.secrets})
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// approveFor is approve for a session of an agent in dir.
func (w *world) approveFor(srv *config.Server, session, dir string) *trust.Approved {
	w.t.Helper()
	records, err := trust.NewStore(state.Dirs{Config: filepath.Join(w.dir, "config")}).Records("")
	if err != nil {
		w.t.Fatal(err)
	}
	a, err := trust.Check(records, srv, &trust.Environ{Hub: w.hub, Redactor: w.secrets, Session: session, Dir: dir})
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// received is the lines that servers got so far with this method.
func (w *world) received(method string) (lines []string) {
	for _, e := range mcptest.Events(w.t, w.events, "recv") {
		if strings.Contains(e.Data, `"method":"`+method+`"`) {
			lines = append(lines, e.Data)
		}
	}
	return lines
}

// get starts a server or finds it; the test fails when it cannot.
func (w *world) get(a *trust.Approved) *Instance {
	w.t.Helper()
	i, err := w.pool.Get(w.t.Context(), a)
	if err != nil {
		w.t.Fatal(err)
	}
	return i
}

// starts is how many processes were started so far.
func (w *world) starts() int { return len(mcptest.Events(w.t, w.events, "start")) }

// berths is how many keys the pool knows.
func (w *world) berths() int {
	w.pool.mu.Lock()
	defer w.pool.mu.Unlock()
	return len(w.pool.berths)
}

// lists is how many times a list was asked for so far.
func (w *world) lists() (n int) {
	for _, e := range mcptest.Events(w.t, w.events, "recv") {
		if strings.Contains(e.Data, `"tools/list"`) {
			n++
		}
	}
	return n
}

// toolCall is a call of one of the fake's tools.
func toolCall(tool, arguments string) upstream.Call {
	return upstream.Call{Method: "tools/call", Params: []byte(mcptest.CallParams(tool, arguments)), Timeout: mcptest.Bound}
}

// try makes a call and is the failure it came to, nil for an answer.
func (w *world) try(i *Instance, call upstream.Call) *upstream.Failure {
	_, _, err := i.Do(w.t.Context(), "s", call)
	var f *upstream.Failure
	if err != nil && !errors.As(err, &f) {
		w.t.Errorf("an error that is no *upstream.Failure: %v", err)
	}
	return f
}

func (w *world) mustCall(i *Instance, tool, arguments string) {
	w.t.Helper()
	if f := w.try(i, toolCall(tool, arguments)); f != nil {
		w.t.Fatal(f)
	}
}

// failure is err as what the pool promises, with the word that is wanted.
func failure(t testing.TB, err error, word upstream.Word) *upstream.Failure {
	t.Helper()
	var f *upstream.Failure
	if !errors.As(err, &f) {
		t.Fatalf("got %v, want a *upstream.Failure", err)
	}
	if f.Word != word {
		t.Fatalf("got %s (%v), want %s", f.Word, f, word)
	}
	return f
}

// await takes one value, within mcptest.Bound.
func await[T any](t testing.TB, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(mcptest.Bound):
		t.Fatal("nothing came")
	}
	panic("unreachable")
}

// until waits for a condition that nothing announces.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(mcptest.Bound); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it never came to this: " + what)
		}
	}
}

// file writes a file into the world's folder and is its path.
func (w *world) file(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// tool is a definition.
func tool(name, description string) string {
	return fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object"}}`, name, description)
}

func mkdir(t testing.TB, dir string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
}
