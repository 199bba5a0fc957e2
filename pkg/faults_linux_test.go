package pkg

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"postern/pkg/mcptest"
	"postern/pkg/wire"
)

// The tests of faults_*_test.go run the real commands against fake servers, do
// something bad, and want the same of all of them when it is over: see sound.
// Each is bounded by mcptest.Bound for every wait. The clock of a whole process
// cannot be made to jump; whatever writes down times takes its clock as an option
// and is tested by that (calllog.Options.Now, catalog.NewStore and the gateway's
// kept results), and what only waits counts on the monotonic clock.

// fault is a scratch home whose servers are told what to do wrong.
type fault struct {
	*home
	events string // path of the file that all servers append to
	torn   int    // rows that a full disk may have cut off
	n      atomic.Int64
}

// newFault declares servers: the id of each is what stands before a colon, and
// the rest its fields, "args" excepted, which come in brackets first.
func newFault(t *testing.T, servers ...string) *fault {
	t.Helper()
	t.Parallel()
	f := &fault{home: newHome(t), events: filepath.Join(t.TempDir(), "events")}
	f.declare(servers...)
	return f
}

// declare writes the configuration. A server is "ID", "ID [ARG, …]" or
// "ID [ARG, …] FIELD: VALUE, …"; all of them write to the same events.
func (f *fault) declare(servers ...string) {
	f.t.Helper()
	var b strings.Builder
	b.WriteString("version: 1\nservers:\n")
	for _, s := range servers {
		id, rest, _ := strings.Cut(s, " ")
		args, fields, _ := strings.Cut(strings.TrimPrefix(rest, "["), "]")
		if args != "" {
			args = ", " + args
		}
		if fields = strings.TrimSpace(fields); fields != "" {
			fields = ", " + fields
		}
		fmt.Fprintf(&b, "  %s: {command: $FAKE, args: [-events, %s%s]%s}\n", id, f.events, args, fields)
	}
	b.WriteString("policies:\n  everything: {servers: [\"*\"], allow: [read, write, execute], exposure: full, max_result_bytes: 0}\n")
	b.WriteString("defaults: {policy: everything, trust_level: 2}\n")
	f.write(".config/postern/mcp.yaml", b.String())
}

// agent starts mcp-serve and shakes hands with it.
func (f *fault) agent(args ...string) *mcptest.Agent {
	f.t.Helper()
	a := mcptest.Start(f.t, f.command("mcp-serve", args...))
	a.Initialize()
	return a
}

// unique are arguments that no other call has, so that what is executed twice
// shows; more is further members, with a comma in front.
func (f *fault) unique(more string) string {
	return fmt.Sprintf(`{"n":%d%s}`, f.n.Add(1), more)
}

// ask sends a call and returns its id.
func (f *fault) ask(a *mcptest.Agent, tool, more string) string {
	return a.Request("tools/call", mcptest.CallParams(tool, f.unique(more)))
}

// call makes a call that must succeed.
func (f *fault) call(a *mcptest.Agent, tool, more string) []byte {
	f.t.Helper()
	m := a.Expect(f.ask(a, tool, more))
	if w := word(m); w != "" {
		f.t.Errorf("%s: %s", tool, m.Raw)
	}
	return m.ResultBytes()
}

// want makes a call that must fail with this word.
func (f *fault) want(a *mcptest.Agent, word, tool, more string) {
	f.t.Helper()
	f.wantAnswer(a, word, f.ask(a, tool, more))
}

// wantAnswer wants the answer to id to be a failure of one of these words.
func (f *fault) wantAnswer(a *mcptest.Agent, words, id string) {
	f.t.Helper()
	m := a.Expect(id)
	if !slices.Contains(strings.Split(words, "|"), word(m)) {
		f.t.Errorf("%q, not %s: %.400s", word(m), words, m.Raw)
	}
}

// word is why a call failed, "" when it did not.
func word(m wire.Message) string {
	var failure struct {
		IsError bool
		Meta    map[string]struct{ Word string } `json:"_meta"`
	}
	var refusal struct{ Data struct{ Word string } }
	_ = json.Unmarshal(m.ResultBytes(), &failure)
	_ = json.Unmarshal(m.ErrorBytes(), &refusal)
	switch w := failure.Meta["postern/error"].Word + refusal.Data.Word; {
	case w != "":
		return w
	case failure.IsError, m.Error.Ok():
		return "without a word"
	}
	return ""
}

// executed is how often a server was about to run a tool.
func (f *fault) executed() []mcptest.Event { return mcptest.Events(f.t, f.events, "call") }

