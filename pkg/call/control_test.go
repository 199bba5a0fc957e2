package call

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"postern/pkg/calllog"
	"postern/pkg/catalog"
	"postern/pkg/config"
	"postern/pkg/pool"
)

// control does a verb that is to succeed, and is its answer; its one row is held
// to what was asked.
func control[T any](w *world, verb, name string) (out T) {
	w.t.Helper()
	row, err := w.control(verb, name, &out)
	if err != nil {
		w.t.Fatalf("%s %s: %v", verb, name, err)
	}
	if row.Outcome != calllog.OK || row.Word != "" {
		w.t.Errorf("the row of %s says %s %s", verb, row.Outcome, row.Word)
	}
	return out
}

// refuses does a verb that is to end with a word.
func (w *world) refuses(verb, name string, word Word) *Refusal {
	w.t.Helper()
	var none json.RawMessage
	row, err := w.control(verb, name, &none)
	var r *Refusal
	if !errors.As(err, &r) || r.Word != word {
		w.t.Fatalf("%s %s: %v, want %s", verb, name, err, word)
	}
	if row.Word != string(word) || row.Outcome != word.Meaning().Outcome {
		w.t.Errorf("the row of %s says %s %s", verb, row.Outcome, row.Word)
	}
	return r
}

func (w *world) control(verb, name string, out any) (calllog.Row, error) {
	w.t.Helper()
	w.calls++
	result, err := w.host.Control(verb, name, os.Getpid())
	if err == nil {
		if err := json.Unmarshal(result, out); err != nil {
			w.t.Fatal(err)
		}
	}
	until(w.t, "the row is written", func() bool { return len(w.rows()) == w.calls })
	row := w.rows()[w.calls-1]
	if row.Via != "control" || row.Upstream != "gateway" || row.Tool != verb || row.ClientPID != os.Getpid() {
		w.t.Errorf("the row of %s %s is %+v", verb, name, row)
	}
	return row, err
}

// R23: a killed server stays down for agents that are there and agents that come,
// its tools stay listed, and it runs again once it is started.
func TestControlKillAndStart(t *testing.T) {
	t.Parallel()
	w := newHub(t, plain, nil)
	s := w.agent(&person{}, SessionOptions{})
	w.answered(s, tool("fake__echo", "{}"))
	if got := control[Killed](w, VerbKill, "fake"); got.Server != "fake" || got.Ended != 1 {
		t.Errorf("%+v", got)
	}
	if n := w.alive(); n != 0 {
		t.Errorf("%d run", n)
	}
	late := w.agent(&person{}, SessionOptions{})
	for _, s := range []*Session{s, late} {
		refusal, row := w.refused(s, tool("fake__echo", "{}"), Unavailable)
		if refusal.Reason != "killed" || refusal.Remedy != "ask the user to run: mcp-serve start fake" || !refusal.AsResult() || row.Reason != "killed" {
			t.Errorf("%+v", refusal)
		}
		if len(s.View().VisibleTools()) == 0 {
			t.Error("its tools are gone")
		}
	}
	w.refuses(VerbRestart, "fake", Unavailable)
	w.refuses(VerbRefresh, "fake", Unavailable)
	if st := control[HostStatus](w, VerbStatus, ""); len(st.Servers) != 1 || st.Servers[0].State != pool.Killed {
		t.Errorf("%+v", st.Servers)
	}
	if got := control[Handled](w, VerbStart, "fake"); got.Up != 1 || w.starts() != 2 {
		t.Errorf("%+v of %d", got, w.starts())
	}
	w.answered(late, tool("fake__echo", "{}"))
	if got := control[Handled](w, VerbRestart, "fake"); got.Up != 1 || w.starts() != 3 || w.alive() != 1 {
		t.Errorf("%+v of %d", got, w.starts())
	}
	w.answered(s, tool("fake__echo", "{}"))
}

// R12, R23: a kill whose wait came to its bound says that the brake is on, and what is
// not gone.
func TestKillThatHangs(t *testing.T) {
	r := notGone("wiki", &pool.StuckError{Servers: []string{"wiki"}})
	if r.Word != Timeout || r.ExitCode() != ExitTimeout || !strings.Contains(r.Message, "is kept stopped") || !strings.Contains(r.Message, "not gone 7s after") {
		t.Errorf("%+v", r)
	}
}

