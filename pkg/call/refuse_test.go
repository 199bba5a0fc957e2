package call

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"postern/pkg/config"
	"postern/pkg/mcptest"
	"postern/pkg/trust"
)

// everyRefusal declares one server for each way to be refused. The servers
// record what they do in one file.
const everyRefusal = `version: 1
servers:
  fake: {command: $FAKE, args: [-events, $WORK/events], read_tools: [env], execute_tools: [exit]}
  other: {command: $FAKE, args: [-events, $WORK/events]}
  odd: {command: $FAKE, args: [-events, $WORK/events], class: unknown}
  off: {command: $FAKE, args: [-events, $WORK/events], enabled: false}
policies:
  some:
    servers: [fake, odd, off, docs]
    deny: ["fake/fail", "fake__twice", "*/gone_*"]
    ask: ["fake/big"]
    allow: [read]
defaults: {policy: some, trust_level: 2}
`

// refusals is what each request against everyRefusal comes to.
var refusals = []struct {
	name       string
	request    Request
	word       Word
	step       string
	reason     string
	rule       string // a part of it
	remedy     string // a part of it
	tool, tier string // in the row
}{
	{"unknown tool of a known server", tool("fake__ehco", "{}"), UnknownTool, StepResolve, "", "", "did you mean fake__echo", "ehco", ""},
	{"unknown server", tool("nobody__echo", "{}"), UnknownTool, StepResolve, "", "", "", "nobody__echo", ""},
	{"no name at all", tool("", "{}"), UnknownTool, StepResolve, "", "", "", "", ""},
	{"unknown server from a shell", Request{Server: "fkae", Tool: "echo"}, UnknownTool, StepResolve, "", "", "did you mean fake__echo", "echo", ""},
	{"unknown tool from a shell", Request{Server: "fake", Tool: "echoo"}, UnknownTool, StepResolve, "", "", "did you mean fake__echo", "echoo", ""},
	{"denied by pattern", tool("fake__fail", "{}"), PolicyDenied, StepDecide, "denied_by", "mcp.yaml:10", "", "fail", "write"},
	{"denied by exposed name", tool("fake__twice", "{}"), PolicyDenied, StepDecide, "denied_by", "mcp.yaml:10", "", "twice", "write"},
	{"denied from a shell", Request{Server: "fake", Tool: "twice"}, PolicyDenied, StepDecide, "denied_by", "mcp.yaml:10", "", "twice", "write"},
	{"not in servers", tool("other__echo", "{}"), PolicyDenied, StepDecide, "not_permitted", "mcp.yaml:8", "", "echo", "read"},
	{"tier not allowed", tool("fake__slow", "{}"), PolicyDenied, StepDecide, "not_permitted", "mcp.yaml:8", "", "slow", "write"},
	{"tier of execute_tools", tool("fake__exit", "{}"), PolicyDenied, StepDecide, "not_permitted", "mcp.yaml:8", "", "exit", "execute"},
	{"class unknown", tool("odd__echo", "{}"), PolicyDenied, StepDecide, "not_permitted", "mcp.yaml:8", "", "echo", "write"},
	{"never approved", tool("docs__echo", "{}"), Untrusted, StepResolve, "", ".mcp.json:1", "ask the user to run: mcp-trust allow docs --project ", "echo", ""},
	{"never approved, unknown tool", tool("docs__nope", "{}"), Untrusted, StepResolve, "", ".mcp.json:1", "ask the user to run", "nope", ""},
	{"a name twice", Request{Exposed: "fake__echo", Params: []byte(`{"name":"fake__echo","Name":"x"}`)}, InvalidArguments, StepResolve, "", "", "", "fake__echo", ""},
	{"arguments twice", Request{Exposed: "fake__echo", Params: []byte(`{"arguments":{},"arguments":{}}`)}, InvalidArguments, StepResolve, "", "", "", "fake__echo", ""},
	{"a token twice", Request{Exposed: "fake__echo", Params: []byte(`{"_meta":{"progressToken":1,"progressToken":2}}`)}, InvalidArguments, StepResolve, "", "", "", "fake__echo", ""},
	{"disabled", tool("off__echo", "{}"), Disabled, StepDispatch, "", "mcp.yaml:6", "mcp-catalog enable off", "echo", ""},
}

