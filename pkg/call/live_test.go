package call

import (
	"fmt"
	"strings"
	"testing"

	"postern/pkg/mcptest"
)

// definition is a tool that may say that it only reads.
func definition(name string, readOnly bool) string {
	return fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"},"annotations":{"readOnlyHint":%v}}`, name, readOnly)
}

// changing declares a fake whose list is in a file, for callers who may read.
const changing = `version: 1
servers:
  fake: {command: $FAKE, args: [-events, $WORK/events, -tools, $WORK/tools]}
policies:
  readers: {servers: ["*"], allow: [read]}
defaults: {policy: readers, trust_level: 2}
`

// R40: the live definition is compared with the one decided on before anything
// is sent. Each case records one list and starts the server with another.
func TestLiveDefinitionIsDecidedAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name           string
		recorded, live string
		word           Word // "" = the call is sent
		step           string
	}{
		{"the same", definition("get", true), definition("get", true), "", ""},
		{"lost readOnlyHint", definition("get", true), definition("get", false), PolicyDenied, StepDecide},
		{"another description", definition("get", true), strings.Replace(definition("get", true), `{"name"`, `{"description":"new","name"`, 1), "", ""},
		{"gone", definition("get", true), definition("other", true), UnknownTool, StepResolve},
		{"nothing is left", definition("get", true), "", UnknownTool, StepResolve},
		{"no longer usable", definition("get", true), `{"name":"get","Name":"get","annotations":{"readOnlyHint":true}}`, UnknownTool, StepResolve},
		{"a second one of the name", definition("get", true), definition("get", false) + "," + definition("get", true), PolicyDenied, StepDecide},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, changing, map[string]string{"tools": "[" + c.recorded + "]"})
			w.list(false, "fake")
			w.restart()
			w.write("tools", "["+c.live+"]")
			s := w.session(false)
			if c.word == "" {
				w.answered(s, tool("fake__get", "{}"))
			} else {
				r, row := w.refused(s, tool("fake__get", "{}"), c.word)
				if r.Step != c.step || row.Step != c.step || row.StartMS <= 0 {
					t.Errorf("step %s, row %+v", r.Step, row)
				}
				if strings.Contains(r.Remedy, "fake__get") {
					t.Errorf("the tool that is gone is offered: %s", r.Remedy)
				}
				w.refused(s, tool("fake__get", "{}"), c.word) // now from the list of the server that runs
			}
			want := 0
			if c.word == "" {
				want = 1
			}
			if n := len(w.sent()); n != want {
				t.Errorf("%d calls were sent", n)
			}
			if n := w.starts(); n != 2 {
				t.Errorf("%d processes, want that of the list and one more", n)
			}
		})
	}
}

// R40, R54: a list that changes while the server runs is what the next call is
// judged by, and every session is told.
func TestListChangesWhileRunning(t *testing.T) {
	t.Parallel()
	yaml := strings.Replace(changing, "args: [", "read_tools: [change], args: [", 1)
	w := newWorld(t, yaml, map[string]string{"tools": "[" + definition("get", true) + "," + definition("change", true) + "]"})
	w.list(false, "fake")
	told := make(chan struct{}, 1000)
	s, err := w.host.Open(SessionOptions{Changed: func() { told <- struct{}{} }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w.answered(s, tool("fake__get", "{}"))
	if s.View().Exposed("fake__get").Server.Provenance != "live" {
		t.Error("the list of a server that runs is not live")
	}
	w.answered(s, tool("fake__change", `{"tools":[`+definition("get", false)+`,`+definition("new", true)+`]}`))
	until(t, "the session sees the new list", func() bool { return s.View().Exposed("fake__new") != nil })
	<-told
	w.refused(s, tool("fake__get", "{}"), PolicyDenied)
	w.answered(s, tool("fake__new", "{}"))
	w.refused(s, tool("fake__change", "{}"), UnknownTool)
	if n := len(w.sent()); n != 3 {
		t.Errorf("%d calls were sent: %q", n, w.sent())
	}
	if n := len(mcptest.Events(t, w.events, "start")); n != 2 {
		t.Errorf("%d processes", n)
	}
}

// R54: one function serves listing and calling: what is listed can be called,
// and what is not is refused.
func TestListedIsCallable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, everyRefusal, map[string]string{"project/.mcp.json": repository})
	for _, id := range []string{"fake", "other", "odd"} {
		w.list(true, id)
	}
	s := w.session(true)
	v := s.View()
	listed := map[string]bool{}
	for _, tool := range v.VisibleTools() {
		listed[tool.Exposed] = true
	}
	if len(listed) != 2 { // echo and env are read
		t.Errorf("listed: %v", listed)
	}
	for _, server := range v.Servers {
		for _, def := range server.Tools {
			if def.Def.Name == "never" || def.Def.Name == "late" || def.Def.Name == "big" {
				continue
			}
			a, _ := w.do(t.Context(), s, tool(def.Exposed, "{}"))
			if called := a.Refusal == nil || a.Refusal.AsResult(); called != listed[def.Exposed] {
				t.Errorf("%s: listed %v, came to %v", def.Exposed, listed[def.Exposed], a.Refusal)
			}
		}
	}
}
