package call

import (
	"bytes"
	"slices"
	"sync"

	"postern/pkg/config"
	"postern/pkg/wire"
)

// An agent that has tasks (2025-11-25) may answer a question with one, which the
// server then asks for. An agent sees one gateway and not the servers behind it, so
// whose a task is has to be known here: no server hears of another's.

const (
	memberTasks     = "tasks" // of capabilities, and of a list of them
	agentTaskStatus = "notifications/tasks/status"
)

// noAgentTask is why a server is not given what it asks for.
const noAgentTask = "it has no such task"

// agentTasks is whose questions the agent's tasks are, the last config.LinkMemory
// of them. The zero value is empty.
type agentTasks struct {
	mu     sync.Mutex
	owner  map[string]string // server, by id of the task
	oldest []string
	open   int      // questions under way that may become tasks
	early  [][]byte // statuses of tasks that are not known yet: the answer is about to be
}

func (t *agentTasks) of(server, id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return id != "" && t.owner[id] == server
}

// begin says that a question is put whose answer may be a task.
func (t *agentTasks) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open++
}

// end says that it was answered: with the task id, "" for none. answer sends the
// answer, and tell what the agent has said of the task by then, after it.
func (t *agentTasks) end(server, id string, answer func(), tell func(status []byte)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	answer()
	if id != "" {
		t.add(server, id)
		for _, status := range t.early {
			if textIn(status, "taskId") == id {
				tell(status)
			}
		}
	}
	if t.open--; t.open == 0 {
		t.early = nil
	}
}

func (t *agentTasks) add(server, id string) {
	if t.owner[id] == "" {
		if len(t.oldest) == config.LinkMemory {
			at := givesWay(t.oldest, func(id string) string { return t.owner[id] })
			delete(t.owner, t.oldest[at])
			t.oldest = slices.Delete(t.oldest, at, at+1)
		}
		t.oldest = append(t.oldest, id)
	}
	if t.owner == nil {
		t.owner = map[string]string{}
	}
	t.owner[id] = server
}

// status hands what the agent says of a task to tell, with the server whose
// question it is. That of a task which nobody has is kept for an answer that is on
// its way.
func (t *agentTasks) status(params []byte, tell func(server string)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := textIn(params, "taskId")
	switch server := t.owner[id]; {
	case server != "":
		tell(server)
	case id != "" && t.open > 0 && len(params) <= config.EarlyBytes:
		if len(t.early) == config.EarlyNews {
			t.early = append(t.early[:0], t.early[1:]...)
		}
		t.early = append(t.early, bytes.Clone(params))
	}
}

// listed is the agent's answer to tasks/list with the tasks of a server's own
// questions alone.
func (t *agentTasks) listed(server string, m wire.Message) wire.Message {
	var at [1]wire.Span
	result := m.ResultBytes()
	if result == nil {
		return m
	}
	if wire.Lookup(result, []string{memberTasks}, at[:]) != nil {
		return noTask() // it could be read in two ways
	}
	if !at[0].Ok() {
		return m
	}
	kept, all, err := wire.KeepElements(at[0].Of(result), func(v []byte) bool { return t.of(server, textIn(v, "taskId")) })
	if err == nil && all {
		return m
	}
	own, err := wire.Parse(wire.Splice(m.Raw, wire.Edit{Span: moved(at[0], m.Result.Start), New: kept}))
	if err != nil {
		return noTask()
	}
	return own
}

// noTask answers a server that asks for a task which is not its own.
func noTask() wire.Message {
	m, _ := wire.Parse(wire.ErrorLine([]byte("0"), &wire.RPCError{Code: wire.CodeInvalidParams, Message: noAgentTask})) // a line of our own
	return m
}

// askedTask decides whether a server may ask the agent about a task.
func (s *Session) askedTask(d *config.Server, method string, params []byte) (problem string) {
	declared := s.declared(memberTasks)
	switch {
	case d.Shared:
		return "the server is shared by agents with different tasks"
	case declared == nil,
		method == methodTaskList && objectIn(declared, "list") == nil,
		method == methodTaskCancel && objectIn(declared, "cancel") == nil:
		return undeclared
	case method != methodTaskList && !s.agentTasks.of(d.ID, textIn(params, "taskId")):
		return noAgentTask
	}
	return ""
}

// tasksFor is the tasks that the agent declared, as far as a server may use them.
func tasksFor(d *config.Server, declared []byte) []byte {
	var at, in [1]wire.Span
	if d.Sampling || wire.Lookup(declared, []string{"requests"}, at[:]) != nil ||
		wire.Lookup(at[0].Of(declared), []string{"sampling"}, in[:]) != nil || !in[0].Ok() {
		return declared
	}
	return wire.Splice(declared, wire.Edit{Span: at[0], New: without(at[0].Of(declared), in[0])})
}

// textIn is a text in an object; "" when it is not there.
func textIn(object []byte, name string) string {
	var at [1]wire.Span
	if wire.Lookup(object, []string{name}, at[:]) != nil {
		return ""
	}
	text, _ := wire.Unquote(at[0].Of(object)) // no text: not there
	return text
}