// server makes a call of a server and returns the pid of its process.
func (f *fault) server(a *mcptest.Agent, id string) int {
	f.t.Helper()
	var result struct{ StructuredContent struct{ PID int } }
	raw := f.call(a, id+"__env", "")
	if err := json.Unmarshal(raw, &result); err != nil || result.StructuredContent.PID == 0 {
		f.t.Fatalf("no pid in %.300s", raw)
	}
	return result.StructuredContent.PID
}

func (f *fault) kill(pid int, sig syscall.Signal) {
	f.t.Helper()
	mcptest.Signal(f.t, sig, pid)
}

// sound ends the agents and wants what must hold after every fault: no process
// is left, nothing was executed twice, and every line of the log is a row that
// mcp-log shows. (That standard output holds the protocol only, MB-067, is what
// mcptest.Agent looks at.) It returns the rows.
func (f *fault) sound(agents ...*mcptest.Agent) []row {
	f.t.Helper()
	for _, a := range agents {
		if status := a.Close(); status != 0 {
			f.t.Errorf("mcp-serve ended with %d: %s", status, a.Stderr())
		}
	}
	f.nothingLeft()
	seen := map[string]bool{}
	for _, e := range f.executed() {
		if seen[e.Data] && strings.Contains(e.Data, `{"n":`) { // the arguments of a broken line may be lost
			f.t.Errorf("executed twice: %.100s", e.Data)
		}
		seen[e.Data] = true
	}
	return f.rows()
}

// nothingLeft wants every process of this home to end: the commands, the servers
// and what these started. All of them have its path in their environment, or that
// of the events in their arguments. What carries a mark may also be ended by the
// sweep of another test's command; what hides is only ended by its own keeper.
func (f *fault) nothingLeft() {
	f.t.Helper()
	var left []string
	if !mcptest.Eventually(func() bool {
		left = f.processes()
		return len(left) == 0
	}) {
		f.t.Errorf("left: %q", left)
	}
}

func (f *fault) processes() (found []string) {
	pids, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range pids {
		environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
		cmdline, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if bytes.Contains(environ, []byte(f.dir)) || bytes.Contains(cmdline, []byte(f.dir)) || bytes.Contains(cmdline, []byte(f.events)) {
			found = append(found, dir+" "+strings.ReplaceAll(string(cmdline), "\x00", " "))
		}
	}
	return found
}

// row is what the tests look at of a row of the call log.
type row struct {
	V                      int
	ID, Upstream, Tool     string
	Outcome, Word, Session string
	Dropped                int
}

// rows reads the log as it stands, and through mcp-log.
func (f *fault) rows() (all []row) {
	f.t.Helper()
	files, _ := filepath.Glob(f.path(".local/state/postern/calls/*.jsonl"))
	ids, bad := map[string]bool{}, 0
	for _, name := range files {
		data := readFile(name)
		if data != "" && !strings.HasSuffix(data, "\n") {
			f.t.Errorf("%s ends in the middle of a row", name)
		}
		for line := range strings.Lines(data) {
			var r row
			switch err := json.Unmarshal([]byte(line), &r); {
			case strings.TrimSpace(line) == "":
			case err != nil || r.V != 1 || r.ID == "" || r.Outcome == "":
				if bad++; bad > f.torn {
					f.t.Errorf("%s: %.200q is no row (%v)", name, line, err)
				}
			case ids[r.ID]:
				f.t.Errorf("two rows %s", r.ID)
			default:
				ids[r.ID] = true
				all = append(all, r)
			}
		}
	}
	shown, said := f.run(0, "mcp-log", "-o", "jsonl")
	if n := strings.Count(shown, "\n"); n != len(all) || (said != "") != (bad > 0) {
		f.t.Errorf("mcp-log shows %d of %d rows and says %q", n, len(all), said)
	}
	return all
}

// wantRows wants so many rows of calls with each outcome, and none of others.
func (f *fault) wantRows(rows []row, outcomes map[string]int) {
	f.t.Helper()
	got := map[string]int{}
	for _, r := range rows {
		got[r.Outcome]++
	}
	if fmt.Sprint(got) != fmt.Sprint(outcomes) {
		f.t.Errorf("rows %v, want %v", got, outcomes)
	}
}

// within fails when something took longer than it may.
func (f *fault) within(limit time.Duration, what string, do func()) {
	f.t.Helper()
	begin := time.Now()
	do()
	if took := time.Since(begin); took > limit {
		f.t.Errorf("%s took %v", what, took)
	}
}
