package mcptest

import (
	"bytes"
	"strconv"
	"time"

	"postern/pkg/wire"
)

// task is one in either era's form.
type task struct {
	id       string
	modern   bool
	requests []byte        // modern: what it asks for; nil when nothing
	cancel   chan struct{} // closed when it is cancelled
	done     chan struct{} // closed when it is over

	status string // of server.mu, as are the rest
	result []byte // a result, or an error when failed
}

const taskTime = "2026-01-01T00:00:00Z"

func (s *server) newTask(modern bool, requests []byte) *task {
	t := &task{modern: modern, requests: bytes.Clone(requests), cancel: make(chan struct{}), done: make(chan struct{}), status: "working"}
	if requests != nil {
		t.status = "input_required"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.id = "task-" + strconv.Itoa(len(s.tasks)+1)
	s.tasks = append(s.tasks, t)
	return t
}

// task is the one a request names; without one it is refused.
func (s *server) task(m wire.Message) *task {
	id := text(m.ParamsBytes(), "taskId")
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tasks {
		if t.id == id && t.modern == isModern(m) {
			return t
		}
	}
	s.refuse(m, wire.CodeInvalidParams, "no task "+id)
	return nil
}

// members are the task's own, without braces. s.mu is held.
func (t *task) members() string {
	times := `,"createdAt":"` + taskTime + `","lastUpdatedAt":"` + taskTime + `"`
	base := `"taskId":"` + t.id + `","status":"` + t.status + `"` + times
	if !t.modern {
		return base + `,"ttl":60000,"pollInterval":10`
	}
	base += `,"ttlMs":60000,"pollIntervalMs":10`
	switch t.status {
	case "input_required":
		base += `,"inputRequests":` + string(t.requests)
	case "completed":
		base += `,"result":` + string(t.result)
	case "failed":
		base += `,"error":` + string(t.result)
	}
	return base
}

// become changes the status of a task that is not over, and tells it.
func (s *server) become(t *task, status string, result []byte) bool {
	s.mu.Lock()
	select {
	case <-t.done:
		s.mu.Unlock()
		return false
	default:
	}
	t.status, t.result = status, bytes.Clone(result)
	switch status {
	case "cancelled":
		close(t.cancel)
		close(t.done)
	case "completed", "failed":
		close(t.done)
	}
	said := "{" + t.members() + "}"
	s.mu.Unlock()
	if t.modern {
		s.tell("notifications/tasks", said, false, func(filter []byte) bool { return holds(member(filter, "taskIds"), t.id) })
	} else {
		s.out.line(wire.NotificationLine("notifications/tasks/status", []byte(said)))
	}
	return true
}

// asTask runs a tool behind a task that is the answer.
func (c call) asTask(do func(call)) {
	t := c.s.newTask(false, nil)
	c.s.mu.Lock()
	said := t.members()
	c.s.mu.Unlock()
	c.s.answer(c.m, []byte(`{"task":{`+said+`}}`))
	c.task, c.cancelled = t, t.cancel
	do(c)
}

// modernTask answers with a task that ends after ms, when its questions are
// answered, or when it is told to.
func (c call) modernTask() {
	if !isModern(c.m) {
		c.text("a modern request only")
		return
	}
	t := c.s.newTask(true, member(c.args, "requests"))
	c.s.mu.Lock()
	said := t.members()
	c.s.mu.Unlock()
	c.s.answer(c.m, []byte(`{"resultType":"task",`+said+`}`))
	if ms := number(c.args, "ms", 0); ms > 0 {
		select {
		case <-time.After(time.Duration(ms) * time.Millisecond):
			c.s.become(t, "completed", []byte(`{"content":[{"type":"text","text":"done"}]}`))
		case <-t.done:
		}
	}
}

// finish ends a task of either era.
func (c call) finish() {
	id := text(c.args, "taskId")
	c.s.mu.Lock()
	all := c.s.tasks
	c.s.mu.Unlock()
	for _, t := range all {
		if t.id == id {
			c.s.become(t, "completed", []byte(`{"content":[{"type":"text","text":"finished"}]}`))
		}
	}
	c.text("done")
}

func (s *server) taskGet(m wire.Message) {
	if t := s.task(m); t != nil {
		s.mu.Lock()
		said := t.members()
		s.mu.Unlock()
		s.answer(m, []byte("{"+said+"}"))
	}
}

func (s *server) taskList(m wire.Message) {
	var all [][]byte
	s.mu.Lock()
	for _, t := range s.tasks {
		if !t.modern {
			all = append(all, []byte("{"+t.members()+"}"))
		}
	}
	s.mu.Unlock()
	s.answer(m, []byte(`{"tasks":[`+string(bytes.Join(all, []byte(",")))+`]}`))
}

func (s *server) taskCancel(m wire.Message) {
	t := s.task(m)
	if t == nil {
		return
	}
	if !s.become(t, "cancelled", nil) && !t.modern {
		s.refuse(m, wire.CodeInvalidParams, "the task is over")
		return
	}
	if t.modern {
		s.answer(m, []byte("{}"))
		return
	}
	s.taskGet(m)
}

// taskUpdate takes the answers a task waits for, and completes it with them.
func (s *server) taskUpdate(m wire.Message) {
	if !isModern(m) {
		s.refuse(m, wire.CodeMethodNotFound, "no method "+m.Method)
		return
	}
	if t := s.task(m); t != nil {
		s.answer(m, []byte("{}"))
		answers := orNull(member(m.ParamsBytes(), "inputResponses"))
		s.become(t, "completed", []byte(`{"content":[],"structuredContent":`+answers+`}`))
	}
}

// taskResult waits for the end of a task.
func (s *server) taskResult(m wire.Message, cancelled <-chan struct{}) {
	t := s.task(m)
	if t == nil {
		return
	}
	select {
	case <-t.done:
	case <-cancelled:
		return
	}
	s.mu.Lock()
	result := t.result
	s.mu.Unlock()
	if result == nil {
		s.refuse(m, wire.CodeInternal, "the task was cancelled")
		return
	}
	related := `{"io.modelcontextprotocol/related-task":{"taskId":"` + t.id + `"}}`
	s.answer(m, wire.InsertMember(result, "_meta", []byte(related)))
}
