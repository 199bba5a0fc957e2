package call

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"postern/pkg/calllog"
	"postern/pkg/config"
	"postern/pkg/mcptest"
	"postern/pkg/state"
	"postern/pkg/trust"
)

func TestMain(m *testing.M) { mcptest.Main(m) }

// allowAll ends a configuration in which every tool may be called.
const allowAll = `
policies:
  everything: {servers: ["*"], allow: [read, write, execute]}
defaults: {policy: everything, trust_level: 2}
`

// plain declares one fake server, all of whose tools may be called.
const plain = `version: 1
servers:
  fake: {command: $FAKE, args: [-events, $WORK/events]}
` + allowAll

// repository is a project's file that declares one server.
const repository = `{"mcpServers":{"docs":{"command":"$FAKE","args":["-events","$WORK/events"]}}}`

// world is a scratch home with one host, one file of events for all servers,
// and a log in which each call has its row.
type world struct {
	t       testing.TB
	dir     string
	project string
	events  string
	dirs    state.Dirs
	environ []string
	host    *Host
	own     bool // the host is a hub's
	calls   int  // made with do
	mu      sync.Mutex
	warned  []string
}

// newWorld writes mcp.yaml and further files; $FAKE, $WORK and $PROJECT in them
// become paths.
func newWorld(t testing.TB, mcpYAML string, files map[string]string) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, project: filepath.Join(dir, "project"), events: filepath.Join(dir, "events")}
	w.dirs = state.Dirs{Config: w.path("config"), State: w.path("state"), Cache: w.path("cache")}
	w.environ = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	w.write("config/mcp.yaml", mcpYAML)
	w.write("project/.git/HEAD", "")
	for name, text := range files {
		w.write(name, text)
	}
	w.open()
	t.Cleanup(w.close)
	return w
}

func (w *world) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

// write makes a file, in place of one that is there.
func (w *world) write(name, text string) {
	w.t.Helper()
	text = strings.NewReplacer("$FAKE", mcptest.FakeServerCommand(w.t), "$WORK", w.dir, "$PROJECT", w.project).Replace(text)
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.path(name)+".new", []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(w.path(name)+".new", w.path(name)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) open() {
	w.host = OpenHost(HostOptions{Dirs: w.dirs, Environ: w.environ, Own: w.own, Version: "1.0", Warn: func(s string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.warned = append(w.warned, s)
	}}, config.Log{Args: "hash", Days: 1, MaxFile: 1 << 20})
}

// restart ends all servers and opens another host on the same home.
func (w *world) restart() {
	w.host.Close()
	w.open()
}

// close stops the servers and holds the log to one row a call.
func (w *world) close() {
	w.host.Close()
	if n := len(w.rows()); n != w.calls {
		w.t.Errorf("%d rows for %d calls", n, w.calls)
	}
	if w.t.Failed() {
		w.t.Logf("warnings: %q", w.warnings())
	}
}

func (w *world) warnings() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.warned...)
}

