package gateway

import (
	"slices"

	"postern/pkg/call"
	"postern/pkg/config"
	"postern/pkg/wire"
)

// cutting is a result that is too long, and what of it goes to the agent.
type cutting struct {
	raw          []byte
	parts        call.ResultParts
	prose        prose
	kept         [][]byte // blocks of prose
	shown, total int      // bytes of text
	structured   int      // bytes of structured content that are left out; 0 = none
}

// planCut decides what of a result is left out so that its text and its
// structured content take about limit bytes; nil means nothing (R69). Blocks that
// are no text stay whatever they take. whole keeps structured content as it is.
func planCut(raw []byte, p call.ResultParts, limit int, whole bool) *cutting {
	text := proseOf(raw, p)
	list := text.blocks(raw)
	texts := 0
	for _, b := range list {
		if b.text.Ok() {
			texts += len(b.raw)
		}
	}
	structured := p.Structured.End - p.Structured.Start
	if texts+structured <= limit {
		return nil
	}
	c := &cutting{raw: raw, parts: p, prose: text}
	left := limit - config.ResultNoteBytes
	if whole || structured*2 <= limit {
		left -= structured
	} else {
		c.structured = structured
	}
	left = max(left, config.KeptTextBytes)
	if c.structured == 0 && texts <= left {
		return nil
	}
	c.take(list, left)
	if c.structured == 0 && c.shown == c.total {
		return nil
	}
	return c
}

// take keeps text until room is used up, and cuts the block in which that is.
func (c *cutting) take(list []block, room int) {
	full, first := false, true
	for _, b := range list {
		if !b.text.Ok() {
			c.kept = append(c.kept, b.raw)
			continue
		}
		text := b.text.Of(b.raw)
		size := decodedSize(text)
		if !first {
			c.total++ // the newline of resultText
		}
		start := c.total
		c.total += size
		first = false
		switch {
		case full:
		case len(b.raw) <= room:
			c.kept = append(c.kept, b.raw)
			room -= len(b.raw) + 1
			c.shown = c.total
		default:
			full = true
			taken, decoded := measure(text, room-(len(b.raw)-len(text)+2))
			if taken > 0 {
				rest := wire.Span{Start: b.text.Start + 1 + taken, End: b.text.End - 1}
				c.kept = append(c.kept, wire.Splice(b.raw, wire.Edit{Span: rest}))
				c.shown = start + decoded
			}
		}
	}
}

// result is the cut result with a note as the last block of its text. uri is
// where the whole is.
func (c *cutting) result(uri, note string) []byte {
	content := []byte{'['}
	for _, b := range c.kept {
		content = append(append(content, b...), ',')
	}
	content = append(append(content, c.prose.note(uri, note)...), ']')
	edits := []wire.Edit{{Span: c.prose.at, New: content}}
	if c.structured > 0 {
		edits = append(edits, wire.Edit{Span: memberSpan(c.raw, c.parts.Structured)})
	}
	slices.SortFunc(edits, func(a, b wire.Edit) int { return a.Span.Start - b.Span.Start })
	return wire.Splice(c.raw, edits...)
}

// textBlock is text as one block of content.
func textBlock(text string) []byte {
	return append(append([]byte(`{"type":"text","text":`), wire.Quote(text)...), '}')
}

// memberSpan is the member of an object whose value stands at value, with the
// comma that goes with it.
func memberSpan(obj []byte, value wire.Span) wire.Span {
	member := value
	i := lastSolid(obj, value.Start) // the colon
	i = lastSolid(obj, i)            // the quote that ends the name
	for i--; obj[i] != '"' || escaped(obj, i); i-- {
	}
	member.Start = i
	end := value.End
	for isSpace(obj[end]) {
		end++
	}
	if obj[end] == ',' {
		member.End = end + 1
		return member
	}
	if before := lastSolid(obj, member.Start); obj[before] == ',' {
		member.Start = before
	}
	return member
}

// lastSolid is where the last byte before i stands that is no white space.
func lastSolid(b []byte, i int) int {
	for i--; isSpace(b[i]); i-- {
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// escaped reports whether an odd number of backslashes stands before i.
func escaped(b []byte, i int) bool {
	n := 0
	for i--; i >= 0 && b[i] == '\\'; i-- {
		n++
	}
	return n%2 == 1
}
