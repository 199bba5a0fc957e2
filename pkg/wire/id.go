package wire

// IDKey returns a map key for an id: equal ids have equal keys however they are
// written, and an id that is a string never equals one that is a number.
func IDKey(raw []byte) string {
	if len(raw) == 0 {
		return ""
	}
	if raw[0] == '"' {
		s, err := Unquote(raw)
		if err != nil {
			return string(raw)
		}
		return `"` + s + `"`
	}
	if d, ok := parseDecimal(raw); ok {
		return d.key()
	}
	return string(raw)
}

// HeadID finds the id of a message of which only the beginning is there (R1).
// ok is false when the id does not stand, whole, in head, or stands there twice.
func HeadID(head []byte) (id []byte, ok bool) {
	id, _ = looseEnvelope(head)
	return id, id != nil
}

// looseEnvelope reads the id, and whether there is a jsonrpc member, from the
// beginning of an object that may be cut off, or nested too deep, further on.
func looseEnvelope(b []byte) (id []byte, claims bool) {
	s := scan{b: b}
	var e envelope
	i := s.space(0)
	if s.byte(i) != '{' {
		return nil, false
	}
	for i = s.space(i + 1); ; i = s.space(i + 1) {
		keyEnd, plain := s.str(i)
		if keyEnd < 0 {
			break
		}
		start := s.colon(keyEnd)
		if start < 0 {
			break
		}
		end := s.loose(start)
		if end < 0 {
			break
		}
		e.note(b[i:keyEnd], plain, Span{start, end})
		if i = s.space(end); s.byte(i) != ',' {
			break
		}
	}
	id = e.id(b)
	if _, err := Canonical(id); err != nil {
		return nil, e.claims
	}
	return id, e.claims
}

// loose passes over a value by its brackets and strings alone; -1 when it does
// not end in the text.
func (s *scan) loose(i int) int {
	for depth := 0; i < len(s.b); {
		switch s.b[i] {
		case '"':
			if i, _ = s.str(i); i < 0 {
				return -1
			}
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		default:
			i++
		}
		if depth > 0 {
			continue
		}
		switch s.byte(i) {
		case ',', '}', ']', ' ', '\t', '\r', '\n':
			return i
		}
	}
	return -1
}
