package call

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"postern/pkg/config"
	"postern/pkg/mcptest"
	"postern/pkg/policy"
	"postern/pkg/pool"
	"postern/pkg/upstream"
)

// neverListed has servers without a recorded list, and a policy that can refuse
// some of their tools by name.
const neverListed = `version: 1
servers:
  fake: {command: $FAKE, args: [-events, $WORK/events]}
  other: {command: $FAKE, args: [-events, $WORK/events]}
policies:
  some:
    servers: [fake]
    tools: ["fake/*o*"]
    deny: ["fake/drop_*", "fake__echo_no", "fake__odd_no_*"]
    allow: [read]
defaults: {policy: some, trust_level: 2}
`

// R40's one exception: a trusted server that was never listed. What its name
// alone can refuse starts nothing.
func TestNeverListedIsRefusedByName(t *testing.T) {
	t.Parallel()
	w := newWorld(t, neverListed, nil)
	s := w.session(false)
	for _, r := range []Request{
		tool("fake__drop_o", "{}"), {Server: "fake", Tool: "drop_o"}, // by deny
		tool("fake__echo_no", "{}"), {Server: "fake", Tool: "echo_no"}, // by deny, the exposed name
		{Server: "fake", Tool: "odd.no"}, // by deny, the name it would be exposed under
		tool("fake__fail", "{}"),         // not in tools
		tool("other__echo", "{}"),        // not in servers
	} {
		refusal, row := w.refused(s, r, PolicyDenied)
		if refusal.Step != StepDecide || refusal.Rule == "" || row.Tool == "" || strings.Contains(row.Tool, "__") {
			t.Errorf("%s%s: %+v, row %+v", r.Exposed, r.Tool, refusal, row)
		}
	}
	if n := len(mcptest.Events(t, w.events, "")); n != 0 {
		t.Error("something was started")
	}
}

// R40's one exception: else the server is started, once, and its live list is
// decided on.
func TestNeverListedIsStarted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, neverListed, nil)
	s := w.session(false)
	r, row := w.refused(s, tool("fake__nope", "{}"), UnknownTool)
	if r.Step != StepResolve || row.StartMS <= 0 || row.Upstream != "fake" || row.Tool != "nope" {
		t.Errorf("got %+v, row %+v", r, row)
	}
	// notify is a write tool, and the live list says so.
	w.refused(s, tool("fake__notify", "{}"), PolicyDenied)
	a, row := w.answered(s, tool("fake__echo", `{"x":1}`))
	if a.Tool.Decision.Verdict != policy.Allow || row.StartMS != 0 || row.Tier != "read" {
		t.Errorf("got %+v, row %+v", a.Tool.Decision, row)
	}
	if n := w.starts(); n != 1 {
		t.Errorf("%d processes", n)
	}
	if got := w.sent(); !slices.Equal(got, []string{`echo {"x":1}`}) {
		t.Errorf("sent: %q", got)
	}
}

// The list is found right after the start, also where it cannot be recorded
// (C6), and however many ask.
func TestNeverListedWithoutCache(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plain, nil)
	if err := os.RemoveAll(w.path("cache")); err != nil {
		t.Fatal(err)
	}
	w.write("cache", "a file where the folder should be")
	s := w.session(false)
	const n = 20
	answers := make(chan Answer, n)
	for range n {
		go s.Do(context.Background(), tool("fake__echo", "{}"), func(a Answer) { answers <- a }) // ends with its call
	}
	for range n {
		if a := <-answers; a.Refusal != nil {
			t.Errorf("refused: %v", a.Refusal)
		}
	}
	w.calls += n
	until(t, "the rows are written", func() bool { return len(w.rows()) == n })
	if got := w.starts(); got != 1 {
		t.Errorf("%d processes", got)
	}
}

// Whoever waited for the first list sees it, even if the pool has not announced
// it yet.
func TestFirstListIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	for name, see := range map[string]func(w *world, s *Session) bool{
		"call": func(w *world, s *Session) bool {
			_, row := w.answered(s, tool("fake__echo", "{}"))
			return row.StartMS > 0
		},
		"tools": func(w *world, s *Session) bool {
			tools, err := s.Tools(w.t.Context(), "fake")
			return err == nil && len(tools) > 0
		},
		"discover": func(w *world, s *Session) bool { <-s.Discover(w.t.Context()); return len(s.View().VisibleTools()) > 0 },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, plain, nil)
			gate := make(chan struct{})
			defer close(gate)
			w.host.pool = pool.New(pool.Options{Owner: pool.OwnerMark(), Changed: func() { <-gate }}) // records nothing either
			s := w.session(false)
			if !see(w, s) {
				t.Error("the list is not seen")
			}
		})
	}
}

