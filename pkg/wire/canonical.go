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
	c := canonical{s: scan{b: raw}, out: make([]byte, 0, end-start)}
	if c.value(start) < 0 {
		return nil, c.s.syntaxError()
	}
	return c.out, nil
}

// canonical writes text that has been checked, in one pass.
type canonical struct {
	s   scan
	out []byte
}

// value writes the value at i and returns where it ends, or -1.
func (c *canonical) value(i int) int {
	switch c.s.b[i] {
	case '{':
		return c.object(i)
	case '[':
		return c.array(i)
	case '"':
		_, end := c.str(i)
		return end
	}
	end := c.s.value(i, 0)
	if lit := c.s.b[i:end]; isID(lit) {
		c.out = appendNumber(c.out, lit)
	} else {
		c.out = append(c.out, lit...)
	}
	return end
}

func (c *canonical) str(i int) (text string, end int) {
	end, _ = c.s.str(i)
	text, err := Unquote(c.s.b[i:end])
	if err != nil {
		return "", c.s.fail(i, "lone surrogate in a string")
	}
	c.out = appendQuoted(c.out, text)
	return text, end
}

func (c *canonical) array(i int) int {
	c.out = append(c.out, '[')
	i = c.s.space(i + 1)
	for more := c.s.b[i] != ']'; more; {
		if i = c.value(i); i < 0 {
			return -1
		}
		if i, more = c.s.next(i, ']'); more {
			c.out = append(c.out, ',')
		}
	}
	c.out = append(c.out, ']')
	return i + 1
}

// canonicalMember is a member of an object and where it was written.
type canonicalMember struct {
	name string
	at   Span
}

func (c *canonical) object(i int) int {
	c.out = append(c.out, '{')
	body := len(c.out)
	var members []canonicalMember
	i = c.s.space(i + 1)
	for more := c.s.b[i] != '}'; more; {
		from := len(c.out)
		name, end := c.str(i)
		if end < 0 {
			return -1
		}
		c.out = append(c.out, ':')
		if i = c.value(c.s.colon(end)); i < 0 {
			return -1
		}
		members = append(members, canonicalMember{name, Span{from - body, len(c.out) - body}})
		if i, more = c.s.next(i, '}'); more {
			c.out = append(c.out, ',')
		}
	}
	if !c.sort(members, body) {
		return c.s.fail(i, "a member twice in the object that ends")
	}
	c.out = append(c.out, '}')
	return i + 1
}

// sort puts the members written since body in order; false if one is there twice.
func (c *canonical) sort(members []canonicalMember, body int) bool {
	order := func(a, b canonicalMember) int { return compareUTF16(a.name, b.name) }
	if !slices.IsSortedFunc(members, order) {
		slices.SortFunc(members, order)
		written := slices.Clone(c.out[body:])
		c.out = c.out[:body]
		for i, m := range members {
			if i > 0 {
				c.out = append(c.out, ',')
			}
			c.out = append(c.out, m.at.Of(written)...)
		}
	}
	for i := 1; i < len(members); i++ {
		if members[i].name == members[i-1].name {
			return false
		}
	}
	return true
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
