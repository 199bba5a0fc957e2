package wire

import "bytes"

// Removals gives the edits that take whole members out of a valid object, by
// where their values stand, as Lookup tells it: with their names, and with the
// commas that would be left over. All other bytes stay, white space between the
// members that remain included. values are in ascending order; absent ones are
// passed over. The names hold no quote, escaped or not.
func Removals(obj []byte, values ...Span) []Edit {
	s := scan{b: obj}
	var edits []Edit
	for _, v := range values {
		if !v.Ok() {
			continue
		}
		cut := Member(obj, v)
		after := s.space(v.End)
		joins := len(edits) > 0 && edits[len(edits)-1].Span.End == cut.Start
		if joins {
			cut.Start = edits[len(edits)-1].Span.Start
			edits = edits[:len(edits)-1]
		}
		if s.byte(after) == ',' {
			cut.End = s.space(after + 1)
		} else if before := bytes.TrimRight(obj[:cut.Start], " \t\r\n"); before[len(before)-1] == ',' {
			cut.Start = len(before) - 1
		}
		edits = append(edits, Edit{Span: cut})
	}
	return edits
}

// Member is where the member of a valid object stands, name and value, whose
// value stands at v. The name holds no quote, escaped or not.
func Member(obj []byte, v Span) Span {
	end := bytes.LastIndexByte(obj[:v.Start], '"') // only space and the colon stand between
	return Span{bytes.LastIndexByte(obj[:end], '"'), v.End}
}