// R23: start connects at once also what nobody has called, and not what is
// disabled, untrusted, or of a session that there is none of.
func TestControlStart(t *testing.T) {
	t.Parallel()
	w := newHub(t, `version: 1
servers:
  fake: {command: $FAKE, args: [-events, $WORK/events]}
  off: {command: $FAKE, enabled: false}
  alone: {command: $FAKE, args: [-events, $WORK/events], shared: false}
  bad: {command: $FAKE, args: [-fault, exit-at-start=3]}
  keyed: {command: $FAKE, args: [-events, $WORK/events], env: {K: "${KEY}"}, agent_env: [KEY]}
`+allowAll, map[string]string{"project/.mcp.json": repository})
	if got := control[Handled](w, VerbStart, "fake"); got.Up != 1 || w.starts() != 1 {
		t.Errorf("%+v", got)
	}
	w.refuses(VerbKill, "none", InvalidArguments)
	if r := w.refuses(VerbStart, "none", InvalidArguments); r.Reason != "unknown_server" || r.ExitCode() != ExitUsage {
		t.Errorf("%+v", r)
	}
	w.refuses(VerbStart, "docs", InvalidArguments) // no session of its project
	w.refuses("pause", "fake", InvalidArguments)
	if r := w.refuses(VerbStart, "off", Disabled); !strings.Contains(r.Remedy, "mcp-catalog enable off") {
		t.Errorf("%+v", r)
	}
	control[Killed](w, VerbKill, "off")
	w.refuses(VerbStart, "off", Disabled)
	w.refuses(VerbStart, "alone", Unavailable)
	w.refuses(VerbStart, "keyed", Unavailable)
	if r := w.refuses(VerbStart, "bad", Closed); !strings.Contains(r.Message, "bad") {
		t.Errorf("%v", r)
	}
	s := w.agent(&person{}, SessionOptions{Project: w.project, Environ: []string{"KEY=value-of-the-agent"}})
	w.refuses(VerbStart, "docs", Untrusted)
	w.allow("docs", config.ClassExecute)
	for n, id := range []string{"docs", "alone", "keyed"} {
		if got := control[Handled](w, VerbStart, id); got.Up != 1 || w.starts() != n+2 {
			t.Errorf("%s: %+v", id, got)
		}
		w.answered(s, tool(id+"__echo", "{}"))
	}
	if n := w.starts(); n != 4 {
		t.Errorf("%d processes", n)
	}
}

// R23: release takes kill back and starts nothing that no session wants; it says how
// many run.
func TestControlRelease(t *testing.T) {
	t.Parallel()
	w := newHub(t, plain, nil)
	control[Handled](w, VerbKill, "fake")
	if got := control[Handled](w, VerbRelease, "fake"); got.Up != 0 || w.starts() != 0 {
		t.Errorf("%+v of %d", got, w.starts())
	}
	s := w.agent(&person{}, SessionOptions{})
	w.answered(s, tool("fake__echo", "{}"))
	if got := control[Handled](w, VerbRelease, "fake"); got.Up != 1 || w.starts() != 1 {
		t.Errorf("%+v of %d", got, w.starts())
	}
	w.refuses(VerbRelease, "none", InvalidArguments)
}

