package wire

import (
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Canonical writes a JSON value in the form of RFC 8785: no space, members
// sorted by UTF-16 code units, shortest strings and numbers. A number whose
// value would change on the way through a double keeps its literal (C40). Text
// that has no canonical form (not JSON, a member twice, a lone surrogate, deeper
// than MaxDepth) is a *SyntaxError.
func Canonical(raw []byte) ([]byte, error) {
	s := scan{b: raw}
	start := s.space(0)
	end := s.value(start, 0)
	if end >= 0 && s.space(end) != len(raw) {
		s.fail(s.space(end), "text after the value")
	}
	if err := s.syntaxError(); err != nil {
		return nil, err
	}
	return appendCanonical(make([]byte, 0, len(raw)), raw[start:end])
}

// appendCanonical appends the canonical form of a value that was checked.
func appendCanonical(out, raw []byte) ([]byte, error) {
	switch raw[0] {
	case '{':
		return appendObject(out, raw)
	case '[':
		return appendArray(out, raw)
	case '"':
		s, err := Unquote(raw)
		if err != nil {
			return nil, err
		}
		return appendQuoted(out, s), nil
	case 't', 'f', 'n':
		return append(out, raw...), nil
	}
	return appendNumber(out, raw), nil
}

func appendArray(out, raw []byte) ([]byte, error) {
	out = append(out, '[')
	first, failed := true, error(nil)
	err := EachElement(raw, func(v Span) bool {
		if !first {
			out = append(out, ',')
		}
		first = false
		out, failed = appendCanonical(out, v.Of(raw))
		return failed == nil
	})
	if failed != nil {
		return nil, failed
	}
	return append(out, ']'), err
}

type canonicalMember struct {
	name  string
	value Span
}

func appendObject(out, raw []byte) ([]byte, error) {
	var members []canonicalMember
	var failed error
	err := EachMember(raw, func(key []byte, v Span) bool {
		var name string
		name, failed = Unquote(key)
		members = append(members, canonicalMember{name, v})
		return failed == nil
	})
	if failed != nil || err != nil {
		return nil, firstError(failed, err)
	}
	slices.SortFunc(members, func(a, b canonicalMember) int { return compareUTF16(a.name, b.name) })
	out = append(out, '{')
	for i, m := range members {
		if i > 0 {
			if m.name == members[i-1].name {
				return nil, &SyntaxError{Offset: m.value.Start, Reason: "member " + strconv.Quote(m.name) + " is there twice"}
			}
			out = append(out, ',')
		}
		out = append(appendQuoted(out, m.name), ':')
		if out, err = appendCanonical(out, m.value.Of(raw)); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// compareUTF16 orders strings by their UTF-16 code units.
func compareUTF16(a, b string) int {
	for a != "" && b != "" {
		ra, na := utf8.DecodeRuneInString(a)
		rb, nb := utf8.DecodeRuneInString(b)
		if ra != rb {
			return utf16Rank(ra) - utf16Rank(rb)
		}
		a, b = a[na:], b[nb:]
	}
	return len(a) - len(b)
}

// utf16Rank maps runes to numbers in UTF-16 order: what needs a surrogate pair
// sorts before U+E000.
func utf16Rank(r rune) int {
	switch {
	case r >= 0x10000:
		return int(r)
	case r >= 0xE000:
		return int(r) + 0x200000
	}
	return int(r)
}

// appendNumber appends a number literal as ECMAScript writes it, unless that is
// another value.
func appendNumber(out, lit []byte) []byte {
	f, err := strconv.ParseFloat(string(lit), 64)
	if err != nil {
		return append(out, lit...)
	}
	if f == 0 {
		f = 0 // no negative zero
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	text := strconv.AppendFloat(nil, f, format, -1, 64)
	if n := len(text); format == 'e' && n >= 4 && text[n-4] == 'e' && text[n-2] == '0' {
		text = append(text[:n-2], text[n-1])
	}
	was, ok := parseDecimal(lit)
	is, _ := parseDecimal(text)
	if !ok || was != is {
		return append(out, lit...)
	}
	return append(out, text...)
}
