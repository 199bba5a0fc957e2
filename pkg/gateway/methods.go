package gateway

import (
	"fmt"
	"strings"

	"postern/pkg/call"
	"postern/pkg/wire"
)

// request answers what needs no waiting at once and gives the rest a goroutine of
// its own.
func (s *session) request(m wire.Message, reply func([]byte)) {
	if s.modern(m, reply) {
		return
	}
	switch m.Method {
	case "initialize":
		s.initialize(m, reply)
	case "ping":
		reply(wire.ResultLine(m.IDBytes(), []byte("{}")))
	case "logging/setLevel":
		reply(s.setLevel(m))
	case "resources/subscribe", "resources/unsubscribe":
		s.start(m, nil, reply, s.walk)
	default:
		run, known := s.runner(m.Method)
		if !known && !s.initialized() {
			reply(unknownMethod(m))
			return
		}
		s.start(m, nil, reply, run)
	}
}

// runner is what answers a method that both eras may have. One that is not known
// here may be known to a server (R73).
func (s *session) runner(method string) (run func(*request, wire.Message), known bool) {
	switch method {
	case "tools/list":
		return s.showList(toolList), true
	case "prompts/list":
		return s.showList(promptList), true
	case "resources/list":
		return s.showList(resourceList), true
	case "resources/templates/list":
		return s.showList(templateList), true
	case "tools/call":
		return s.callTool, true
	case "resources/read":
		return s.readResource, true
	case "prompts/get", "completion/complete", "tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "tasks/update":
		return s.walk, true
	}
	return s.walk, false
}

func (s *session) initialized() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision != ""
}

func unknownMethod(m wire.Message) []byte {
	return wire.ErrorLine(m.IDBytes(), &wire.RPCError{Code: wire.CodeMethodNotFound,
		Message: fmt.Sprintf("method %q is not known here", m.Method)})
}

// readResource answers resources/read: what the gateway keeps itself, else what a
// server says.
func (s *session) readResource(r *request, m wire.Message) {
	var at [1]wire.Span
	params := m.ParamsBytes()
	if wire.Lookup(params, []string{"uri"}, at[:]) == nil {
		if uri, err := wire.Unquote(at[0].Of(params)); err == nil && strings.HasPrefix(uri, resultScheme) {
			s.readKept(r, m, uri)
			return
		}
	}
	s.walk(r, m)
}

// walk sends a request down the line, which reads what it is about, and answers
// with what comes back.
func (s *session) walk(r *request, m wire.Message) {
	c := call.Request{
		Method: r.method, Modern: r.modern, Params: m.ParamsBytes(), LineBytes: len(m.Raw), Progress: s.progress(r), RowID: r.row, Ticket: r.ticket,
	}
	s.calls.Do(r.ctx, c, func(a call.Answer) { s.done(r, s.answerLine(r, a, wanted{})) })
}

// inOrder reports whether requests of a method reach a server in the order in which
// they came. Those that are answered here, or last as long as the agent likes, do not
// hold up the others.
func inOrder(method string) bool {
	switch method {
	case "tools/call", "prompts/get", "resources/read", "completion/complete", "tasks/get", "tasks/update", "tasks/cancel":
		return true
	}
	return false
}
