package wire

import "bytes"

// Edit replaces the bytes of Span by New. A span whose ends are equal inserts.
type Edit struct {
	Span Span
	New  []byte
}

// Splice returns a copy of b with the edits made. They are in ascending order
// and do not overlap; b is not modified.
func Splice(b []byte, edits ...Edit) []byte {
	n := len(b)
	for _, e := range edits {
		n += len(e.New) - (e.Span.End - e.Span.Start)
	}
	out := make([]byte, 0, n)
	from := 0
	for _, e := range edits {
		out = append(out, b[from:e.Span.Start]...)
		out = append(out, e.New...)
		from = e.Span.End
	}
	return append(out, b[from:]...)
}

// InsertMember returns a copy of a valid object with one more member in front of
// the others, all other bytes kept. It does not look whether the name is there
// already. For anything that is no object it returns nil.
func InsertMember(obj []byte, name string, value []byte) []byte {
	s := scan{b: obj}
	open := s.space(0)
	if s.byte(open) != '{' {
		return nil
	}
	add := make([]byte, 0, len(name)+len(value)+4)
	add = append(appendQuoted(add, name), ':')
	add = append(add, value...)
	if s.byte(s.space(open+1)) != '}' {
		add = append(add, ',')
	}
	return Splice(obj, Edit{Span{open + 1, open + 1}, add})
}

// OneLine returns raw without its CR and LF, so that it can stand in a line.
// In valid JSON none of them is significant. raw itself is returned when it has
// none.
func OneLine(raw []byte) []byte {
	if bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		return raw
	}
	out := make([]byte, 0, len(raw))
	for _, c := range raw {
		if c != '\n' && c != '\r' {
			out = append(out, c)
		}
	}
	return out
}
