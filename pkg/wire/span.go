package wire

// Span is a half-open range of bytes. The zero Span means "absent".
type Span struct{ Start, End int }

// Ok reports whether the span is present.
func (s Span) Ok() bool { return s.End > s.Start }

// Of returns the bytes of b the span covers, sharing memory with b, and nil for
// an absent span. The span must come from b.
func (s Span) Of(b []byte) []byte {
	if !s.Ok() {
		return nil
	}
	return b[s.Start:s.End:s.End]
}

// SyntaxError says that some text is not the JSON that was wanted.
type SyntaxError struct {
	Offset int    // of the first byte that does not fit
	Reason string // for people
}

func (e *SyntaxError) Error() string { return e.Reason + " at byte " + itoa(e.Offset) }

// syntaxError is the fault of a finished scan, nil when there was none.
func (s *scan) syntaxError() error {
	switch {
	case s.why != "":
		return &SyntaxError{Offset: s.at, Reason: s.why}
	case s.badUTF8 > 0:
		return &SyntaxError{Offset: s.badUTF8 - 1, Reason: "invalid UTF-8"}
	}
	return nil
}
