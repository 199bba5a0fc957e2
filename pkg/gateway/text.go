package gateway

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"postern/pkg/call"
	"postern/pkg/wire"
)

// prose is the list in a result whose elements hold its text.
type prose struct {
	at   wire.Span
	text func(element []byte) wire.Span       // of an element's text, with the quotes; absent in what is no text
	note func(uri string, text string) []byte // one more element, which says text of what is kept at uri
}

// proseOf finds it: content in the result of a tool, contents in that of
// resources/read, messages in that of prompts/get.
func proseOf(raw []byte, p call.ResultParts) prose {
	tool := prose{p.Content, textIn, func(_, text string) []byte { return textBlock(text) }}
	if p.Content.Ok() || p.Structured.Ok() {
		return tool
	}
	var at [2]wire.Span
	if wire.Lookup(raw, []string{"contents", "messages"}, at[:]) != nil {
		return tool
	}
	switch {
	case isList(at[0].Of(raw)):
		return prose{at[0], textMember, noteContents}
	case isList(at[1].Of(raw)):
		return prose{at[1], messageText, noteMessage}
	}
	return tool
}

func isList(raw []byte) bool { return len(raw) > 0 && raw[0] == '[' }

// block is one element of such a list.
type block struct {
	raw  []byte
	text wire.Span // of its text within raw, with the quotes; absent in what is no text
}

// blocks takes the list apart. Text is what a text block, an embedded resource
// or a resource says; images, audio, links, blobs and whatever is not known here
// have none.
func (p *prose) blocks(raw []byte) (out []block) {
	list := p.at.Of(raw)
	if list == nil {
		return nil
	}
	// A list, as was seen, in a message that was checked.
	_ = wire.EachElement(list, func(v wire.Span) bool {
		b := block{raw: v.Of(list)}
		if wire.IsObject(b.raw) {
			b.text = p.text(b.raw)
		}
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
		return within(raw, at[2], textMember)
	}
	return wire.Span{}
}

// textMember is the text of an object that has it as a member.
func textMember(raw []byte) wire.Span {
	var at [1]wire.Span
	if wire.Lookup(raw, []string{"text"}, at[:]) != nil || !at[0].Ok() {
		return wire.Span{}
	}
	return stringAt(raw, at[0])
}

// messageText is the text of one message of a prompt.
func messageText(raw []byte) wire.Span {
	var at [1]wire.Span
	if wire.Lookup(raw, []string{"content"}, at[:]) != nil {
		return wire.Span{}
	}
	return within(raw, at[0], textIn)
}

// within finds text in an object that stands at inner.
func within(raw []byte, inner wire.Span, find func([]byte) wire.Span) wire.Span {
	if !wire.IsObject(inner.Of(raw)) {
		return wire.Span{}
	}
	at := find(inner.Of(raw))
	if !at.Ok() {
		return at
	}
	return wire.Span{Start: inner.Start + at.Start, End: inner.Start + at.End}
}

func noteContents(uri, text string) []byte {
	o := object{}
	o.text("uri", uri)
	o.text("mimeType", "text/plain")
	o.text("text", text)
	return o.bytes()
}

func noteMessage(_, text string) []byte {
	return append(append([]byte(`{"role":"user","content":`), textBlock(text)...), '}')
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
	list := proseOf(raw, p)
	for _, b := range list.blocks(raw) {
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
