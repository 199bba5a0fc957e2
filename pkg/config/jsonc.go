package config

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// parseJSON reads JSON as other clients write it: a byte order mark, // and
// /* */ comments and a comma behind the last item are tolerated (C22);
// everything else is RFC 8259. A blank file is nil. Its error is always a
// *parseError. Linear in the size of data, which must be bounded.
func parseJSON(data []byte) (*node, error) {
	if at := invalidUTF8(data); at >= 0 {
		return nil, &parseError{pos: posOf(data, at), problem: "the file is not valid UTF-8 here"}
	}
	p := &jsonParser{data: bytes.TrimPrefix(data, []byte("\ufeff")), line: 1}
	if err := p.space(); err != nil {
		return nil, err
	}
	if p.at == len(p.data) {
		return nil, nil
	}
	n, err := p.value(0)
	if err == nil {
		err = p.space()
	}
	if err == nil && p.at < len(p.data) {
		err = p.fail("text after the end of the value")
	}
	if err != nil {
		return nil, err
	}
	return n, nil
}

type jsonParser struct {
	data      []byte
	at        int
	line      int // of at
	lineStart int // offset of the line's first byte
}

func (p *jsonParser) pos() pos {
	return pos{p.line, 1 + utf8.RuneCount(p.data[p.lineStart:p.at])}
}

func (p *jsonParser) fail(format string, args ...any) error {
	return &parseError{pos: p.pos(), problem: "not valid JSON: " + fmt.Sprintf(format, args...)}
}

// peek is the next byte, 0 at the end (a NUL byte is valid nowhere outside a
// string, so the two need no telling apart).
func (p *jsonParser) peek() byte {
	if p.at < len(p.data) {
		return p.data[p.at]
	}
	return 0
}

