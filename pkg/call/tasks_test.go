package call

import (
	"fmt"
	"strings"
	"testing"

	"postern/pkg/config"
)

// taskCall is a call that is to become a task of the legacy era.
func taskCall(name, arguments string) Request {
	r := tool(name, arguments)
	r.Params = []byte(strings.Replace(string(r.Params), `{"name"`, `{"task":{"ttl":60000},"name"`, 1))
	return r
}

func taskRequest(method, id string, m *Modern) Request {
	return Request{Method: method, Params: []byte(fmt.Sprintf(`{"taskId":%q}`, id)), Modern: m}
}

// R72, R73: a task of the legacy era is its session's own: the id finds its server,
// its rows are the tool's, and another session's id is none.
func TestLegacyTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, more("max_concurrency: 4"), nil)
	w.list(false, "fake")
	p := &person{capabilities: everything}
	s, other := w.agent(p, SessionOptions{}), w.agent(&person{}, SessionOptions{})
	a, _ := w.answered(s, taskCall("fake__never", `{}`))
	if got := string(a.Reply.ResultBytes()); !strings.Contains(got, `"taskId":"task-1"`) || !a.Parts.Partial {
		t.Fatalf("got %s", got)
	}
	if n := w.openTasks(); n != 1 {
		t.Errorf("%d are held", n)
	}
	a, row := w.answered(s, taskRequest(methodTaskGet, "task-1", nil))
	if !strings.Contains(string(a.Reply.ResultBytes()), `"status":"working"`) || row.Via != ViaTask || row.Tool != "never" || row.Upstream != "fake" {
		t.Errorf("%s, %+v", a.Reply.Raw, row)
	}
	for _, method := range []string{methodTaskGet, methodTaskResult, methodTaskCancel} {
		w.refused(other, taskRequest(method, "task-1", nil), UnknownTask)
		w.refused(s, taskRequest(method, "task-1", &Modern{}), UnknownTask) // of another era
	}
	if got := w.tasksOf(s, `{}`); !strings.Contains(got, `{"tasks":[{"taskId":"task-1","status":"working"`) || strings.Contains(got, "nextCursor") {
		t.Errorf("its tasks: %s", got)
	}
	if got := w.tasksOf(other, ``); got != `{"tasks":[]}` {
		t.Errorf("another's tasks: %s", got)
	}
	w.answered(s, tool("fake__finish", `{"taskId":"task-1"}`))
	until(t, "the end is told", func() bool {
		for _, note := range p.news() {
			if strings.Contains(note, `notifications/tasks/status {"taskId":"task-1","status":"completed"`) {
				return true
			}
		}
		return false
	})
	w.answered(s, taskRequest(methodTaskGet, "task-1", nil)) // that is no end: the result is not fetched yet
	a, _ = w.answered(s, taskRequest(methodTaskResult, "task-1", nil))
	if !strings.Contains(string(a.Reply.ResultBytes()), "finished") {
		t.Errorf("its result: %s", a.Reply.Raw)
	}
	if w.openTasks() != 0 {
		t.Error("it is held although it is over")
	}
	w.answered(s, taskRequest(methodTaskResult, "task-1", nil)) // fetched again
	w.answered(s, taskCall("fake__never", `{}`))
	a, _ = w.answered(s, taskRequest(methodTaskCancel, "task-2", nil))
	if held := w.openTasks() > 0; held || !strings.Contains(string(a.Reply.ResultBytes()), `"status":"cancelled"`) {
		t.Errorf("cancelled, and held: %v, %s", held, a.Reply.Raw)
	}
}

// openTasks is how many tasks keep servers from being stopped.
func (w *world) openTasks() (n int) {
	for _, s := range w.host.pool.Status() {
		n += s.Tasks
	}
	return n
}

// tasksOf is the answer of tasks/list, which is a row of the gateway's.
func (w *world) tasksOf(s *Session, params string) string {
	w.t.Helper()
	var got Answer
	before := len(w.rows())
	w.calls++
	s.Do(w.t.Context(), Request{Method: methodTaskList, Params: []byte(params)}, func(a Answer) { got = a })
	until(w.t, "the row is written", func() bool { return len(w.rows()) > before })
	if row := w.rows()[before]; len(w.rows()) != before+1 || row.Upstream != "gateway" || row.Tool != methodTaskList || row.Outcome != "ok" {
		w.t.Errorf("%d rows, %+v", len(w.rows())-before, row)
	}
	return string(got.Result)
}

