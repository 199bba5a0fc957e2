package call

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"postern/pkg/config"
	"postern/pkg/mcptest"
	"postern/pkg/wire"
)

// hasTasks is an agent that answers all questions, as tasks too.
const hasTasks = `{"elicitation":{"form":{},"url":{}},"sampling":{},"tasks":{"list":{},"cancel":{},"x":1.0,"requests":{"sampling":{"createMessage":{}},"elicitation":{"create":{}}}}}`

// unshared declares two fake servers that are a session's own, and one that is shared.
func unshared() string {
	return "version: 1\nservers:\n" +
		"  a: {command: $FAKE, shared: false, args: [-more, -events, $WORK/a]}\n" +
		"  b: {command: $FAKE, shared: false, args: [-more, -events, $WORK/b]}\n" +
		"  c: {command: $FAKE, args: [-more, -events, $WORK/c]}\n" + allowAll
}

// asks has a server ask the agent, and is what it was answered.
func (w *world) asks(s *Session, server, method, params string) string {
	w.t.Helper()
	r := asking(method, params)
	r.Exposed = server + "__ask"
	a, _ := w.answered(s, r)
	return string(a.Reply.Raw)
}

// got are the notifications that a server got of the agent.
func (w *world) got(server, method string) (all []string) {
	w.t.Helper()
	for _, e := range mcptest.Events(w.t, w.path(server), "recv") {
		if m, err := wire.Parse([]byte(e.Data)); err == nil && m.Kind == wire.Notification && m.Method == method {
			all = append(all, string(m.ParamsBytes()))
		}
	}
	return all
}

// R16, R72: what an agent made a task of, the server that asked can ask for, as it
// was written both ways; another server neither sees nor touches it, and one that
// is shared has no tasks with an agent.
func TestTasksOfTheAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, unshared(), nil)
	n := 0
	p := &person{capabilities: hasTasks, answer: func(_ context.Context, method, params string, _ func([]byte)) string {
		switch method {
		case methodElicit:
			n++
			return fmt.Sprintf(`{"task":{"taskId":"t%d","status":"working","x":1.0}}`, n)
		case methodTaskList:
			return `{"x":1e400,"tasks":[ {"taskId":"t1","n":1.0}, {"taskId":"t2","n":-0},{"taskId":"other"}],"nextCursor":""}`
		}
		return `{"taskId":"t1","status":"completed","of":` + params + `}`
	}}
	s := w.agent(p, SessionOptions{})
	for _, server := range []string{"a", "b"} {
		if got := w.asks(s, server, methodElicit, `{"message":"Name?","task":{"ttl":1.0}}`); !strings.Contains(got, `"status":"working","x":1.0}}`) {
			t.Fatalf("%s was answered %s", server, got)
		}
	}
	for _, c := range []struct{ server, method, params, answer string }{
		{"a", methodTaskGet, `{"taskId":"t1","x":1.0}`, `"result":{"taskId":"t1","status":"completed","of":{"taskId":"t1","x":1.0}}`},
		{"a", methodTaskResult, `{"taskId":"t1"}`, `"of":{"taskId":"t1"}`},
		{"a", methodTaskCancel, `{"taskId":"\u00741"}`, `"of":{"taskId":"\u00741"}`},
		{"b", methodTaskGet, `{"taskId":"t2"}`, `"of":{"taskId":"t2"}`},
		{"a", methodTaskList, `{"cursor":""}`, `"result":{"x":1e400,"tasks":[{"taskId":"t1","n":1.0}],"nextCursor":""}`},
		{"b", methodTaskList, `{}`, `"result":{"x":1e400,"tasks":[{"taskId":"t2","n":-0}],"nextCursor":""}`},
		{"b", methodTaskGet, `{"taskId":"t1"}`, `"error":{"code":-32602`},
		{"a", methodTaskResult, `{"taskId":"t2"}`, `"error":{"code":-32602`},
		{"b", methodTaskCancel, `{"taskId":"other"}`, `"error":{"code":-32602`},
		{"b", methodTaskGet, `{"taskId":"t2","taskId":"t1"}`, `"error":{"code":-32602`},
		{"c", methodTaskGet, `{"taskId":"t1"}`, `"code":-32601`},
		{"c", methodTaskList, `{}`, `"code":-32601`},
		{"a", methodTaskUpdate, `{"taskId":"t1"}`, `"code":-32601`},
	} {
		before := len(p.questions())
		if got := w.asks(s, c.server, c.method, c.params); !strings.Contains(got, c.answer) {
			t.Errorf("%s: %s %s was answered %s", c.server, c.method, c.params, got)
		}
		asked := p.questions()[before:]
		want := []string{c.method + " " + c.params}
		if strings.Contains(c.answer, `"code"`) {
			want = nil
		}
		if !slices.Equal(asked, want) {
			t.Errorf("%s: %s %s: the agent was asked %q", c.server, c.method, c.params, asked)
		}
	}
	// A status goes to the server whose task it is, and to nobody else.
	const status = `{"taskId":"t2","status":"completed","x":1.0}`
	s.NotifyServers(agentTaskStatus, []byte(status))
	s.NotifyServers(agentTaskStatus, []byte(`{"taskId":"other","status":"completed"}`))
	until(t, "b hears of its task", func() bool { return len(w.got("b", agentTaskStatus)) == 1 })
	w.asks(s, "a", methodTaskGet, `{"taskId":"t1"}`)
	if a, b := w.got("a", agentTaskStatus), w.got("b", agentTaskStatus); len(a) != 0 || b[0] != status {
		t.Errorf("a heard %q, b %q", a, b)
	}
	for server, want := range map[string]string{
		"a": `"tasks":{"list":{},"cancel":{},"x":1.0,"requests":{"elicitation":{"create":{}}}}`, "c": `{"elicitation":{"form":{},"url":{}}}`,
	} {
		if told := mcptest.Events(t, w.path(server), "recv")[0].Data; !strings.Contains(told, `"initialize"`) || !strings.Contains(told, want) || server == "c" && strings.Contains(told, "tasks") {
			t.Errorf("%s was told %s", server, told)
		}
	}
}

