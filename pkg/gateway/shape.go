package gateway

import (
	"fmt"
	"strings"
	"time"

	"postern/pkg/call"
	"postern/pkg/config"
	"postern/pkg/wire"
)

// wanted says how an agent asked for a result.
type wanted struct {
	through bool   // by call_tool: nobody waits for structured content
	get     string // a gjson path into the result; "" = all of it
	whole   bool   // never cut
}

// shape is a result as the agent gets it; nil means as it is. It finds the value
// of get, says as text what is structured only, and cuts what is too long. A
// task or a question is not touched (R69), nor is the result of a method that
// fills no context.
func (s *session) shape(r *request, raw []byte, a call.Answer, w wanted) []byte {
	p, ok := partsOf(r.method, raw, a.Parts)
	if !ok || p.Partial || s.o.Whole && w.get == "" {
		return nil
	}
	stored, changed := raw, []byte(nil)
	if w.get != "" {
		changed = getResult(raw, p, w.get)
	} else {
		changed = twin(raw, p)
	}
	if changed != nil {
		raw = changed
		p, _ = call.ReadResult(raw)
	}
	if w.whole || len(raw) <= config.MinResultBytes {
		return changed
	}
	view := s.calls.View()
	limit := s.exposure(view).MaxResultBytes
	if limit == 0 || len(raw) <= limit {
		return changed
	}
	whole := p.Failed || !w.through && a.Tool != nil && a.Tool.Def.OutputSchema != nil
	c := planCut(raw, p, limit, whole)
	if c == nil {
		return changed
	}
	id, err := s.g.results.put(s.owner(), stored)
	if err != nil {
		return changed // without room for the whole nothing is cut
	}
	uri := resultScheme + id
	return c.result(uri, c.note(uri, w.get, s.offers(view, s.own.readResult)))
}

// partsOf is the parts of a result that are looked at, known those of a tool's; ok
// is false for a method whose results are left alone.
func partsOf(method string, raw []byte, known call.ResultParts) (p call.ResultParts, ok bool) {
	switch method {
	case "tools/call":
		return known, true
	case "tasks/result":
		p, problem := call.ReadResult(raw)
		return p, problem == ""
	case "prompts/get", "resources/read":
		var at [1]wire.Span
		err := wire.Lookup(raw, []string{"resultType"}, at[:])
		return p, err == nil && (!at[0].Ok() || string(at[0].Of(raw)) == typeComplete)
	}
	return p, false
}

// note says what is missing and where it is. reader is whether the agent has
// the tool that reads it.
func (c *cutting) note(uri, get string, reader bool) string {
	var missing []string
	if c.shown < c.total {
		missing = append(missing, fmt.Sprintf("bytes %d to %d of its text", c.shown, c.total))
	}
	if c.structured > 0 {
		missing = append(missing, fmt.Sprintf("its structuredContent (%d bytes)", c.structured))
	}
	note := fmt.Sprintf("[postern: this result was too long; missing here: %s. The whole is kept for %d days as %s",
		strings.Join(missing, " and "), config.ResultLife/(24*time.Hour), uri)
	if reader {
		from := fmt.Sprintf(`{"id":"%s","offset":%d`, strings.TrimPrefix(uri, resultScheme), c.shown)
		if get != "" {
			from += `,"get":` + string(wire.Quote(get))
		}
		note += "; read on with " + readResultName + " " + from + "}"
	}
	return note + "]"
}

// twin adds a text block with the JSON of a structured content that has no
// content beside it, since many clients show text only; nil where there is
// nothing to add.
func twin(raw []byte, p call.ResultParts) []byte {
	structured := p.Structured.Of(raw)
	if len(structured) == 0 || string(structured) == "null" || hasElements(p.Content.Of(raw)) {
		return nil
	}
	list := append(append([]byte{'['}, textBlock(string(structured))...), ']')
	var at [1]wire.Span
	if wire.Lookup(raw, []string{"content"}, at[:]) == nil && at[0].Ok() { // empty, or null
		return wire.Splice(raw, wire.Edit{Span: at[0], New: list})
	}
	return wire.InsertMember(raw, "content", list)
}

func hasElements(list []byte) bool {
	some := false
	_ = wire.EachElement(list, func(wire.Span) bool { // absent, or seen by ReadResult
		some = true
		return false
	})
	return some
}

// textResult is a tool's result of text blocks.
func textResult(failed bool, texts ...string) []byte {
	out := []byte(`{"content":[`)
	for i, text := range texts {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, textBlock(text)...)
	}
	if failed {
		return append(out, `],"isError":true}`...)
	}
	return append(out, `]}`...)
}