// R73: tasks of the extension likewise.
func TestModernTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, modernServer("shared: true"), nil)
	m := &Modern{Capabilities: []byte(`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`)}
	s := w.agent(&person{modern: true}, SessionOptions{})
	r := tool("fake__task", `{"requests":{"q":{"method":"elicitation/create","params":{"message":"m"}}}}`)
	r.Modern = m
	a, _ := w.answered(s, r)
	if got := string(a.Reply.ResultBytes()); !strings.Contains(got, `"resultType":"task","taskId":"task-1"`) {
		t.Fatalf("got %s", got)
	}
	a, _ = w.answered(s, taskRequest(methodTaskGet, "task-1", m))
	if got := string(a.Reply.ResultBytes()); !strings.Contains(got, `"status":"input_required"`) {
		t.Errorf("got %s", got)
	}
	update := taskRequest(methodTaskUpdate, "task-1", m)
	update.Params = []byte(`{"taskId":"task-1","inputResponses":{"q":{"n":1e400}}}`)
	w.answered(s, update)
	if w.openTasks() != 1 {
		t.Error("it is not held any more, and nobody has its result")
	}
	a, _ = w.answered(s, taskRequest(methodTaskGet, "task-1", m))
	if got := string(a.Reply.ResultBytes()); !strings.Contains(got, `{"q":{"n":1e400}}`) {
		t.Errorf("got %s", got)
	}
	if w.openTasks() != 0 {
		t.Error("it is held although it is over")
	}
	// An older agent cannot be given such a task.
	w.refused(w.agent(&person{}, SessionOptions{}), tool("fake__task", `{}`), UpstreamError)
}

// R72: two servers' tasks with one id could not be told apart.
func TestTaskOfAnotherServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, two, twoFiles())
	w.list(false, "a")
	w.list(false, "b")
	s := w.agent(&person{}, SessionOptions{})
	w.answered(s, taskCall("a__never", `{}`))
	r, _ := w.refused(s, taskCall("b__never", `{}`), UpstreamError)
	if !strings.Contains(r.Message, "another server's task") || r.AsResult() {
		t.Errorf("%v", r)
	}
	if _, row := w.answered(s, taskRequest(methodTaskCancel, "task-1", nil)); row.Upstream != "a" {
		t.Errorf("%+v", row)
	}
}

// R72: a task whose tool may not be called any more is not asked about either.
func TestTaskOfADeniedTool(t *testing.T) {
	t.Parallel()
	w := newWorld(t, more("queue: 5"), nil)
	w.list(false, "fake")
	s := w.agent(&person{}, SessionOptions{})
	w.answered(s, taskCall("fake__never", `{}`))
	w.edit(s, strings.Replace(more("queue: 5"), `servers: ["*"]`, `servers: ["*"], deny: ["fake/never"]`, 1))
	w.refused(s, taskRequest(methodTaskGet, "task-1", nil), PolicyDenied)
	if got := w.tasksOf(s, `{}`); got != `{"tasks":[]}` {
		t.Errorf("its tasks: %s", got)
	}
}

func TestTaskMemory(t *testing.T) {
	var known tasks
	for n := range config.LinkMemory + 1 {
		known.add(fmt.Sprint(n), task{server: "a"})
	}
	if _, ok := known.get("0"); ok {
		t.Error("the oldest is still there")
	}
	if known.add("5", task{server: "b"}) || !known.add("5", task{server: "a"}) {
		t.Error("an id went to another server")
	}
	known.end("5")
	if _, ok := known.get("5"); !ok || !known.add("5", task{server: "b"}) || known.add("5", task{server: "a"}) {
		t.Error("an id that is free again was not given")
	}
	ids, more := known.page(config.LinkMemory - 1)
	if len(ids) != 1 || more || ids[0] != fmt.Sprint(config.LinkMemory) {
		t.Errorf("%q %v", ids, more)
	}
	if ids, more = known.page(0); len(ids) != taskPage || !more || ids[0] != "1" {
		t.Errorf("%q %v", ids, more)
	}
	if ids, more = known.page(config.LinkMemory * 2); ids != nil || more {
		t.Errorf("%q %v", ids, more)
	}
}

func TestTaskIn(t *testing.T) {
	for _, c := range []struct {
		result string
		modern bool
		want   string
	}{
		{`{"task":{"taskId":"a\u0062"}}`, false, "ab"}, {`{"taskId":"a","resultType":"task"}`, true, "a"},
		{`{"task":{"taskId":"a"}}`, true, ""}, {`{"taskId":"a","resultType":"task"}`, false, ""}, {`{"taskId":"a","resultType":"complete"}`, true, ""},
		{`{"task":{"taskId":5}}`, false, ""}, {`{"task":[]}`, false, ""}, {`{"task":{"taskId":"a","taskid":"b"}}`, false, ""}, {`{}`, false, ""},
		{`{"task":{"taskId":"` + strings.Repeat("x", config.MaxToolName+1) + `"}}`, false, ""},
	} {
		if got := taskIn([]byte(c.result), c.modern); got != c.want {
			t.Errorf("%.80s: %q", c.result, got)
		}
	}
}