// space skips white space and comments.
func (p *jsonParser) space() error {
	for p.at < len(p.data) {
		switch c := p.data[p.at]; {
		case c == '\n':
			p.at++
			p.newLine()
		case c == ' ' || c == '\t' || c == '\r':
			p.at++
		case c == '/':
			if err := p.comment(); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

func (p *jsonParser) newLine() { p.line, p.lineStart = p.line+1, p.at }

func (p *jsonParser) comment() error {
	rest := p.data[p.at:]
	switch {
	case bytes.HasPrefix(rest, []byte("//")):
		if end := bytes.IndexByte(rest, '\n'); end >= 0 {
			p.at += end
		} else {
			p.at = len(p.data)
		}
		return nil
	case bytes.HasPrefix(rest, []byte("/*")):
		end := bytes.Index(rest[2:], []byte("*/"))
		if end < 0 {
			return p.fail("the comment is not closed")
		}
		for _, c := range rest[:end+4] {
			p.at++
			if c == '\n' {
				p.newLine()
			}
		}
		return nil
	}
	return p.fail("unexpected %q", '/')
}

func (p *jsonParser) value(depth int) (*node, error) {
	if depth > MaxDepth {
		return nil, p.fail("nested more than %d deep", MaxDepth)
	}
	n := &node{pos: p.pos()}
	var err error
	switch c := p.peek(); {
	case c == '{':
		n.kind = kindMapping
		err = p.list('}', func() error { return p.member(n, depth) })
	case c == '[':
		n.kind = kindList
		err = p.list(']', func() error {
			item, err := p.value(depth + 1)
			n.items = append(n.items, item)
			return err
		})
	case c == '"':
		n.kind = kindString
		n.text, err = p.str()
	case c == '-' || '0' <= c && c <= '9':
		n.kind = kindNumber
		n.text, err = p.number()
	default:
		n.kind, n.text, err = p.word()
	}
	return n, err
}

// list reads what stands between brackets, one item a call, with commas.
func (p *jsonParser) list(closing byte, item func() error) error {
	p.at++
	for first := true; ; first = false {
		if err := p.space(); err != nil {
			return err
		}
		if p.peek() == closing {
			p.at++
			return nil
		}
		if !first {
			if p.peek() != ',' {
				return p.fail("expected ',' or %q", closing)
			}
			p.at++
			if err := p.space(); err != nil {
				return err
			}
			if p.peek() == closing {
				p.at++
				return nil
			}
		}
		if err := item(); err != nil {
			return err
		}
	}
}

func (p *jsonParser) member(n *node, depth int) error {
	m := member{pos: p.pos()}
	if p.peek() != '"' {
		return p.fail("expected a name in double quotes")
	}
	var err error
	if m.name, err = p.str(); err != nil {
		return err
	}
	if err = p.space(); err != nil {
		return err
	}
	if p.peek() != ':' {
		return p.fail("expected ':' after the name")
	}
	p.at++
	if err = p.space(); err != nil {
		return err
	}
	m.value, err = p.value(depth + 1)
	n.members = append(n.members, m)
	return err
}

func (p *jsonParser) word() (kind, string, error) {
	for word, k := range map[string]kind{"true": kindBool, "false": kindBool, "null": kindNull} {
		rest, ok := bytes.CutPrefix(p.data[p.at:], []byte(word))
		if ok && (len(rest) == 0 || !isWordByte(rest[0])) {
			p.at += len(word)
			return k, word, nil
		}
	}
	if p.at == len(p.data) {
		return "", "", p.fail("the file ends in the middle")
	}
	r, _ := utf8.DecodeRune(p.data[p.at:])
	return "", "", p.fail("unexpected %q", r)
}

func isWordByte(c byte) bool {
	return c == '_' || c == '.' || c == '-' || c == '+' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// number returns the literal as written, checked against JSON's grammar.
func (p *jsonParser) number() (string, error) {
	start := p.at
	for p.at < len(p.data) && isWordByte(p.data[p.at]) {
		p.at++
	}
	text := string(p.data[start:p.at])
	digits := strings.TrimPrefix(text, "-")
	leadingZero := len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9'
	mantissa, _, _ := strings.Cut(strings.ToLower(digits), "e")
	whole, fraction, dot := strings.Cut(mantissa, ".")
	_, err := strconv.ParseFloat(text, 64)
	if ranged, ok := err.(*strconv.NumError); ok && ranged.Err == strconv.ErrRange {
		err = nil
	}
	if err != nil || leadingZero || whole == "" || dot && fraction == "" || strings.ContainsAny(digits, "xX_pPnN") {
		p.at = start
		return "", p.fail("%.40q is no number", text)
	}
	return text, nil
}

func (p *jsonParser) str() (string, error) {
	var b strings.Builder
	for p.at++; ; {
		if p.at >= len(p.data) {
			return "", p.fail("the string is not closed")
		}
		switch c := p.data[p.at]; {
		case c == '"':
			p.at++
			return b.String(), nil
		case c < 0x20:
			return "", p.fail("a control character in a string; the string is not closed or needs an escape")
		case c == '\\':
			if err := p.escape(&b); err != nil {
				return "", err
			}
		default:
			b.WriteByte(c)
			p.at++
		}
	}
}

func (p *jsonParser) escape(b *strings.Builder) error {
	if p.at+1 >= len(p.data) {
		return p.fail("the string is not closed")
	}
	c := p.data[p.at+1]
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		b.WriteByte("\"\\/\b\f\n\r\t"[i])
		p.at += 2
		return nil
	}
	unit, ok := p.unit(p.at)
	if !ok {
		return p.fail(`unknown escape; in JSON a backslash is written \\`)
	}
	size := 6
	if utf16.IsSurrogate(unit) {
		low, ok := p.unit(p.at + 6)
		if unit = utf16.DecodeRune(unit, low); !ok || unit == utf8.RuneError {
			return p.fail("half a character in an escape")
		}
		size = 12
	}
	b.WriteRune(unit)
	p.at += size
	return nil
}

// unit reads \uXXXX at an offset.
func (p *jsonParser) unit(at int) (rune, bool) {
	if at+6 > len(p.data) || p.data[at] != '\\' || p.data[at+1] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(string(p.data[at+2:at+6]), 16, 32)
	return rune(v), err == nil && isHex(p.data[at+2:at+6])
}

func isHex(s []byte) bool {
	for _, c := range s {
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F') {
			return false
		}
	}
	return true
}