// R40: each refusal has its step, word, code, rule and remedy, its row is
// written before the answer, and nothing is started.
func TestRefusalsStartNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, everyRefusal, map[string]string{"project/.mcp.json": repository})
	for _, id := range []string{"fake", "other", "odd"} {
		w.list(true, id)
	}
	w.restart()
	if err := os.Remove(w.events); err != nil {
		t.Fatal(err)
	}
	s := w.session(true)
	for _, c := range refusals {
		t.Run(c.name, func(t *testing.T) {
			r, row := w.refused(s, c.request, c.word)
			if r.Step != c.step || r.Reason != c.reason || !strings.Contains(r.Rule, c.rule) || (c.rule == "") != (r.Rule == "") {
				t.Errorf("step %q, reason %q, rule %q", r.Step, r.Reason, r.Rule)
			}
			if !strings.Contains(r.Remedy, c.remedy) || (c.remedy == "") != (r.Remedy == "") {
				t.Errorf("remedy %q", r.Remedy)
			}
			if row.Tool != c.tool || row.Tier != c.tier || row.Rule != r.Rule || row.Reason != r.Reason {
				t.Errorf("row %+v", row)
			}
			wantCode := c.word.Meaning().Code
			if r.AsResult() {
				wantCode = 0
			}
			if row.Code != wantCode || row.ResponseBytes != 0 || row.StartMS != 0 {
				t.Errorf("row has code %d, %d bytes, start %v", row.Code, row.ResponseBytes, row.StartMS)
			}
		})
	}
	if events := mcptest.Events(t, w.events, ""); len(events) != 0 {
		t.Errorf("something was started: %v", events)
	}
}

// R50: a class that nobody vouched for is asked about, and a person has
// to agree to what an ask pattern names; the remedy says how that goes away.
func TestAskIsRefused(t *testing.T) {
	t.Parallel()
	yaml := strings.Replace(everyRefusal, "allow: [read]", "allow: [read, write, execute]", 1)
	w := newWorld(t, yaml, nil)
	w.list(false, "fake")
	w.list(false, "odd")
	w.restart()
	started := w.starts()
	s := w.session(false)
	r, _ := w.refused(s, tool("odd__echo", "{}"), ApprovalRequired)
	if r.Step != StepDecide || r.Rule != "class unknown" || !strings.Contains(r.Remedy, "mcp.yaml:5") || r.Reason != "" {
		t.Errorf("got %+v", r)
	}
	r, _ = w.refused(s, tool("fake__big", "{}"), ApprovalRequired)
	if !strings.Contains(r.Rule, "mcp.yaml:11") || !strings.Contains(r.Remedy, r.Rule) {
		t.Errorf("got %+v", r)
	}
	if n := w.starts(); n != started {
		t.Error("something was started")
	}
}

