package catalog

import (
	"crypto/sha256"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"postern/pkg/wire"
)

// WithName is the definition as an agent is shown it: under the exposed name,
// with the input schema mended where it had to be, every other byte as sent. A
// name that is already the exposed one keeps its spelling.
func (t *Tool) WithName(exposed string) []byte { return t.Shown(exposed, 0) }

// Shown is WithName with the description cut to at most chars characters, at
// the end of a sentence where there is one to cut at; 0 cuts nothing. A
// description that is short enough keeps its bytes, and so does everything else.
// The result is not to be changed: who asks for the same again, as all agents of
// one catalog do, gets the same bytes.
func (t *Tool) Shown(exposed string, chars int) []byte {
	raw, _ := t.ShownDigest(exposed, chars)
	return raw
}

// ShownDigest is Shown, and a digest of it that is computed once as well.
func (t *Tool) ShownDigest(exposed string, chars int) ([]byte, Digest) {
	if t.last != nil {
		if last := t.last.Load(); last != nil && last.exposed == exposed && last.chars == chars {
			return last.raw, last.digest
		}
	}
	raw := t.show(exposed, chars)
	digest := DigestOf(raw)
	if t.last != nil {
		t.last.Store(&shown{exposed, chars, raw, digest})
	}
	return raw, digest
}

// Digest stands for the bytes of one definition.
type Digest [sha256.Size]byte

// DigestOf is the digest of a definition as it is shown.
func DigestOf(definition []byte) Digest { return sha256.Sum256(definition) }

// shown is what a tool was shown as last.
type shown struct {
	exposed string
	chars   int
	raw     []byte
	digest  Digest
}

func (t *Tool) show(exposed string, chars int) []byte {
	edits := make([]wire.Edit, 0, 3)
	if exposed != t.Name {
		edits = append(edits, wire.Edit{Span: t.name, New: wire.Quote(exposed)})
	}
	if short := t.short(chars); short != t.Description {
		edits = append(edits, wire.Edit{Span: t.description, New: wire.Quote(short)})
	}
	if t.Repaired {
		edits = append(edits, t.repair)
	}
	if len(edits) == 0 {
		return t.Raw
	}
	slices.SortFunc(edits, func(a, b wire.Edit) int { return a.Span.Start - b.Span.Start })
	return wire.Splice(t.Raw, edits...)
}

func (t *Tool) short(chars int) string {
	if chars == 0 || len(t.Description) <= chars { // bytes, of which a character has one at least
		return t.Description
	}
	return Shorten(t.Description, chars)
}

// Shorten is text, which is valid UTF-8, with at most chars characters. It ends after a sentence if one ends in the last two
// thirds, else after a word with "…", else in the middle of one.
func Shorten(text string, chars int) string {
	cut, sentence, word := 0, 0, 0 // bytes: the last character that fits, ends of things before it
	n := 0
	for i, r := range text {
		if n == chars {
			return shortened(text, cut, sentence, word)
		}
		n++
		switch {
		case n*3 >= chars && endsSentence(text, i, r):
			sentence = i + utf8.RuneLen(r)
		case unicode.IsSpace(r) && n*3 >= chars*2:
			word = i
		}
		if n == chars-1 {
			cut = i + utf8.RuneLen(r)
		}
	}
	return text
}

func shortened(text string, cut, sentence, word int) string {
	switch {
	case sentence > 0:
		return strings.TrimRightFunc(text[:sentence], unicode.IsSpace)
	case word > 0:
		cut = word
	}
	return strings.TrimRightFunc(text[:cut], unicode.IsSpace) + "…"
}

// endsSentence tells a full stop from one in the middle of something: "e.g. a
// file" and "v1.2" go on.
func endsSentence(text string, i int, r rune) bool {
	rest := text[i+utf8.RuneLen(r):]
	switch r {
	case '\n':
		return strings.HasPrefix(strings.TrimLeft(rest, " \t\r"), "\n") // an empty line
	case '。', '！', '？':
		return true
	case '.', '!', '?':
		next, _ := utf8.DecodeRuneInString(rest)
		after, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(rest, unicode.IsSpace))
		return unicode.IsSpace(next) && !unicode.IsLower(after)
	}
	return false
}
