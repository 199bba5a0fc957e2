package call

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"postern/pkg/config"
	"postern/pkg/policy"
	"postern/pkg/pool"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// tasks is what a session's calls became that were not answered at once, the last
// config.LinkMemory of them. The zero value is empty.
type tasks struct {
	mu     sync.Mutex
	known  map[string]task
	oldest []string
}

// task is a call that goes on, and which request it was.
type task struct {
	server, tool string
	modern       bool // of the modern era's extension
	over         bool
}

func (t *tasks) get(id string) (task, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found, ok := t.known[id]
	return found, ok
}

// add remembers a task; false when another server has one of that id, which is not
// over.
func (t *tasks) add(id string, of task) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if before, ok := t.known[id]; ok {
		if before.server != of.server && !before.over {
			return false
		}
		t.known[id] = of
		return true
	}
	if t.known == nil {
		t.known = map[string]task{}
	}
	if len(t.oldest) == config.LinkMemory {
		at := givesWay(t.oldest, func(id string) string { return t.known[id].server })
		delete(t.known, t.oldest[at])
		t.oldest = slices.Delete(t.oldest, at, at+1)
	}
	t.known[id] = of
	t.oldest = append(t.oldest, id)
	return true
}

// end notes that a task is over. It can be asked for as before.
func (t *tasks) end(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if of, ok := t.known[id]; ok {
		of.over = true
		t.known[id] = of
	}
}

// page is the ids from the n-th on, the oldest first, and whether there are more.
func (t *tasks) page(n int) (ids []string, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n > len(t.oldest) {
		return nil, false
	}
	end := min(n+taskPage, len(t.oldest))
	return append(ids, t.oldest[n:end]...), end < len(t.oldest)
}

// taskPage is how many tasks a list names at once; each is asked for.
const taskPage = 50

// findTask finds the server that has a task of this session. Its right is the one
// of the tool that was called.
func (c *Call) findTask() {
	t, ok := c.session.tasks.get(c.Exposed)
	if !ok || t.modern != (c.Modern != nil) {
		return
	}
	s := c.view.Server(t.server)
	if s == nil {
		return
	}
	def := s.byName(t.tool)
	if def == nil {
		return
	}
	c.is(s, t.tool, def.Decision)
}

// followTask holds a server that goes on with a task, and lets it go when the task
// is over and what it came to was handed on.
func (c *Call) followTask(i *pool.Instance, result []byte) *Refusal {
	modern := i.Catalog().Era == upstream.EraModern
	over := false
	switch c.method.name {
	case methodTool:
		if !c.answer.Parts.Partial || modern != (c.Modern != nil) {
			return nil
		}
		id := taskIn(result, modern)
		if id == "" {
			return nil
		}
		if !c.session.tasks.add(id, task{server: c.server.Declared.ID, tool: c.name, modern: modern}) {
			return c.unanswerable("a task whose id is that of another server's task")
		}
		i.Hold(c.session.ID, id)
	case methodTaskResult:
		over = true
	case methodTaskGet, methodTaskCancel:
		over = c.answer.Reply.Error.Ok() || ended(result, modern)
	}
	if over {
		c.session.tasks.end(c.Exposed)
		i.Release(c.session.ID, c.Exposed)
	}
	return nil
}

// taskIn is the id of the task that a result is; "" when it is none.
func taskIn(result []byte, modern bool) string {
	var at [2]wire.Span
	if wire.Lookup(result, []string{"taskId", "resultType"}, at[:]) != nil {
		return ""
	}
	id := at[0].Of(result)
	if !modern {
		of := objectIn(result, "task")
		if wire.Lookup(of, []string{"taskId"}, at[:1]) != nil {
			return ""
		}
		id = at[0].Of(of)
	} else if string(at[1].Of(result)) != `"task"` {
		return ""
	}
	text, err := wire.Unquote(id)
	if err != nil || len(text) > config.MaxToolName {
		return ""
	}
	return text
}

// ended reports whether a task has come to its end. In the legacy era one that
// succeeded still has its result to be fetched.
func ended(result []byte, modern bool) bool {
	var at [1]wire.Span
	if wire.Lookup(result, []string{"status"}, at[:]) != nil {
		return false
	}
	switch status := string(at[0].Of(result)); status {
	case `"failed"`, `"cancelled"`:
		return true
	case `"completed"`:
		return modern
	}
	return false
}

// listTasks answers tasks/list with what the servers that run say of this
// session's own tasks; of others' a server might tell as well.
func (c *Call) listTasks(ctx context.Context) *Refusal {
	c.Server, c.Tool, c.name = policy.Gateway, methodTaskList, methodTaskList
	if c.Modern != nil {
		return c.unknown(nil, methodTaskList).at(StepResolve)
	}
	n, problem := cursorIn(c.Params)
	if problem != "" {
		return c.invalid(problem)
	}
	ids, more := c.session.tasks.page(n)
	out := []byte(`{"tasks":[`)
	for _, id := range ids {
		result := c.taskNow(ctx, id)
		if result == nil {
			continue
		}
		if out[len(out)-1] != '[' {
			out = append(out, ',')
		}
		out = append(out, result...)
	}
	out = append(out, ']')
	if more {
		out = append(append(out, `,"nextCursor":`...), wire.Quote(strconv.Itoa(n+taskPage))...)
	}
	c.answer.Result = append(out, '}')
	return nil
}

// taskNow is what its server says of a task; nil when that does not run, or does
// not know it any more.
func (c *Call) taskNow(ctx context.Context, id string) []byte {
	params := append(append([]byte(`{"taskId":`), wire.Quote(id)...), '}')
	one := c.session.begin(Request{Method: methodTaskGet, Exposed: id, Params: params})
	if one.find(); one.server == nil || c.session.host.pool.Running(one.server.running()) == nil {
		return nil
	}
	if one.walk(ctx) != nil {
		return nil
	}
	return one.result()
}

// cursorIn reads which page of tasks is asked for.
func cursorIn(params []byte) (n int, problem string) {
	if len(params) == 0 {
		return 0, ""
	}
	var at [1]wire.Span
	if err := wire.Lookup(params, []string{"cursor"}, at[:]); err != nil {
		return 0, "params: " + err.Error()
	}
	if !at[0].Ok() {
		return 0, ""
	}
	text, err := wire.Unquote(at[0].Of(params))
	if err == nil {
		n, err = strconv.Atoi(text)
	}
	if err != nil || n < 0 {
		return 0, "params.cursor is none of this gateway's"
	}
	return n, ""
}
