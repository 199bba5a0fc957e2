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
		s.start(m, nil, reply, s.carry("uri"))
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
	case "prompts/get":
		return s.carry("name"), true
	case "resources/read":
		return s.readResource, true
	case "completion/complete":
		return s.complete, true
	case "tasks/get", "tasks/result", "tasks/cancel", "tasks/update":
		return s.carry("taskId"), true
	}
	return func(r *request, m wire.Message) { s.walk(r, m, "") }, method == "tasks/list"
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

// carry sends a request down the line that says what it is about in one member of
// its params.
func (s *session) carry(member string) func(*request, wire.Message) {
	return func(r *request, m wire.Message) {
		if subject, ok := s.subject(r, m.ParamsBytes(), member); ok {
			s.walk(r, m, subject)
		}
	}
}

// readResource answers resources/read: what the gateway keeps itself, else what a server
// says.
func (s *session) readResource(r *request, m wire.Message) {
	uri, ok := s.subject(r, m.ParamsBytes(), "uri")
	switch {
	case !ok:
	case strings.HasPrefix(uri, resultScheme):
		s.readKept(r, m, uri)
	default:
		s.walk(r, m, uri)
	}
}

// complete sends completion/complete down the line: it is about the prompt or the
// template that params.ref names.
func (s *session) complete(r *request, m wire.Message) {
	params := m.ParamsBytes()
	var ref, at [3]wire.Span
	err := wire.Lookup(params, []string{"ref", "argument", "_meta"}, ref[:])
	if err == nil {
		err = wire.Lookup(ref[0].Of(params), []string{"type", "name", "uri"}, at[:])
	}
	if err != nil {
		s.refuse(r, "completion/complete needs params.ref, an object")
		return
	}
	of := at[1]
	if string(at[0].Of(ref[0].Of(params))) == `"ref/resource"` {
		of = at[2]
	}
	name, err := wire.Unquote(of.Of(ref[0].Of(params)))
	if err != nil || name == "" {
		s.refuse(r, "completion/complete needs params.ref with the name of a prompt or the uri of a resource template")
		return
	}
	s.walk(r, m, name)
}

// subject reads the member of params that says what a request is about. Members
// that could be read in two ways are refused (R2). It answers the request itself
// when it returns false.
func (s *session) subject(r *request, params []byte, member string) (string, bool) {
	var at [2]wire.Span
	if !wire.IsObject(params) {
		s.refuse(r, r.method+" needs params, an object")
		return "", false
	}
	if err := wire.Lookup(params, []string{member, "_meta"}, at[:]); err != nil {
		s.refuse(r, err.Error())
		return "", false
	}
	subject, err := wire.Unquote(at[0].Of(params))
	if err != nil || subject == "" {
		s.refuse(r, r.method+" needs params."+member+", a string")
		return "", false
	}
	return subject, true
}

func (s *session) refuse(r *request, problem string) {
	s.done(r, wire.ErrorLine(r.id, &wire.RPCError{Code: wire.CodeInvalidParams, Message: problem}))
}

// walk sends a request down the line and answers with what comes back.
func (s *session) walk(r *request, m wire.Message, subject string) {
	c := call.Request{
		Method: r.method, Modern: r.modern, Exposed: subject,
		Params: m.ParamsBytes(), LineBytes: len(m.Raw), Progress: s.progress(r),
	}
	s.calls.Do(r.ctx, c, func(a call.Answer) { s.done(r, s.answerLine(r, a, wanted{})) })
}