// R16: only an agent that declares tasks, and only what it declares of them.
func TestUndeclaredTasks(t *testing.T) {
	own := &config.Server{ID: "a"}
	for _, c := range []struct {
		declared, method string
		want             string
	}{
		{hasTasks, methodTaskGet, ""},
		{`{"tasks":{}}`, methodTaskGet, ""},
		{`{"tasks":{}}`, methodTaskResult, ""},
		{`{"tasks":{}}`, methodTaskList, undeclared},
		{`{"tasks":{}}`, methodTaskCancel, undeclared},
		{`{"tasks":null}`, methodTaskGet, undeclared},
		{`{"elicitation":{}}`, methodTaskGet, undeclared},
		{`{"tasks":{"list":{}}}`, methodTaskList, ""},
		{`{"tasks":{"cancel":{}}}`, methodTaskCancel, ""},
	} {
		s := &Session{o: SessionOptions{Agent: &person{capabilities: c.declared}}}
		s.agentTasks.add("a", "t")
		if _, problem := s.question(own, c.method, []byte(`{"taskId":"t"}`)); problem != c.want {
			t.Errorf("%s of %s: %q", c.method, c.declared, problem)
		}
	}
	for declared, want := range map[string]string{
		`{"requests":{"sampling":{},"x":1.0}}`: `{"requests":{"x":1.0}}`,
		`{"requests":{"x":1.0}}`:               `{"requests":{"x":1.0}}`,
		`{"requests":null,"list":{}}`:          `{"requests":null,"list":{}}`,
		`{}`:                                   `{}`,
	} {
		if got := tasksFor(own, []byte(declared)); string(got) != want {
			t.Errorf("%s became %s", declared, got)
		}
		if got := tasksFor(&config.Server{Sampling: true}, []byte(declared)); string(got) != declared {
			t.Errorf("%s became %s", declared, got)
		}
	}
}

// An agent may say how a task goes before whoever asked knows that there is one:
// the answer comes first, and then the news, in order; of too much of it the end.
func TestNewsBeforeTheAnswer(t *testing.T) {
	var tasks agentTasks
	var heard []string
	to := func(id string) func(string) { return func(server string) { heard = append(heard, server+" "+id) } }
	status := func(id string, n int) []byte { return fmt.Appendf(nil, `{"taskId":%q,"n":%d}`, id, n) }

	tasks.status(status("t1", 0), to("t1")) // no question is open: nobody's
	tasks.begin()
	tasks.begin()
	for n := range config.EarlyNews + 3 {
		tasks.status(status("t1", n), to("t1"))
	}
	tasks.status(status("", 1), to(""))
	tasks.status([]byte(`{"taskId":"t1","x":"`+strings.Repeat("x", config.EarlyBytes)+`"}`), to("t1"))
	tasks.end("a", "", func() {}, func([]byte) { t.Error("that was no task") })
	tasks.end("b", "t1", func() { heard = append(heard, "answer") }, func(s []byte) { heard = append(heard, string(s)) })
	tasks.status(status("t1", 99), to("t1"))
	if len(heard) != config.EarlyNews+2 || heard[0] != "answer" || heard[1] != string(status("t1", 3)) || heard[len(heard)-1] != "b t1" {
		t.Errorf("heard %q", heard)
	}
	if tasks.early != nil {
		t.Error("news are kept though no question is open")
	}
	for n := range config.LinkMemory {
		tasks.add("a", fmt.Sprint("u", n))
	}
	if !tasks.of("b", "t1") || tasks.of("a", "u0") || len(tasks.owner) != config.LinkMemory || len(tasks.oldest) != config.LinkMemory {
		t.Errorf("%d tasks are known", len(tasks.owner))
	}
}

func FuzzListedTasks(f *testing.F) {
	f.Add([]byte(`{"tasks":[{"taskId":"mine"},{"taskId":"yours","x":[1.0,{}]}],"x":1e400}`))
	f.Add([]byte(`{"tasks":{"taskId":"mine"}}`))
	f.Add([]byte(`{"tasks":[1,{"taskId":"mi\u006ee"},"mine",[{"taskId":"mine"}]],"Tasks":[]}`))
	f.Fuzz(func(t *testing.T, result []byte) {
		m, err := wire.Parse(wire.ResultLine([]byte("1"), result))
		if err != nil || m.Kind != wire.Response {
			return
		}
		var tasks agentTasks
		tasks.add("a", "mine")
		tasks.add("b", "yours")
		got := tasks.listed("a", m)
		var at [1]wire.Span
		if got.Error.Ok() || wire.Lookup(got.ResultBytes(), []string{memberTasks}, at[:]) != nil {
			return
		}
		list := at[0].Of(got.ResultBytes())
		_ = wire.EachElement(list, func(v wire.Span) bool {
			if id := textIn(v.Of(list), "taskId"); id != "mine" {
				t.Errorf("%s shows %q", got.Raw, id)
			}
			return true
		})
		if again := tasks.listed("a", got); string(again.Raw) != string(got.Raw) {
			t.Errorf("%s became %s", got.Raw, again.Raw)
		}
	})
}