// A server that was never listed and cannot be started is a failure of the
// server, with the row of one.
func TestNeverListedFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.Replace(plain, "args: [", "start_timeout: 1s, max_timeout: 2s, args: [-fault, no-initialize, ", 1), nil)
	s := w.session(false)
	r, row := w.refused(s, tool("fake__echo", "{}"), Timeout)
	if !r.AsResult() || r.Server != "fake" || r.Tool != "echo" || row.StartMS < 500 {
		t.Errorf("got %+v, row %+v", r, row)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { // ends when the next start was seen
		mcptest.WaitEvents(t, w.events, "start", 2)
		cancel(&upstream.Cancelled{Reason: "changed my mind"})
	}()
	a, row := w.do(ctx, s, tool("fake__echo", "{}"))
	if a.Refusal == nil || a.Refusal.Word != Cancelled || row.Outcome != "cancelled" || row.Reason != "changed my mind" {
		t.Errorf("got %+v, row %+v", a.Refusal, row)
	}
}

// R44: max_timeout holds for the start as well.
func TestMaxTimeoutOfAStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.Replace(plain, "args: [", "timeout: 1s, max_timeout: 1s, args: [-fault, no-initialize, ", 1), nil)
	r, _ := w.refused(w.session(false), tool("fake__echo", "{}"), Timeout)
	if r.Reason != "max_timeout" || !strings.Contains(r.Message, "1s") || strings.Contains(r.Message, "may have happened") {
		t.Errorf("got %+v", r)
	}
}

// Nearest names are visible ones, at most three, the likely ones first.
func TestNearest(t *testing.T) {
	t.Parallel()
	yaml := strings.Replace(plain, `allow: [read, write, execute]`, `deny: ["*/get_issue_secret"], allow: [read, write, execute]`, 1)
	yaml = strings.Replace(yaml, "args: [", "args: [-tools, $WORK/tools, ", 1)
	w := newWorld(t, yaml, map[string]string{"tools": `[{"name":"get_issue"},{"name":"get_issues"},{"name":"get_user"},{"name":"set_issue"},
		{"name":"get_issue_secret"},{"name":"let_issue"},{"name":"git.odd name"},{"name":"a"}]`})
	w.list(false, "fake")
	v := w.session(false).View()
	for name, want := range map[string][]string{
		"fake__get_issue":        {"fake__get_issue", "fake__set_issue", "fake__let_issue"},
		"fake__get_isue":         {"fake__get_issue", "fake__get_issues", "fake__set_issue"},
		"get_user":               {"fake__get_user"},
		"get_usr":                {"fake__get_user"},
		"fkae__get_user":         {"fake__get_user"},
		"fake__get_issue_secret": nil,
		"fake__zzz":              {"fake__a"}, // two letters of three: within a slip of the hand
		"fake__completely_other": nil,
		"":                       {"fake__a"},
		"x":                      {"fake__a"},
		strings.Repeat("z", 999): nil,
	} {
		got := v.nearest(name)
		if name == "fake__get_issue" || name == "fake__get_isue" {
			if len(got) == 0 || got[0] != want[0] || len(got) > mostNear {
				t.Errorf("%s: %q, want first %s", name, got, want[0])
			}
			continue
		}
		if name == "fake__zzz" || name == "" || name == "x" {
			continue // whatever is offered is short and visible
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"fake__get_issue_secret", "get_issue_secre", "fake__get_issue_secrets"} {
		if got := v.nearest(name); slices.Contains(got, "fake__get_issue_secret") {
			t.Errorf("%s: a hidden tool is offered: %q", name, got)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"same", "same", 0},
		{strings.Repeat("a", 500), strings.Repeat("a", 300), 0}, // only the beginning counts
	} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%q %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if got := distance(c.b, c.a); got != c.want {
			t.Errorf("%q %q: not symmetric", c.a, c.b)
		}
	}
}

// A name of megabytes is not said back.
func TestLongNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plain, nil)
	w.list(false, "fake")
	long := strings.Repeat("é", 1<<20)
	for _, r := range []Request{{Exposed: long}, {Exposed: "fake__" + long}, {Server: long, Tool: long}, {Server: "fake", Tool: long}} {
		refusal, _ := w.refused(w.session(false), r, UnknownTool)
		if n := len(refusal.Error()) + len(refusal.Data()); n > 8*config.MaxToolName {
			t.Errorf("%d bytes", n)
		}
	}
	for in, want := range map[string]string{"": "", "a": "a", strings.Repeat("a", 256): strings.Repeat("a", 256), strings.Repeat("é", 200): strings.Repeat("é", 128) + "…"} {
		if got := clip(in); got != want {
			t.Errorf("clip: %q", got)
		}
	}
}

// An exposed name without a route belongs to the longest id it begins with.
func TestOwner(t *testing.T) {
	v := &View{}
	for _, id := range []string{"git", "git_hub", "a", "git__x"} {
		v.Servers = append(v.Servers, &Server{Declared: &config.Server{ID: id}})
	}
	for name, want := range map[string][2]string{
		"git__clone": {"git", "clone"}, "git_hub__clone": {"git_hub", "clone"}, "git__x__y": {"git__x", "y"},
		"a__": {"a", ""}, "b__x": {}, "git": {}, "": {}, "__x": {},
	} {
		s, tool := v.owner(name)
		if (s == nil) != (want[0] == "") || s != nil && s.Declared.ID != want[0] || tool != want[1] {
			t.Errorf("%s: %v, %s", name, s, tool)
		}
	}
}