// session opens a session of the user alone, or in the project.
func (w *world) session(project bool) *Session {
	w.t.Helper()
	o := SessionOptions{Via: "direct"}
	if project {
		o.Project = w.project
	}
	s, err := w.host.Open(o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(s.Close)
	return s
}

// agent opens a session of an agent that can be asked and told things.
func (w *world) agent(p *person, o SessionOptions) *Session {
	w.t.Helper()
	o.Via, o.Agent = "direct", p
	s, err := w.host.Open(o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(s.Close)
	s.Claim("person", "1")
	return s
}

// rows are the rows of the log so far.
func (w *world) rows() (rows []calllog.Row) {
	w.t.Helper()
	names, err := filepath.Glob(w.path("state/calls/*.jsonl"))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			w.t.Fatal(err)
		}
		for line := range bytes.Lines(raw) {
			if line[len(line)-1] != '\n' {
				continue // being written
			}
			var r calllog.Row
			if err := json.Unmarshal(line, &r); err != nil {
				w.t.Fatalf("%s: %v", line, err)
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// tool is a request as an agent makes it.
func tool(exposed, arguments string) Request {
	return Request{Exposed: exposed, Params: []byte(mcptest.CallParams(exposed, arguments)), LineBytes: 1}
}

// do makes one call and is its answer and its row. It holds the answer to be
// the only one, and a refusal's row to be written before it.
func (w *world) do(ctx context.Context, s *Session, r Request) (Answer, calllog.Row) {
	w.t.Helper()
	var got []Answer
	before := len(w.rows())
	w.calls++
	s.Do(ctx, r, func(a Answer) {
		got = append(got, a)
		if a.Refusal != nil && a.Refusal.Step != StepDispatch && len(w.rows()) != before+1 {
			w.t.Error("a refusal was answered before its row was written")
		}
	})
	if len(got) != 1 || (got[0].Reply == nil) == (got[0].Refusal == nil) {
		w.t.Fatalf("answers: %+v", got)
	}
	until(w.t, "the row is written", func() bool { return len(w.rows()) > before })
	rows := w.rows()
	if len(rows) != before+1 {
		w.t.Fatalf("%d rows for one call", len(rows)-before)
	}
	return got[0], rows[before]
}

// refused makes a call that is to end with a word.
func (w *world) refused(s *Session, r Request, word Word) (*Refusal, calllog.Row) {
	w.t.Helper()
	a, row := w.do(w.t.Context(), s, r)
	if a.Refusal == nil {
		w.t.Fatalf("got %s, want %s", a.Reply.Raw, word)
	}
	if a.Refusal.Word != word {
		w.t.Fatalf("got %s (%v), want %s", a.Refusal.Word, a.Refusal, word)
	}
	if row.Word != string(word) || row.Outcome != word.Meaning().Outcome || row.Step != a.Refusal.Step {
		w.t.Errorf("the row says %s %s %s", row.Outcome, row.Step, row.Word)
	}
	return a.Refusal, row
}

// answered makes a call that is to be answered by the server.
func (w *world) answered(s *Session, r Request) (Answer, calllog.Row) {
	w.t.Helper()
	a, row := w.do(w.t.Context(), s, r)
	if a.Refusal != nil {
		w.t.Fatalf("refused: %v", a.Refusal)
	}
	return a, row
}

// allow approves a server of the project as it is now.
func (w *world) allow(id string, class config.Class) {
	w.t.Helper()
	srv := config.Load(config.LoadOptions{Dirs: w.dirs, Project: w.project}).Server(id)
	if srv == nil {
		w.t.Fatalf("there is no server %s", id)
	}
	records, err := trust.NewStore(w.dirs).Records(w.project)
	if err != nil {
		w.t.Fatal(err)
	}
	d := trust.Describe(records, srv, &trust.Environ{Hub: w.environ, Agent: w.environ})
	record, err := d.Approval(class, nil, "")
	if err != nil {
		w.t.Fatal(err)
	}
	if err := trust.Allow(context.Background(), w.dirs, record); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) revoke(id string) {
	w.t.Helper()
	if err := trust.Revoke(context.Background(), w.dirs, w.project, id); err != nil {
		w.t.Fatal(err)
	}
}

// list records a server's tools, as mcp-catalog refresh does, and ends it.
func (w *world) list(project bool, id string) {
	w.t.Helper()
	s := w.session(project)
	v := s.View()
	s.Refresh(w.t.Context(), v, []*Server{v.Server(id)}, RefreshLimits{Jobs: 1, Timeout: mcptest.Bound}, func(r Refreshed) {
		if r.Err != nil {
			w.t.Fatalf("refresh of %s: %v", id, r.Err)
		}
	})
}

// starts is how many server processes were started so far.
func (w *world) starts() int { return len(mcptest.Events(w.t, w.events, "start")) }

// sent are the tool calls that reached a server.
func (w *world) sent() (calls []string) {
	for _, e := range mcptest.Events(w.t, w.events, "call") {
		calls = append(calls, e.Data)
	}
	return calls
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
