package call

import (
	"encoding/json"

	"postern/pkg/wire"
)

// checkParams refuses what another reader could take for another call: a member
// that stands twice or in two spellings (R2). Nothing was looked up yet.
func checkParams(params []byte) error {
	if len(params) == 0 {
		return nil
	}
	var spans [3]wire.Span
	if err := wire.Lookup(params, []string{"name", "arguments", "_meta"}, spans[:]); err != nil {
		return err
	}
	_, err := tokenIn(params, spans[2])
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

// upstreamParams are params that were checked with the server's own tool name,
// without arguments that are null, which many servers refuse (MB-079), and where
// in them the caller's progress token stands.
func upstreamParams(params []byte, tool string) ([]byte, wire.Span, error) {
	var spans [3]wire.Span
	if len(params) == 0 {
		params = []byte("{}")
	}
	names := []string{"name", "_meta", "arguments"}
	if err := wire.Lookup(params, names, spans[:]); err != nil {
		return nil, wire.Span{}, err
	}
	if string(spans[2].Of(params)) == "null" {
		params = wire.Splice(params, wire.Edit{Span: spans[2], New: []byte("{}")})
		if err := wire.Lookup(params, names, spans[:]); err != nil { // they moved
			return nil, wire.Span{}, err
		}
	}
	name := wire.Quote(tool)
	if spans[0].Ok() {
		params = wire.Splice(params, wire.Edit{Span: spans[0], New: name})
	} else {
		params = wire.InsertMember(params, "name", name)
	}
	if !spans[1].Ok() {
		return params, wire.Span{}, nil
	}
	if err := wire.Lookup(params, names, spans[:]); err != nil { // they moved
		return nil, wire.Span{}, err
	}
	token, err := tokenIn(params, spans[1])
	return params, token, err
}

// tokenIn is where _meta.progressToken stands in params; the zero Span is none.
func tokenIn(params []byte, meta wire.Span) (wire.Span, error) {
	if !wire.IsObject(meta.Of(params)) {
		return wire.Span{}, nil
	}
	var token [1]wire.Span
	if err := wire.Lookup(meta.Of(params), []string{"progressToken"}, token[:]); err != nil || !token[0].Ok() {
		return wire.Span{}, err
	}
	return wire.Span{Start: meta.Start + token[0].Start, End: meta.Start + token[0].End}, nil
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
