package gateway

import (
	"context"
	"slices"

	"postern/pkg/call"
	"postern/pkg/wire"
)

// through is a call of call_tool: it becomes the call of the tool it names, and
// from there on nothing tells it from a direct one (R63). Where it names none
// that can be called so, it is answered by itself.
func (s *session) through(r *request, params []byte, size int) {
	o := *s.own.call
	name, inner, w, problem := innerCall(params)
	if problem == "" && s.calls.View().RefuseOwn(&o.Own) == nil {
		s.dispatch(r, name, inner, size, w)
		return
	}
	if problem == "" {
		problem = "what is permitted has changed just now; call again" // unless the line refuses, as it did a moment ago
	}
	o.Run = func(context.Context, *call.View, []byte) []byte { return textResult(true, problem) }
	s.callOwn(r, &o, params, size, wanted{})
}

// innerCall makes of the params of call_tool those of a direct call: name and
// arguments change, all else stays. The problem is for the model to read.
func innerCall(params []byte) (name string, inner []byte, w wanted, problem string) {
	w.through = true
	var outer [2]wire.Span
	if err := wire.Lookup(params, []string{"name", "arguments"}, outer[:]); err != nil {
		return "", nil, w, err.Error()
	}
	raw := outer[1].Of(params)
	at, problem := arguments("call_tool", raw, "name", "arguments", "get")
	if problem != "" {
		return "", nil, w, problem
	}
	name, problem = stringArgument(raw, at[0], "name")
	if problem == "" && name == "" {
		problem = "call_tool needs name, the name of a tool"
	}
	if problem == "" && name == "call_tool" {
		problem = "call_tool does not call itself"
	}
	own := at[1].Of(raw)
	if problem == "" && own != nil && !wire.IsObject(own) {
		problem = "arguments is an object, not text that holds one"
	}
	if problem == "" {
		w.get, problem = stringArgument(raw, at[2], "get")
	}
	if problem == "" {
		if err := checkPath(w.get); err != nil {
			problem = err.Error()
		}
	}
	if problem != "" {
		return "", nil, w, problem
	}
	if own == nil {
		own = []byte("{}")
	}
	edits := []wire.Edit{{Span: outer[0], New: at[0].Of(raw)}, {Span: outer[1], New: own}}
	slices.SortFunc(edits, func(a, b wire.Edit) int { return a.Span.Start - b.Span.Start })
	return name, wire.Splice(params, edits...), w, ""
}