// Status shows who is there and what runs for whom, and what keeps a changed
// configuration from being in force (R90).
func TestControlStatus(t *testing.T) {
	t.Parallel()
	w := newHub(t, plain, map[string]string{"project/.mcp.json": repository})
	w.allow("docs", config.ClassExecute)
	s := w.agent(&person{}, SessionOptions{Project: w.project, ClientPID: 7})
	bare := w.session(false)
	w.answered(s, tool("fake__echo", "{}"))
	st := control[HostStatus](w, VerbStatus, "")
	if st.PID != os.Getpid() || st.Version != "1.0" || st.Since.IsZero() || len(st.Problems) > 0 || len(st.Sessions) != 2 {
		t.Errorf("%+v", st)
	}
	first := st.Sessions[0]
	if first.ID != s.ID || first.Project != w.project || first.PID != 7 || first.Claimed == nil || first.Claimed.Name != "person" || first.Via != "direct" ||
		st.Sessions[1].ID != bare.ID || st.Sessions[1].Claimed != nil {
		t.Errorf("%+v", st.Sessions)
	}
	if len(st.Servers) != 2 || st.Servers[0].Server != "docs" || st.Servers[0].State != pool.Idle || st.Servers[0].Project != w.project ||
		st.Servers[1].State != pool.Ready || st.Servers[1].PID == 0 || !slices.Equal(st.Servers[1].Sessions, []string{s.ID}) {
		t.Errorf("%+v", st.Servers)
	}
	w.write("config/mcp.yaml", "version: 1\nservers: [")
	if got := control[Reloaded](w, VerbReload, ""); got.Sessions != 2 || len(got.Problems) == 0 {
		t.Errorf("%+v", got)
	}
	if st := control[HostStatus](w, VerbStatus, ""); len(st.Problems) == 0 || !strings.Contains(st.Problems[0], "mcp.yaml") {
		t.Errorf("%q", st.Problems)
	}
	w.answered(s, tool("fake__echo", "{}")) // the one before is in force
	w.write("config/mcp.yaml", plain)
	if got := control[Reloaded](w, VerbReload, ""); len(got.Problems) > 0 {
		t.Errorf("%+v", got)
	}
	// what a configuration that is in force leaves out is told as well, a project's too
	w.write("config/mcp.yaml", plain+"\nserverz: {}\n")
	w.write("project/.mcp.json", "{")
	if got := control[Reloaded](w, VerbReload, ""); len(got.Problems) != 2 || !strings.Contains(got.Problems[0]+got.Problems[1], ".mcp.json:1:") {
		t.Errorf("%q", got.Problems)
	}
	if st := control[HostStatus](w, VerbStatus, ""); len(st.Problems) != 2 {
		t.Errorf("%q", st.Problems)
	}
	s.Close()
	if got := control[Reloaded](w, VerbStop, ""); got.Sessions != 1 {
		t.Errorf("%+v", got)
	}
	if n := w.alive(); n != 1 {
		t.Error("stop is the caller's")
	}
}

// R90: a changed configuration that is refused leaves what runs to the verbs, also
// when no session is open any more, and a name that nothing runs under is not called
// unknown.
func TestControlWithARefusedConfiguration(t *testing.T) {
	t.Parallel()
	w := newHub(t, plain, map[string]string{"project/.mcp.json": repository})
	w.allow("docs", config.ClassExecute)
	s := w.agent(&person{}, SessionOptions{Project: w.project})
	w.answered(s, tool("fake__echo", "{}"))
	w.answered(s, tool("docs__echo", "{}"))
	s.Close()
	w.write("config/mcp.yaml", "version: 1\nservers: [")
	for n, id := range []string{"fake", "docs"} {
		if got := control[Handled](w, VerbRestart, id); got.Up != 1 || w.starts() != n+3 {
			t.Errorf("%s: %+v of %d", id, got, w.starts())
		}
		if got := control[Relisted](w, VerbRefresh, id); len(got.Lists) != 1 || w.starts() != n+3 {
			t.Errorf("%s: %+v", id, got)
		}
	}
	w.revoke("docs") // that counts all the same
	if r := w.refuses(VerbRestart, "docs", Unavailable); r.Reason != "configuration" {
		t.Errorf("%+v", r)
	}
	if got := control[Killed](w, VerbKill, "fake"); got.Ended != 1 {
		t.Errorf("%+v", got)
	}
	if r := w.refuses(VerbStart, "fake", Unavailable); r.Reason != "configuration" || r.Remedy != "mcp-catalog servers --check" {
		t.Errorf("%+v", r) // what it would be is not known any more
	}
	w.write("config/mcp.yaml", plain)
	if got := control[Handled](w, VerbStart, "fake"); got.Up != 1 || w.starts() != 5 {
		t.Errorf("%+v of %d", got, w.starts())
	}
	w.refuses(VerbKill, "none", InvalidArguments)
}

