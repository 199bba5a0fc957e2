package call

import (
	"fmt"

	"postern/pkg/wire"
)

// ResultParts says where in a tool's result the members stand that the gateway
// reads. The zero value has none of them.
type ResultParts struct {
	Content, Structured wire.Span
	Failed              bool // isError is true
	// Partial is a result that is not the tool's answer yet, but a task or a
	// question: nobody judges or changes it (R69).
	Partial bool
}

// ReadResult finds the members of a tool's result. A non-empty problem says why
// no client could read the result (R69). What the members hold beyond their
// type is not judged, and null counts as absent (MB-081).
func ReadResult(raw []byte) (p ResultParts, problem string) {
	var at [5]wire.Span
	if !wire.IsObject(raw) {
		return p, "it is no object"
	}
	if err := wire.Lookup(raw, []string{"content", "structuredContent", "isError", "resultType", "task"}, at[:]); err != nil {
		return p, err.Error()
	}
	flag := string(given(raw, at[2]).Of(raw))
	p = ResultParts{Content: given(raw, at[0]), Structured: at[1], Failed: flag == "true"}
	if kind := given(raw, at[3]); at[4].Ok() || kind.Ok() && string(kind.Of(raw)) != `"complete"` {
		p.Partial = true
		return p, ""
	}
	if flag != "" && flag != "true" && flag != "false" {
		return p, "isError is not a boolean"
	}
	if !p.Content.Ok() {
		if !p.Structured.Ok() {
			return p, "it has neither content nor structuredContent"
		}
		return p, ""
	}
	return p, contentProblem(p.Content.Of(raw))
}

func contentProblem(content []byte) (problem string) {
	n := 0
	err := wire.EachElement(content, func(v wire.Span) bool {
		if !wire.IsObject(v.Of(content)) {
			problem = fmt.Sprintf("content[%d] is no object", n)
		}
		n++
		return problem == ""
	})
	if err != nil {
		return "content is no list"
	}
	return problem
}

// given is the zero Span for null.
func given(raw []byte, at wire.Span) wire.Span {
	if string(at.Of(raw)) == "null" {
		return wire.Span{}
	}
	return at
}

// malformed is a result that no client could read. The call was made.
func malformed(s *Server, tool, problem string) *Refusal {
	id := s.Declared.ID
	return &Refusal{Step: StepDispatch, Word: UpstreamError, Reason: "malformed_result", Server: id, Tool: tool,
		Message: fmt.Sprintf("server %s answered a call of %s with a malformed result: %s; the call was made and may have had its effect", id, tool, problem)}
}
