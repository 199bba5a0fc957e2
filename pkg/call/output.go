package call

import (
	"fmt"
	"strings"

	"postern/pkg/catalog"
	"postern/pkg/config"
	"postern/pkg/wire"
)

// checkOutput tells the operator, once a tool, of a result that lacks what the
// tool's outputSchema requires. It is handed on all the same: what it says may be
// of use, and a schema that was forgotten is the server's mistake and not the
// caller's (MB-123). Of errors nothing is required.
func (c *Call) checkOutput(result []byte) {
	schema, parts := c.tool.Def.OutputSchema, c.answer.Parts
	if !wire.IsObject(schema) || parts.Failed || parts.Partial {
		return
	}
	what := "structuredContent"
	if parts.Structured.Ok() {
		missing := lacking(parts.Structured.Of(result), schema)
		if len(missing) == 0 {
			return
		}
		what += "." + strings.Join(missing, ", ")
	}
	name := c.server.Declared.ID + "/" + c.name
	c.session.host.remark(name, fmt.Sprintf("%s answers without %s, which its outputSchema requires; its results are handed on as they are",
		name, catalog.Shorten(what, config.WarnedNameChars)))
}

// lacking is the first members that a schema requires and an object does not
// have; of what is no object none are required.
func lacking(object, schema []byte) []string {
	var at [1]wire.Span
	if !wire.IsObject(object) || wire.Lookup(schema, []string{"required"}, at[:]) != nil {
		return nil
	}
	var names []string
	list := at[0].Of(schema)
	_ = wire.EachElement(list, func(v wire.Span) bool { // no list: nothing is required
		if name, err := wire.Unquote(v.Of(list)); err == nil {
			names = append(names, name)
		}
		return len(names) < config.WarnedMembers
	})
	if len(names) == 0 {
		return nil
	}
	spans := make([]wire.Span, len(names))
	if wire.Lookup(object, names, spans) != nil {
		return nil // one is there twice, or in two spellings: who reads it decides
	}
	missing := names[:0]
	for i, v := range spans {
		if !v.Ok() {
			missing = append(missing, names[i])
		}
	}
	return missing
}

// remark tells the operator something about a tool, once, of at most
// config.WarnedTools in an hour.
func (h *Host) remark(tool, text string) { h.warnAmong(&h.remarked, config.WarnedTools, tool, text) }
