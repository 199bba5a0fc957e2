package gateway

import (
	"postern/pkg/call"
	"postern/pkg/wire"
)

// callTool sends one tools/call down the line and answers with what came back.
func (s *session) callTool(r *request, m wire.Message) {
	params := m.ParamsBytes()
	name, problem := toolName(params)
	switch {
	case problem != "":
		s.done(r, wire.ErrorLine(r.id, &wire.RPCError{Code: wire.CodeInvalidParams, Message: problem}))
	case s.o.Only == "" && name == s.own.call.Exposed:
		s.through(r, params, len(m.Raw))
	default:
		s.dispatch(r, name, params, len(m.Raw), wanted{})
	}
}

// dispatch sends a call to whom its name belongs. size is the length of the
// request as it came.
func (s *session) dispatch(r *request, name string, params []byte, size int, w wanted) {
	if o := s.own.find(name); o != nil && s.o.Only == "" {
		s.callOwn(r, o, params, size, w)
		return
	}
	c := call.Request{Exposed: name, Params: params, LineBytes: size, Progress: s.progress(r), Modern: r.modern, RowID: r.row, Ticket: r.ticket}
	if w.through {
		c.Via = call.ViaCallTool
	}
	s.calls.Do(r.ctx, c, func(a call.Answer) { s.done(r, s.answerLine(r, a, w)) })
}

// callOwn has one of the gateway's own tools answer.
func (s *session) callOwn(r *request, o *ownTool, params []byte, size int, w wanted) {
	w.through, w.whole = true, o.Name == s.own.readResult.Name
	s.calls.DoOwn(r.ctx, &o.Own, call.Request{Params: params, LineBytes: size, Modern: r.modern, RowID: r.row},
		func(a call.Answer) { s.done(r, s.answerLine(r, a, w)) })
}

// toolName reads params.name; duplicate or case-variant members are refused,
// for the server might read another one than the policy did (R2).
func toolName(params []byte) (name, problem string) {
	var spans [3]wire.Span
	if !wire.IsObject(params) {
		return "", "tools/call needs params, an object"
	}
	if err := wire.Lookup(params, []string{"name", "arguments", "_meta"}, spans[:]); err != nil {
		return "", err.Error()
	}
	name, err := wire.Unquote(spans[0].Of(params))
	if err != nil || name == "" {
		return "", "tools/call needs params.name, a string"
	}
	// go-sdk writes null where there are no arguments; servers see it as it is.
	if a := spans[1].Of(params); a != nil && !wire.IsObject(a) && string(a) != "null" {
		return "", "params.arguments is not an object"
	}
	return name, ""
}

// progress passes a server's progress on as long as the request is open.
func (s *session) progress(r *request) func([]byte) {
	return func(params []byte) {
		s.guard(func() { // the server's connection calls this, and is not to end with the session
			s.mu.Lock()
			open := s.open[r.key] == r
			s.mu.Unlock()
			if open {
				s.out.SendDroppable(wire.NotificationLine("notifications/progress", params))
			}
		})
	}
}

// answerLine is the answer under the agent's id; nil for a cancelled call.
func (s *session) answerLine(r *request, a call.Answer, w wanted) []byte {
	id := r.id
	switch {
	case a.Refusal != nil && a.Refusal.Word == call.Cancelled:
		return nil
	case a.Refusal != nil && a.Refusal.AsResult():
		return wire.ResultLine(id, a.Refusal.ToolResult())
	case a.Refusal != nil:
		return wire.ErrorLine(id, a.Refusal.RPC())
	case a.Error != nil:
		return inPlace(a.Reply, id, a.Reply.Error, wire.InsertMember(a.Reply.ErrorBytes(), "data", a.Error.Data))
	}
	result := a.Result
	if result == nil {
		if result = a.Reply.ResultBytes(); result == nil {
			return a.Reply.WithID(id)
		}
	}
	if shaped := s.shape(r, result, a, w); shaped != nil {
		result = shaped
	} else if a.Result == nil {
		return a.Reply.WithID(id)
	}
	if a.Reply == nil || !a.Reply.Result.Ok() {
		return wire.ResultLine(id, result)
	}
	return inPlace(a.Reply, id, a.Reply.Result, result)
}

// inPlace is a server's answer with another id and another value at one place,
// every other byte kept (R4).
func inPlace(m *wire.Message, id []byte, at wire.Span, value []byte) []byte {
	edits := []wire.Edit{{Span: m.ID, New: id}, {Span: at, New: value}}
	if m.ID.Start > at.Start {
		edits[0], edits[1] = edits[1], edits[0]
	}
	return wire.Splice(m.Raw, edits...)
}