// scripted is a project whose server is a script of the repository; the script
// starts the fake. Its argument names a file that is covered too.
func scripted(t *testing.T) *world {
	w := newWorld(t, "version: 1"+allowAll, map[string]string{
		"project/.mcp.json":  `{"mcpServers":{"docs":{"command":"./server.sh","args":["data.json"]}}}`,
		"project/data.json":  `{}`,
		"project/server.new": "#!/bin/sh\nexec $FAKE -events $WORK/events\n",
	})
	if err := os.Rename(w.path("project/server.new"), w.path("project/server.sh")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(w.path("project/server.sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	return w
}

// R40, C51: what would run is not what was approved. It is found before
// anything is started, and on every call of a server that runs.
func TestSupplyChain(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(w *world){
		"executable": func(w *world) {
			w.t.Helper()
			w.write("project/server.sh", "#!/bin/sh\n# another\nexec $FAKE -events $WORK/events\n")
			if err := os.Chmod(w.path("project/server.sh"), 0o700); err != nil {
				w.t.Fatal(err)
			}
		},
		"file":      func(w *world) { w.write("project/data.json", `{"other":1}`) },
		"file gone": func(w *world) { _ = os.Remove(w.path("project/data.json")) },
	} {
		for _, running := range []bool{false, true} {
			t.Run(name+map[bool]string{false: " before", true: " while it runs"}[running], func(t *testing.T) {
				t.Parallel()
				w := scripted(t)
				w.allow("docs", config.ClassExecute)
				w.list(true, "docs")
				w.restart()
				s := w.session(true)
				if running {
					w.answered(s, tool("docs__echo", "{}"))
				}
				started, sent := w.starts(), len(w.sent())
				change(w)
				r, row := w.refused(s, tool("docs__echo", "{}"), SupplyChainDenied)
				if r.Step != StepSupplyChain || row.Code != CodeSupplyChain || row.Outcome != "denied" {
					t.Errorf("got %+v", r)
				}
				if !strings.HasPrefix(r.Remedy, AskUser+"mcp-trust allow docs --project "+w.project) {
					t.Errorf("remedy %q", r.Remedy)
				}
				if w.starts() != started || len(w.sent()) != sent {
					t.Error("something was started or sent")
				}
				// What was approved again may run again.
				if name != "file gone" {
					w.allow("docs", config.ClassExecute)
					w.answered(s, tool("docs__echo", "{}"))
				}
			})
		}
	}
}

// C52: a declaration that changed is stale; it may add nothing to an approval.
func TestChangedDeclarationIsStale(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "version: 1"+allowAll, map[string]string{"project/.mcp.json": repository})
	w.allow("docs", config.ClassExecute)
	w.list(true, "docs")
	w.restart()
	started := w.starts()
	w.write("project/.mcp.json", strings.Replace(repository, `"-events"`, `"-life","1m","-events"`, 1))
	r, _ := w.refused(w.session(true), tool("docs__echo", "{}"), Stale)
	if r.Step != StepResolve || !strings.HasPrefix(r.Remedy, AskUser) {
		t.Errorf("got %+v", r)
	}
	if w.starts() != started {
		t.Error("something was started")
	}
}

// C52: a denial survives edits, has no remedy for an agent, and an approval
// ends at its time, also within a session.
func TestDeniedAndExpired(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "version: 1"+allowAll, map[string]string{"project/.mcp.json": repository})
	w.allow("docs", config.ClassExecute)
	s := w.session(true)
	w.answered(s, tool("docs__echo", "{}"))
	records, err := trust.NewStore(w.dirs).Records(w.project)
	if err != nil {
		t.Fatal(err)
	}
	record := records.All()[0]
	end := time.Now().Add(1500 * time.Millisecond)
	record.Expires = &end
	if err := trust.Allow(t.Context(), w.dirs, record); err != nil {
		t.Fatal(err)
	}
	w.answered(s, tool("docs__echo", "{}"))
	s.checked.Store(time.Now().Add(time.Hour).UnixNano()) // the view stays as it is
	until(t, "the approval has ended", func() bool { return time.Now().After(end) })
	r, _ := w.refused(s, tool("docs__echo", "{}"), Expired)
	if len(s.View().VisibleTools()) == 0 {
		t.Error("the view is another: the test tests nothing")
	}
	s.checked.Store(0)
	if n := len(s.View().VisibleTools()); n != 0 {
		t.Errorf("%d tools are listed whose approval has ended", n)
	}
	if !strings.HasPrefix(r.Remedy, AskUser+"mcp-trust allow docs") {
		t.Errorf("remedy %q", r.Remedy)
	}
	if err := trust.Deny(t.Context(), w.dirs, record); err != nil {
		t.Fatal(err)
	}
	r, _ = w.refused(s, tool("docs__echo", "{}"), Denied)
	if r.Remedy != "" || r.Message == "" {
		t.Errorf("got %+v", r)
	}
}

// C23: postern does not start itself, by whatever name; the call is answered as
// a failure of the server, and nothing runs.
func TestSelf(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "version: 1\nservers:\n  me: {command: $WORK/bin/mcp-serve}\n  deep: {command: $FAKE}\n  lost: {command: /nowhere/at/all}\n  poor: {command: $FAKE, env: {KEY: \"${NOT_SET}\"}}\n"+allowAll,
		map[string]string{"bin/mcp-serve": "#!/bin/sh\ntouch $WORK/ran\n"})
	if err := os.Chmod(w.path("bin/mcp-serve"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := w.session(false)
	for exposed, word := range map[string]Word{"me__x": Self, "lost__x": Spawn, "poor__x": Unavailable} {
		r, _ := w.refused(s, tool(exposed, "{}"), word)
		if !r.AsResult() || r.Server == "" {
			t.Errorf("%s: %+v", exposed, r)
		}
		if word == Unavailable && (r.Reason != "not_set" || !strings.Contains(r.Error(), "NOT_SET")) {
			t.Errorf("got %+v", r)
		}
	}
	w.host.o.Depth = config.MaxPosternDepth
	w.refused(w.session(false), tool("deep__x", "{}"), Self)
	if _, err := os.Stat(filepath.Join(w.dir, "ran")); err == nil {
		t.Error("postern was started")
	}
}
