package upstream

import (
	"bytes"
	"cmp"
	"slices"

	"postern/pkg/wire"
)

// params makes a call's params as they go to the server: with our token for the
// caller's; towards a modern server with our reserved members in _meta, towards a
// legacy one without what only a modern agent says. Every other byte stays (R4).
func (c *Client) params(call Call, digits []byte) ([]byte, error) {
	if c.meta != nil {
		return c.modernParams(call, digits)
	}
	params := call.Params
	if !call.Modern || params == nil {
		if !call.Token.Ok() {
			return params, nil
		}
		return wire.Splice(params, wire.Edit{Span: call.Token, New: digits}), nil
	}
	edits, err := legacyEdits(params)
	if err != nil {
		return nil, c.badParams(call, err.Error())
	}
	return spliced(params, edits, call.Token, digits), nil
}

func (c *Client) modernParams(call Call, digits []byte) ([]byte, error) {
	ours := *c.meta
	if call.Capabilities != nil {
		ours.capabilities = orEmpty(call.Capabilities)
	}
	if call.LogLevel != "" {
		ours.level = wire.Quote(call.LogLevel)
	}
	if call.Params == nil {
		return slices.Concat([]byte(`{"_meta":{`), ours.members([4]wire.Span{}), []byte(`}}`)), nil
	}
	edits, err := ours.edits(call.Params)
	if err != nil {
		return nil, c.badParams(call, err.Error())
	}
	return spliced(call.Params, edits, call.Token, digits), nil
}

// spliced makes the edits and puts our token in place of the caller's.
func spliced(params []byte, edits []wire.Edit, token wire.Span, digits []byte) []byte {
	if token.Ok() {
		edits = append(edits, wire.Edit{Span: token, New: digits})
	}
	slices.SortStableFunc(edits, func(a, b wire.Edit) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	return wire.Splice(params, edits...)
}

func (c *Client) badParams(call Call, why string) *Failure {
	return &Failure{Word: Protocol, Server: c.o.Server, Phase: call.Method, Detail: "the params of the request: " + why}
}

// reserved is what a modern request says of its client in _meta; nil is left out.
type reserved struct{ version, info, capabilities, level []byte }

func metaNames() []string {
	return []string{metaVersion, metaClientInfo, metaCapabilities, metaLogLevel}
}

func (r *reserved) values() [4][]byte {
	return [4][]byte{r.version, r.info, r.capabilities, r.level}
}

// members are those that do not stand anywhere yet.
func (r *reserved) members(standing [4]wire.Span) []byte {
	var out []byte
	for i, value := range r.values() {
		if value == nil || standing[i].Ok() {
			continue
		}
		if out != nil {
			out = append(out, ',')
		}
		out = append(append(append(out, wire.Quote(metaNames()[i])...), ':'), value...)
	}
	return out
}

// edits puts the members into params._meta, which is made when it is not there.
// One of those names that is there is the agent's word about itself towards us,
// and gives way to ours, or to none.
func (r *reserved) edits(params []byte) ([]wire.Edit, error) {
	meta, base, theirs, err := lookupMeta(params)
	if err != nil {
		return nil, err
	}
	missing := r.members(theirs)
	if meta == nil {
		whole := slices.Concat([]byte(`"_meta":{`), missing, []byte(`}`))
		return []wire.Edit{insertFirst(params, 0, whole)}, nil
	}
	var edits []wire.Edit
	for i, value := range r.values() {
		switch {
		case !theirs[i].Ok() || same(theirs[i].Of(meta), value):
		case value != nil:
			edits = append(edits, wire.Edit{Span: shift(theirs[i], base), New: value})
		case missing == nil: // only the level can be theirs alone
			edits = append(edits, shifted(wire.Removals(meta, theirs[i]), base)...)
		default: // its place is taken, so that no comma is to be thought of
			whole := wire.Member(meta, theirs[i])
			edits = append(edits, wire.Edit{Span: shift(whole, base), New: missing})
			missing = nil
		}
	}
	if missing != nil {
		edits = append(edits, insertFirst(params, base, missing))
	}
	return edits, nil
}

// same is whether two values are the same bytes, or the same string.
func same(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	s, err := wire.Unquote(a)
	t, berr := wire.Unquote(b)
	return err == nil && berr == nil && s == t
}

// legacyEdits takes out of params what a legacy server has no use for and what a
// modern agent may only have meant for us: the reserved members of _meta, and the
// answers of a round that no legacy server began.
func legacyEdits(params []byte) ([]wire.Edit, error) {
	meta, base, theirs, err := lookupMeta(params)
	if err != nil {
		return nil, err
	}
	var rounds [2]wire.Span
	if err := wire.Lookup(params, []string{"inputResponses", "requestState"}, rounds[:]); err != nil {
		return nil, err
	}
	edits := wire.Removals(params, ascending(rounds[:])...)
	return append(edits, shifted(wire.Removals(meta, ascending(theirs[:])...), base)...), nil
}

func ascending(spans []wire.Span) []wire.Span {
	slices.SortFunc(spans, func(a, b wire.Span) int { return cmp.Compare(a.Start, b.Start) })
	return spans
}

// lookupMeta finds params._meta, where it begins, and the reserved members in
// it. meta is nil when there is none.
func lookupMeta(params []byte) (meta []byte, base int, theirs [4]wire.Span, err error) {
	var at [1]wire.Span
	if err := wire.Lookup(params, []string{"_meta"}, at[:]); err != nil {
		return nil, 0, theirs, err
	}
	if !at[0].Ok() {
		return nil, 0, theirs, nil
	}
	meta, base = at[0].Of(params), at[0].Start
	if !wire.IsObject(meta) {
		return nil, 0, theirs, &wire.SyntaxError{Offset: base, Reason: "_meta is not an object"}
	}
	err = wire.Lookup(meta, metaNames(), theirs[:])
	return meta, base, theirs, err
}

func shift(s wire.Span, by int) wire.Span { return wire.Span{Start: s.Start + by, End: s.End + by} }

func shifted(edits []wire.Edit, by int) []wire.Edit {
	for i := range edits {
		edits[i].Span = shift(edits[i].Span, by)
	}
	return edits
}

// insertFirst puts members in front of those of the object at from.
func insertFirst(b []byte, from int, members []byte) wire.Edit {
	open := from
	for b[open] != '{' {
		open++
	}
	next := open + 1
	for next < len(b) && (b[next] == ' ' || b[next] == '\t' || b[next] == '\n' || b[next] == '\r') {
		next++
	}
	if next < len(b) && b[next] != '}' {
		members = append(slices.Clip(members), ',')
	}
	return wire.Edit{Span: wire.Span{Start: open + 1, End: open + 1}, New: members}
}
