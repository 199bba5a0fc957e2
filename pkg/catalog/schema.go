package catalog

import (
	"errors"
	"fmt"

	"postern/pkg/wire"
)

// What a mended schema says. Arguments of a call are always an object, so it
// takes nothing away from what the server wrote.
const objectSchema = `{"type":"object"}`

// readSchema looks at the root of the input schema and plans the repair of C72.
// The rest of the schema, references and dialects included, is the client's
// business (MB-119, MB-121, MB-122).
//
//	absent                        inserted as the first member of the definition
//	null, true                    replaced: they say nothing
//	object without type           the type inserted as its first member
//	type is a list with "object"  the list replaced by it
//	anything else                 refused: it means no object, and no guess is made
func (t *Tool) readSchema(at wire.Span) error {
	if !at.Ok() {
		// The first byte of a checked object that is no space is its brace.
		open := firstByte(t.Raw) + 1
		t.mend(wire.Span{Start: open, End: open}, `"inputSchema":`+objectSchema+`,`)
		t.InputSchema = []byte(objectSchema)
		return nil
	}
	schema := at.Of(t.Raw)
	switch {
	case string(schema) == "null" || string(schema) == "true":
		t.mend(at, objectSchema)
		t.InputSchema = []byte(objectSchema)
		return nil
	case !wire.IsObject(schema):
		return errors.New("its input schema is no JSON object")
	}
	span, with, err := rootRepair(schema)
	if err != nil {
		return err
	}
	t.InputSchema = schema
	if with != "" {
		t.InputSchema = wire.Splice(schema, wire.Edit{Span: span, New: []byte(with)})
		t.mend(wire.Span{Start: at.Start + span.Start, End: at.Start + span.End}, with)
	}
	return nil
}

func (t *Tool) mend(at wire.Span, with string) {
	t.Repaired, t.repair = true, wire.Edit{Span: at, New: []byte(with)}
}

// rootRepair says what to put where in a schema that is an object; with is
// empty when nothing is to be done.
func rootRepair(schema []byte) (at wire.Span, with string, err error) {
	var found [1]wire.Span
	if err := wire.Lookup(schema, []string{"type"}, found[:]); err != nil {
		return at, "", fmt.Errorf("its input schema: %w", err)
	}
	kind := found[0].Of(schema)
	switch {
	case kind == nil:
		with = `"type":"object"`
		if !empty(schema) {
			with += ","
		}
		return wire.Span{Start: 1, End: 1}, with, nil
	case isObjectWord(kind):
		return at, "", nil
	case listsObject(kind):
		return found[0], `"object"`, nil
	}
	return at, "", errors.New("its input schema allows no object")
}

func isObjectWord(raw []byte) bool {
	s, err := wire.Unquote(raw)
	return err == nil && s == "object"
}

func listsObject(raw []byte) bool {
	found := false
	err := wire.EachElement(raw, func(v wire.Span) bool {
		found = found || isObjectWord(v.Of(raw))
		return true
	})
	return err == nil && found
}

func empty(obj []byte) bool {
	none := true
	err := wire.EachMember(obj, func([]byte, wire.Span) bool {
		none = false
		return false
	})
	return err == nil && none
}

func firstByte(raw []byte) int {
	for i, c := range raw {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return i
		}
	}
	return 0
}
