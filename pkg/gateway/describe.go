package gateway

import (
	"context"

	"postern/pkg/call"
)

// describeTool shows the whole definition of one tool, from catalogs. What a
// call of the tool would be refused with before anything is started, this is
// refused with too (R54).
func (s *session) describeTool(_ context.Context, v *call.View, raw []byte) []byte {
	at, problem := arguments("describe_tool", raw, "name")
	var name string
	if problem == "" {
		name, problem = stringArgument(raw, at[0], "name")
	}
	if problem == "" && name == "" {
		problem = "describe_tool needs name, the name of a tool"
	}
	if problem != "" {
		return textResult(true, problem)
	}
	if own := s.own.find(name); own != nil && v.Offers(&own.Own) {
		return textResult(false, own.definition)
	}
	t, refusal := v.Look(name)
	if refusal != nil {
		return refusal.ToolResult()
	}
	if t.Shadowed {
		return textResult(true, "the tool is not exposed: another has its name")
	}
	return textResult(false, string(describe(t, true, true)))
}
