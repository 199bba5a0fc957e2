package wire

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// scan checks JSON text. Its methods take an index and return the index after
// what they checked, or -1 after setting why and at. Invalid UTF-8 inside a
// string is noted in badUTF8 and does not stop the scan: the caller refuses the
// text, but can still read the id of the message that has to be refused.
type scan struct {
	b       []byte
	why     string // the fault that stopped the scan
	at      int    // its offset
	badUTF8 int    // offset of the first invalid byte, plus one
}

// whyDepth is the fault of text nested deeper than MaxDepth.
const whyDepth = "nested more than 1000 deep"

func (s *scan) fail(at int, why string) int {
	s.at, s.why = at, why
	return -1
}

// byte is b[i], or 0 past the end; no JSON token begins with 0.
func (s *scan) byte(i int) byte {
	if i < len(s.b) {
		return s.b[i]
	}
	return 0
}

func (s *scan) space(i int) int {
	for i < len(s.b) {
		switch s.b[i] {
		case ' ', '\t', '\r', '\n':
			i++
		default:
			return i
		}
	}
	return i
}

// value checks the value that begins at i; depth is how many containers are
// open around it.
func (s *scan) value(i, depth int) int {
	switch c := s.byte(i); c {
	case '"':
		end, _ := s.str(i)
		return end
	case '{':
		return s.object(i, depth+1)
	case '[':
		return s.array(i, depth+1)
	case 't':
		return s.literal(i, "true")
	case 'f':
		return s.literal(i, "false")
	case 'n':
		return s.literal(i, "null")
	default:
		if c == '-' || isDigit(c) {
			return s.number(i)
		}
		return s.fail(i, "no JSON value")
	}
}

func (s *scan) object(i, depth int) int {
	if depth > MaxDepth {
		return s.fail(i, whyDepth)
	}
	if i = s.space(i + 1); s.byte(i) == '}' {
		return i + 1
	}
	for {
		end, _ := s.str(i)
		if end < 0 {
			return -1
		}
		if i = s.colon(end); i < 0 {
			return -1
		}
		if i = s.value(i, depth); i < 0 {
			return -1
		}
		i = s.space(i)
		switch s.byte(i) {
		case ',':
			i = s.space(i + 1)
		case '}':
			return i + 1
		default:
			return s.fail(i, "no , or } after a member")
		}
	}
}

func (s *scan) array(i, depth int) int {
	if depth > MaxDepth {
		return s.fail(i, whyDepth)
	}
	if i = s.space(i + 1); s.byte(i) == ']' {
		return i + 1
	}
	for {
		if i = s.value(i, depth); i < 0 {
			return -1
		}
		i = s.space(i)
		switch s.byte(i) {
		case ',':
			i = s.space(i + 1)
		case ']':
			return i + 1
		default:
			return s.fail(i, "no , or ] after an element")
		}
	}
}

// colon checks the colon after a member name and returns where the value begins.
func (s *scan) colon(i int) int {
	if i = s.space(i); s.byte(i) != ':' {
		return s.fail(i, "no : after a member name")
	}
	return s.space(i + 1)
}

// str checks the string whose opening quote is at i; plain says that it is
// ASCII without escapes, so that its bytes are its value.
func (s *scan) str(i int) (end int, plain bool) {
	if s.byte(i) != '"' {
		return s.fail(i, "no string"), false
	}
	plain = true
	for i++; ; {
		i = skipOrdinary(s.b, i)
		if i >= len(s.b) {
			return s.fail(i, "string without end"), false
		}
		switch c := s.b[i]; {
		case c == '"':
			return i + 1, plain
		case c == '\\':
			plain = false
			if i = s.escape(i); i < 0 {
				return -1, false
			}
		case c < ' ':
			return s.fail(i, "control character in a string"), false
		case c < utf8.RuneSelf:
			i++
		default:
			plain = false
			i = s.runes(i)
		}
	}
}

// skipOrdinary passes over eight bytes at a time as long as none of them ends
// or interrupts a string.
func skipOrdinary(b []byte, i int) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for i+8 <= len(b) {
		w := binary.LittleEndian.Uint64(b[i:])
		quote, slash := w^(ones*'"'), w^(ones*'\\')
		// A borrow can only mark bytes above a true hit, so the lowest mark is exact.
		hit := ((w-ones*' ')&^w | (quote-ones)&^quote | (slash-ones)&^slash | w) & high
		if hit != 0 {
			return i + bits.TrailingZeros64(hit)>>3
		}
		i += 8
	}
	return i
}

// runes passes over bytes outside ASCII.
func (s *scan) runes(i int) int {
	for i < len(s.b) && s.b[i] >= utf8.RuneSelf {
		r, n := utf8.DecodeRune(s.b[i:])
		if r == utf8.RuneError && n == 1 && s.badUTF8 == 0 {
			s.badUTF8 = i + 1
		}
		i += n
	}
	return i
}

func (s *scan) escape(i int) int {
	switch s.byte(i + 1) {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		if _, ok := hex4(s.b, i+2); ok {
			return i + 6
		}
	}
	return s.fail(i, "bad escape in a string")
}

// hex4 reads four hexadecimal digits at i.
func hex4(b []byte, i int) (rune, bool) {
	if i+4 > len(b) {
		return 0, false
	}
	var r rune
	for _, c := range b[i : i+4] {
		switch {
		case isDigit(c):
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

func (s *scan) literal(i int, word string) int {
	if end := i + len(word); end <= len(s.b) && string(s.b[i:end]) == word {
		return end
	}
	return s.fail(i, "no JSON value")
}

func (s *scan) number(i int) int {
	if s.byte(i) == '-' {
		i++
	}
	if s.byte(i) == '0' {
		i++
	} else if i = s.digits(i); i < 0 {
		return -1
	}
	if s.byte(i) == '.' {
		if i = s.digits(i + 1); i < 0 {
			return -1
		}
	}
	if c := s.byte(i); c == 'e' || c == 'E' {
		i++
		if c := s.byte(i); c == '+' || c == '-' {
			i++
		}
		return s.digits(i)
	}
	return i
}

func (s *scan) digits(i int) int {
	if !isDigit(s.byte(i)) {
		return s.fail(i, "bad number")
	}
	for isDigit(s.byte(i)) {
		i++
	}
	return i
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
