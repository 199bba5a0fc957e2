package upstream

import (
	"cmp"
	"slices"

	"postern/pkg/wire"
)

// params makes a call's params as they go to the server: with our token for the
// caller's, and a modern server's reserved members in _meta. Every other byte
// stays (R4).
func (c *Client) params(call Call, digits []byte) ([]byte, error) {
	params := call.Params
	if c.meta == nil && !call.Token.Ok() {
		return params, nil
	}
	if params == nil {
		return slices.Concat([]byte(`{"_meta":{`), c.meta, []byte(`}}`)), nil
	}
	if c.meta == nil {
		return wire.Splice(params, wire.Edit{Span: call.Token, New: digits}), nil
	}
	edits, err := metaEdits(params, c.meta)
	if err != nil {
		return nil, c.badParams(call, err.Error())
	}
	if call.Token.Ok() {
		edits = append(edits, wire.Edit{Span: call.Token, New: digits})
	}
	slices.SortStableFunc(edits, func(a, b wire.Edit) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	return wire.Splice(params, edits...), nil
}

func (c *Client) badParams(call Call, why string) *Failure {
	return &Failure{Word: Protocol, Server: c.o.Server, Phase: call.Method, Detail: "the params of the request: " + why}
}

// metaEdits puts the members of meta into params._meta, which is made when it is
// not there. A member of those names that is there is the agent's word about
// itself towards us, and gives way to ours.
func metaEdits(params, meta []byte) ([]wire.Edit, error) {
	var at [1]wire.Span
	if err := wire.Lookup(params, []string{"_meta"}, at[:]); err != nil {
		return nil, err
	}
	if !at[0].Ok() {
		whole := slices.Concat([]byte(`"_meta":{`), meta, []byte(`}`))
		return []wire.Edit{insertFirst(params, 0, whole)}, nil
	}
	old, base := at[0].Of(params), at[0].Start
	if !wire.IsObject(old) {
		return nil, &wire.SyntaxError{Offset: base, Reason: "_meta is not an object"}
	}
	var theirs [3]wire.Span
	names := []string{metaVersion, metaClientInfo, metaCapabilities}
	if err := wire.Lookup(old, names, theirs[:]); err != nil {
		return nil, err
	}
	var ours [3]wire.Span
	whole := slices.Concat([]byte{'{'}, meta, []byte{'}'})
	if err := wire.Lookup(whole, names, ours[:]); err != nil {
		return nil, err
	}
	var missing []byte
	var edits []wire.Edit
	for i, span := range theirs {
		value := ours[i].Of(whole)
		if span.Ok() {
			edits = append(edits, wire.Edit{Span: wire.Span{Start: base + span.Start, End: base + span.End}, New: value})
			continue
		}
		if missing != nil {
			missing = append(missing, ',')
		}
		missing = append(append(append(missing, wire.Quote(names[i])...), ':'), value...)
	}
	if missing != nil {
		edits = append(edits, insertFirst(params, base, missing))
	}
	return edits, nil
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