// What a hub does without is told to whoever looks, and to each agent (C6): its own
// standard error leads nowhere.
func TestControlWithout(t *testing.T) {
	t.Parallel()
	w := newHub(t, plain, nil)
	w.host.Close()
	w.write("taken", "")
	w.dirs.State = w.path("taken")
	w.open()
	st := w.host.Status()
	if len(st.Problems) != 1 || !strings.HasPrefix(st.Problems[0], "calls are not logged: ") || !slices.Equal(w.host.Remarks(""), st.Problems) {
		t.Errorf("%q and %q", st.Problems, w.host.Remarks(""))
	}
	if got := w.host.problems(); len(got) > 0 { // it is no mistake of the configuration
		t.Errorf("%q", got)
	}
}

// A server that cannot be started is not one that is only not needed.
func TestControlStatusOfUnready(t *testing.T) {
	t.Parallel()
	w := newHub(t, strings.Replace(plain, "servers:\n", "servers:\n  gone: {command: no-such-program}\n", 1), nil)
	w.session(false)
	for _, s := range control[HostStatus](w, VerbStatus, "").Servers {
		if told := strings.Contains(s.LastError, "no-such-program"); told != (s.Server == "gone") {
			t.Errorf("%+v", s)
		}
	}
}

// A client says itself what its rows say of where they came from. It is no way to be
// there and not be seen.
func TestSessionThatCallsItselfControl(t *testing.T) {
	t.Parallel()
	w := newHub(t, plain, nil)
	s, err := w.host.Open(SessionOptions{Via: viaControl, Environ: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if st := control[HostStatus](w, VerbStatus, ""); len(st.Sessions) != 1 || st.Sessions[0].ID != s.ID {
		t.Errorf("%+v", st.Sessions)
	}
}

// refresh lists what runs again, starts what does not, and records both.
func TestControlRefresh(t *testing.T) {
	t.Parallel()
	w := newHub(t, plain, nil)
	s := w.agent(&person{}, SessionOptions{})
	got := control[Relisted](w, VerbRefresh, "fake")
	if len(got.Lists) != 1 || got.Lists[0].Tools == 0 || len(got.Lists[0].Added) != got.Lists[0].Tools || w.starts() != 1 {
		t.Fatalf("%+v", got)
	}
	w.answered(s, tool("fake__change", `{"tools":[{"name":"only","inputSchema":{"type":"object"}}],"silent":true}`))
	got = control[Relisted](w, VerbRefresh, "fake")
	if l := got.Lists[0]; l.Tools != 1 || !slices.Equal(l.Added, []string{"only"}) || len(l.Removed) == 0 || w.starts() != 1 {
		t.Errorf("%+v", got)
	}
	if c, p := w.host.catalogs.Read(catalog.IdentityOf(s.View().Server("fake").Declared)); p != catalog.Cached || len(c.Tools) != 1 {
		t.Errorf("recorded: %v %s", c, p)
	}
	if tools := s.View().VisibleTools(); len(tools) != 1 {
		t.Errorf("%d tools are listed", len(tools))
	}
	if err := os.RemoveAll(w.path("cache")); err != nil {
		t.Fatal(err)
	}
	w.write("cache", "")
	w.refuses(VerbRefresh, "fake", Unavailable)
	if n := w.alive(); n != 1 {
		t.Errorf("%d run", n)
	}
}

// What is asked for stands in the row like arguments of a tool, without secrets.
func TestControlRows(t *testing.T) {
	t.Parallel()
	w := newHub(t, strings.Replace(plain, "version: 1", "version: 1\nlog: {args: redacted}", 1), nil)
	const token = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
	w.refuses(VerbKill, token, InvalidArguments)
	w.refuses(VerbStart, strings.Repeat("x", 5000), InvalidArguments)
	control[HostStatus](w, VerbStatus, "")
	w.host.Close()
	w.noneHolds(w.path("state/calls"), token)
	rows := w.rows()
	if string(rows[0].Args) != `{"name":"[redacted:github]"}` && !strings.Contains(string(rows[0].Args), "redacted") {
		t.Errorf("%s", rows[0].Args)
	}
	if rows[0].Tier != "admin" || len(rows[1].Args) > config.LogArgsBytes {
		t.Errorf("%+v", rows)
	}
}
