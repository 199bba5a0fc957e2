package gateway

import (
	"postern/pkg/call"
	"postern/pkg/wire"
)

// callTool sends one tools/call down the line and answers with what came back.
func (s *session) callTool(r *request, m wire.Message) {
	params := m.ParamsBytes()
	name, problem := toolName(params)
	if problem != "" {
		s.done(r, wire.ErrorLine(r.id, &wire.RPCError{Code: wire.CodeInvalidParams, Message: problem}))
		return
	}
	s.calls.Do(r.ctx, call.Request{
		Exposed: name, Params: params, LineBytes: len(m.Raw), Progress: s.progress(r),
	}, func(a call.Answer) { s.done(r, answerLine(r.id, a)) })
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
			_, open := s.open[r.key]
			s.mu.Unlock()
			if open {
				s.out.SendDroppable(wire.NotificationLine("notifications/progress", params))
			}
		})
	}
}

// answerLine is the answer under the agent's id; nil for a cancelled call.
func answerLine(id []byte, a call.Answer) []byte {
	switch {
	case a.Refusal != nil && a.Refusal.Word == call.Cancelled:
		return nil
	case a.Refusal != nil && a.Refusal.AsResult():
		return wire.ResultLine(id, a.Refusal.ToolResult())
	case a.Refusal != nil:
		return wire.ErrorLine(id, a.Refusal.RPC())
	case a.Result != nil:
		return wire.ResultLine(id, a.Result)
	case a.Error != nil:
		return wire.ErrorLine(id, a.Error)
	default:
		return a.Reply.WithID(id)
	}
}
