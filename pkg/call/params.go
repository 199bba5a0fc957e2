package call

import (
	"encoding/json"
	"slices"

	"postern/pkg/policy"
	"postern/pkg/wire"
)

// members is what is read of a request's params: where each stands.
type members struct{ subject, meta, arguments wire.Span }

// membersOf finds what is read of params; params are an object, or of a method
// that is not known here. An error is a member that another reader could take for
// another one (R2).
func (c *Call) membersOf(params []byte) (members, error) {
	if !wire.IsObject(params) && c.method.kind == policy.MethodKind {
		return members{}, nil
	}
	var at [3]wire.Span
	names := [3]string{"_meta", c.method.member, "arguments"}
	n := 2
	switch c.method.name {
	case methodTool, methodPrompt:
		n = 3
	default:
		if c.method.member == "" {
			n = 1
		}
	}
	err := wire.Lookup(params, names[:n], at[:n])
	return members{meta: at[0], subject: at[1], arguments: at[2]}, err
}

// checkParams refuses what another reader could take for another call: a member
// that stands twice or in two spellings (R2). Nothing was looked up yet. The trace
// that the caller is in is noted, for the row.
func (c *Call) checkParams() error {
	if len(c.Params) == 0 {
		return nil
	}
	at, err := c.membersOf(c.Params)
	if err != nil {
		return err
	}
	meta, err := metaOf(c.Params, at.meta)
	if meta.trace.Ok() {
		c.trace.note(meta.trace.Of(c.Params))
	}
	return err
}

// argumentsOf is the arguments member, nil when there is none or params are
// not an object.
func argumentsOf(params []byte) []byte {
	var span [1]wire.Span
	if wire.Lookup(params, []string{"arguments"}, span[:]) != nil {
		return nil
	}
	if a := span[0].Of(params); string(a) != "null" { // how some clients write none
		return a
	}
	return nil
}

// outgoing are params that were checked as they go to the server, and where in
// them the caller's progress token stands: with the server's own name or URI,
// with our span in a trace, and without a tool's arguments that are null, which
// many servers refuse (MB-079). Every other byte stays (R4).
func (c *Call) outgoing() (params []byte, token wire.Span, err error) {
	if params = c.Params; len(params) == 0 {
		if c.method.member == "" {
			return nil, wire.Span{}, nil
		}
		params = []byte("{}")
	}
	at, err := c.membersOf(params)
	if err != nil {
		return nil, wire.Span{}, err
	}
	if !at.subject.Ok() && c.method.kind != policy.MethodKind {
		params = wire.InsertMember(params, c.method.member, wire.Quote(c.name))
		if at, err = c.membersOf(params); err != nil { // they moved
			return nil, wire.Span{}, err
		}
	}
	meta, err := metaOf(params, at.meta)
	if err != nil {
		return nil, wire.Span{}, err
	}
	var room [4]wire.Edit
	edits, err := c.renamed(room[:0], params, at)
	if err != nil {
		return nil, wire.Span{}, err
	}
	if c.trace.span != "" && meta.trace.Ok() {
		edits = append(edits, wire.Edit{Span: meta.trace, New: c.trace.follow(meta.trace.Of(params))})
	}
	if len(edits) == 0 {
		return params, meta.token, nil
	}
	slices.SortFunc(edits, func(a, b wire.Edit) int { return a.Span.Start - b.Span.Start })
	return wire.Splice(params, edits...), shifted(meta.token, edits), nil
}

// renamed puts the server's own name or URI in the place of the agent's.
func (c *Call) renamed(edits []wire.Edit, params []byte, at members) (_ []wire.Edit, err error) {
	switch c.method.name {
	case methodTool:
		edits = append(edits, wire.Edit{Span: at.subject, New: wire.Quote(c.name)})
		if string(at.arguments.Of(params)) == "null" {
			edits = append(edits, wire.Edit{Span: at.arguments, New: []byte("{}")})
		}
	case methodPrompt, methodRead, methodSubscribe, methodUnsubscribe:
		if c.name != c.Exposed {
			edits = append(edits, wire.Edit{Span: at.subject, New: wire.Quote(c.name)})
		}
	case methodComplete:
		if c.name == c.Exposed {
			break
		}
		member := [1]string{"name"}
		if c.method.kind == policy.ResourceKind {
			member[0] = "uri"
		}
		var in [1]wire.Span
		if err = wire.Lookup(at.subject.Of(params), member[:], in[:]); err == nil && in[0].Ok() {
			edits = append(edits, wire.Edit{Span: moved(in[0], at.subject.Start), New: wire.Quote(c.name)})
		}
	}
	return edits, err
}

// shifted is where a span stands after edits before it, in ascending order, were
// made. None of them touches it.
func shifted(at wire.Span, edits []wire.Edit) wire.Span {
	by := 0
	for _, e := range edits {
		if e.Span.End <= at.Start {
			by += len(e.New) - (e.Span.End - e.Span.Start)
		}
	}
	return moved(at, by)
}

// moved is a span by n bytes further on; none stays none.
func moved(at wire.Span, n int) wire.Span {
	if !at.Ok() {
		return at
	}
	return wire.Span{Start: at.Start + n, End: at.End + n}
}

// meta is where members of _meta stand in params; the zero Span is none.
type meta struct{ token, trace wire.Span }

func metaOf(params []byte, at wire.Span) (meta, error) {
	if !wire.IsObject(at.Of(params)) {
		return meta{}, nil
	}
	var in [2]wire.Span
	if err := wire.Lookup(at.Of(params), []string{"progressToken", "traceparent"}, in[:]); err != nil {
		return meta{}, err
	}
	return meta{token: moved(in[0], at.Start), trace: moved(in[1], at.Start)}, nil
}

// missingRequired lists the members that a schema requires and arguments lack.
func missingRequired(schema, arguments []byte) []string {
	var s struct {
		Required []string `json:"required"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	var missing []string
	for _, name := range s.Required {
		var span [1]wire.Span
		if len(arguments) == 0 || (wire.Lookup(arguments, []string{name}, span[:]) == nil && !span[0].Ok()) {
			missing = append(missing, name)
		}
	}
	return missing
}
