package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"postern/pkg/call"
	"postern/pkg/policy"
	"postern/pkg/wire"
)

// ownTool is one of the gateway's own tools with the definition that agents
// see. All of them together have at most 1,500 bytes (F10).
type ownTool struct {
	call.Own
	definition string
}

// ownTools are those of one session.
type ownTools struct {
	search, describe, call, readResult *ownTool
}

// readResultName is the exposed name of the tool that reads kept results.
const readResultName = policy.Gateway + "__read_result"

func newOwnTools(s *session) *ownTools {
	make := func(name, exposed, rest string, run func(context.Context, *call.View, []byte) []byte) *ownTool {
		return &ownTool{call.Own{Name: name, Exposed: exposed, Run: run}, `{"name":"` + exposed + `",` + rest + `}`}
	}
	return &ownTools{
		search: make("search_tools", "search_tools", `"description":"Find tools by words; without query, list them. Gives name, tier, input schema; detail full: all of the definition.",`+
			`"inputSchema":{"type":"object","properties":{"query":{"type":"string"},"server":{"type":"string"},"limit":{"type":"integer"},"detail":{"enum":["full"]}}},`+
			`"annotations":{"readOnlyHint":true}`, s.searchTools),
		describe: make("describe_tool", "describe_tool", `"description":"The whole definition of one tool.",`+
			`"inputSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]},`+
			`"annotations":{"readOnlyHint":true}`, s.describeTool),
		call: make("call_tool", "call_tool", `"description":"Call a tool that search_tools found. get: gjson path into the result, e.g. structuredContent.items.0",`+
			`"inputSchema":{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object"},"get":{"type":"string"}},"required":["name"]}`, nil),
		readResult: make("read_result", readResultName, `"description":"Read on in a result that was cut: its text, or what get finds in it. offset and limit count bytes.",`+
			`"inputSchema":{"type":"object","properties":{"id":{"type":"string"},"offset":{"type":"integer"},"limit":{"type":"integer"},"get":{"type":"string"}},"required":["id"]},`+
			`"annotations":{"readOnlyHint":true}`, s.readResult),
	}
}

// find is the own tool of an exposed name; nil when there is none. No server's
// tool can have such a name: exposed names of theirs have a server's id in front.
func (o *ownTools) find(exposed string) *ownTool {
	for _, t := range []*ownTool{o.search, o.describe, o.call, o.readResult} {
		if t.Exposed == exposed {
			return t
		}
	}
	return nil
}

// arguments reads the arguments of an own tool: spans of the values of names in
// an object that has no other members. A problem is for the model to read.
func arguments(tool string, raw []byte, names ...string) (at []wire.Span, problem string) {
	at = make([]wire.Span, len(names))
	if len(raw) == 0 || string(raw) == "null" {
		return at, ""
	}
	if !wire.IsObject(raw) {
		return nil, tool + " needs arguments that are an object"
	}
	if err := wire.Lookup(raw, names, at); err != nil {
		return nil, err.Error()
	}
	for i := range at {
		if string(at[i].Of(raw)) == "null" {
			at[i] = wire.Span{}
		}
	}
	err := wire.EachMember(raw, func(key []byte, _ wire.Span) bool {
		name, err := wire.Unquote(key)
		if err != nil || !slices.Contains(names, name) {
			problem = fmt.Sprintf("%s has no argument %.100q; it has %s", tool, name, strings.Join(names, ", "))
		}
		return problem == ""
	})
	if err != nil {
		return nil, err.Error()
	}
	return at, problem
}

// stringArgument is "" for one that was not given.
func stringArgument(raw []byte, at wire.Span, name string) (value, problem string) {
	if !at.Ok() {
		return "", ""
	}
	value, err := wire.Unquote(at.Of(raw))
	if err != nil {
		return "", name + " is a string"
	}
	return value, ""
}
