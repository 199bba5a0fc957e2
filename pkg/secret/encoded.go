package secret

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Values are looked for as they are, and in what a text comes to when it is
// decoded: percent signs, backslash escapes, base64 and hexadecimal. So a value
// is found in whatever part of an encoded text it stands, however much of the
// rest was encoded along with it.

// maxDecoded is how often a text is decoded: a URL in JSON in JSON is three.
const maxDecoded = 3

// view is a text with the place of each byte in the text it was made of.
type view struct {
	text string
	at   []int32 // start of each byte's source, and the source's length; nil is each its own
}

// source is where the bytes from start to end came from.
func (v view) source(start, end int) (int, int) {
	if v.at == nil {
		return start, end
	}
	for end < len(v.text) && v.at[end] == v.at[end-1] {
		end++ // of several bytes that one escape stands for
	}
	return int(v.at[start]), int(v.at[end])
}

// values is where values stand in text, in any form.
func (m *matcher) values(text string, open bool) spans {
	v := view{text: text}
	var found []span
	for n := 0; ; n++ {
		for _, s := range slices.Concat(m.search(nil, v.text, open), m.inDigits(v.text, base64Digits, open), m.inDigits(v.text, hexDigits, open)) {
			s.start, s.end = v.source(s.start, s.end)
			found = append(found, s)
		}
		next, ok := v.decode()
		if !ok || n == maxDecoded {
			return ordered(found)
		}
		v = next
	}
}

// ordered makes spans of any order disjoint.
func ordered(list []span) spans {
	if len(list) < 2 {
		return list
	}
	slices.SortFunc(list, func(a, b span) int { return cmp.Or(a.start-b.start, a.end-b.end) })
	out := spans(list[:1:1])
	for _, s := range list[1:] {
		if last := &out[len(out)-1]; s.start <= last.end {
			last.end, last.rule = max(last.end, s.end), min(last.rule, s.rule)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// decode replaces percent signs and backslash escapes by what they stand for; ok
// is false when there are none.
func (v view) decode() (next view, ok bool) {
	if strings.IndexByte(v.text, '%') < 0 && strings.IndexByte(v.text, '\\') < 0 {
		return v, false
	}
	out := make([]byte, 0, len(v.text))
	next.at = make([]int32, 0, len(v.text)+1)
	for i := 0; i < len(v.text); {
		r, n := escaped(v.text[i:])
		from := len(out)
		switch {
		case n == 0:
			out, n = append(out, v.text[i]), 1
		case r > 0xff || n == 6:
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, byte(r))
		}
		ok = ok || n > 1
		start, _ := v.source(i, i+1)
		for range len(out) - from {
			next.at = append(next.at, int32(start))
		}
		i += n
	}
	_, end := v.source(len(v.text)-1, len(v.text))
	next.text, next.at = string(out), append(next.at, int32(end))
	return next, ok
}

// escaped is the character that the escape at the beginning of s stands for, and
// its length; 0 when there is none. Six bytes stand for a character, fewer for a
// byte.
func escaped(s string) (r rune, n int) {
	switch {
	case s[0] == '%':
		r, n = hexByte(s, 1)
	case s[0] != '\\' || len(s) < 2:
	case s[1] == 'x':
		r, n = hexByte(s, 2)
	case s[1] == 'u':
		high, a := hexByte(s, 2)
		low, b := hexByte(s, 4)
		if a > 0 && b > 0 {
			return high<<8 | low, 6
		}
	default:
		if i := strings.IndexByte(`nrtbf"\/'$&`, s[1]); i >= 0 {
			return rune("\n\r\t\b\f\"\\/'$&"[i]), 2
		}
	}
	return r, n
}

// hexByte reads two hexadecimal digits at i; n is the end of them, 0 for none.
func hexByte(s string, i int) (r rune, n int) {
	if len(s) < i+2 {
		return 0, 0
	}
	high, low := hexDigits.value[s[i]], hexDigits.value[s[i+1]]
	if high < 0 || low < 0 {
		return 0, 0
	}
	return rune(high)<<4 | rune(low), i + 2
}

// digits is a way to write bytes with digits of some bits each.
type digits struct {
	bits   int
	shifts int // digits of a run that a byte can begin with
	value  [256]int8
}

// base64Digits are both alphabets at once.
var base64Digits = digitsOf(6, 4, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")

var hexDigits = digitsOf(4, 2, "0123456789abcdef", "0123456789ABCDEF")

func digitsOf(bits, shifts int, alphabets ...string) *digits {
	d := &digits{bits: bits, shifts: shifts}
	for i := range d.value {
		d.value[i] = -1
	}
	for _, alphabet := range alphabets {
		for i := range len(alphabet) {
			d.value[alphabet[i]] = int8(i)
		}
	}
	return d
}

// inDigits looks into every run of digits; a run may be broken into lines.
func (m *matcher) inDigits(text string, d *digits, open bool) (found []span) {
	var at []int32 // where the digits of a run stand
	for i := 0; i < len(text); i++ {
		at = at[:0]
		for ; i < len(text); i++ {
			c := text[i]
			if d.value[c] >= 0 {
				at = append(at, int32(i))
			} else if len(at) == 0 || c != '\n' && c != '\r' {
				break
			}
		}
		if len(at)*d.bits < minValue*8 {
			continue
		}
		for shift := range d.shifts {
			found = append(found, m.decoded(text, at[shift:], d, open && i == len(text))...)
		}
	}
	return found
}

// decoded looks for values in the bytes that the digits at these places make.
func (m *matcher) decoded(text string, at []int32, d *digits, open bool) (found spans) {
	bits, have, acc, n := uint(d.bits), uint(0), uint32(0), 0
	state := int32(0)
	for _, i := range at {
		acc, have = acc<<bits|uint32(d.value[text[i]]), have+bits
		if have < 8 {
			continue
		}
		have -= 8
		state = m.step(state, byte(acc>>have))
		n++
		if l := int(m.nodes[state].longest); l > 0 {
			found = found.add(span{int(at[(n-l)*8/d.bits]), int(at[(n*8-1)/d.bits]) + 1, byValue})
		}
	}
	if depth := int(m.nodes[state].depth); open && depth > 0 {
		found = found.add(span{int(at[(n-depth)*8/d.bits]), int(at[len(at)-1]) + 1, byValue})
	}
	return found
}
