package gateway

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"postern/pkg/call"
	"postern/pkg/wire"
)

// block is one element of a result's content.
type block struct {
	raw  []byte
	text wire.Span // of its text within raw, with the quotes; absent in what is no text
}

// blocks takes the content of a result apart. Text is what a text block or an
// embedded resource says; images, audio, links and kinds of content that are not
// known here have none.
func blocks(raw []byte, p call.ResultParts) (out []block) {
	content := p.Content.Of(raw)
	if content == nil {
		return nil
	}
	// ReadResult has seen that it is a list of objects.
	_ = wire.EachElement(content, func(v wire.Span) bool {
		b := block{raw: v.Of(content)}
		b.text = textIn(b.raw)
		out = append(out, b)
		return true
	})
	return out
}

// textIn finds the text of one block. One that could be read in two ways is
// left alone.
func textIn(raw []byte) wire.Span {
	var at [3]wire.Span
	if wire.Lookup(raw, []string{"type", "text", "resource"}, at[:]) != nil {
		return wire.Span{}
	}
	switch string(at[0].Of(raw)) {
	case `"text"`:
		return stringAt(raw, at[1])
	case `"resource"`:
		var inner [1]wire.Span
		resource := at[2].Of(raw)
		if !wire.IsObject(resource) || wire.Lookup(resource, []string{"text"}, inner[:]) != nil || !inner[0].Ok() {
			return wire.Span{}
		}
		return stringAt(raw, wire.Span{Start: at[2].Start + inner[0].Start, End: at[2].Start + inner[0].End})
	}
	return wire.Span{}
}

func stringAt(raw []byte, at wire.Span) wire.Span {
	if text := at.Of(raw); len(text) > 0 && text[0] == '"' {
		return at
	}
	return wire.Span{}
}

// resultText is a result as text to read on in: its blocks of text, one after
// the other with a newline between; without any, its structured content as JSON;
// without that, the whole as JSON.
func resultText(raw []byte, p call.ResultParts) string {
	var out strings.Builder
	found := false
	for _, b := range blocks(raw, p) {
		if !b.text.Ok() {
			continue
		}
		if found {
			out.WriteByte('\n')
		}
		found = true
		writeDecoded(&out, b.text.Of(b.raw))
	}
	switch {
	case found:
		return out.String()
	case p.Structured.Ok():
		return string(p.Structured.Of(raw))
	}
	return string(raw)
}

// writeDecoded writes what a checked JSON string says; half a surrogate pair
// says U+FFFD.
func writeDecoded(out *strings.Builder, quoted []byte) {
	for i := 1; i < len(quoted)-1; {
		r, n := character(quoted, i)
		out.WriteRune(r)
		i += n
	}
}

// character is the character of a checked JSON string at i, and how many bytes
// it takes there.
func character(quoted []byte, i int) (r rune, n int) {
	if quoted[i] != '\\' {
		return utf8.DecodeRune(quoted[i:])
	}
	switch quoted[i+1] {
	case 'u':
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	default:
		return rune(quoted[i+1]), 2
	}
	r = hexRune(quoted[i+2:])
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if rest := quoted[i+6:]; len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' {
		if both := utf16.DecodeRune(r, hexRune(rest[2:])); both != utf8.RuneError {
			return both, 12
		}
	}
	return utf8.RuneError, 6
}

func hexRune(digits []byte) (r rune) {
	for _, c := range digits[:4] {
		switch {
		case c <= '9':
			r = r<<4 | rune(c-'0')
		default:
			r = r<<4 | rune(c|0x20-'a'+10)
		}
	}
	return r
}

// measure is how many bytes the first characters of a checked JSON string take,
// as many as fit into room, and how many they decode to.
func measure(quoted []byte, room int) (taken, decoded int) {
	for i := 1; i < len(quoted)-1; {
		r, n := character(quoted, i)
		if taken+n > room {
			break
		}
		taken, decoded, i = taken+n, decoded+utf8.RuneLen(r), i+n
	}
	return taken, decoded
}

// decodedSize is how many bytes a checked JSON string decodes to.
func decodedSize(quoted []byte) (n int) {
	rest := quoted[1 : len(quoted)-1]
	for {
		i := bytes.IndexByte(rest, '\\')
		if i < 0 {
			return n + len(rest)
		}
		r, taken := character(rest, i)
		n, rest = n+i+utf8.RuneLen(r), rest[i+taken:]
	}
}
