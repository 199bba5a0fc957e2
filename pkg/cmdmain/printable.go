package cmdmain

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Printable is s as it may be shown on a terminal: what would move the cursor,
// change colours, reorder the line or stay invisible becomes `\u{…}`, and bytes
// that are no UTF-8 become `\xHH`. Tab and newline count as such too; callers
// split lines first. Pipes get the raw text instead.
func Printable(s string) string {
	if clean(s) {
		return s
	}
	var out strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02X`, s[0])
		case unicode.IsPrint(r) && !invisible(r):
			out.WriteRune(r)
		default:
			fmt.Fprintf(&out, `\u{%x}`, r)
		}
		s = s[size:]
	}
	return out.String()
}

// PrintableText is Printable for text of several lines: newlines, those of
// Windows too, and tabs stay what they are.
func PrintableText(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if i < len(lines)-1 {
			line = strings.TrimSuffix(line, "\r")
		}
		cells := strings.Split(line, "\t")
		for j, cell := range cells {
			cells[j] = Printable(cell)
		}
		lines[i] = strings.Join(cells, "\t")
	}
	return strings.Join(lines, "\n")
}

// PrintableJSON is JSON as it may be shown on a terminal, still the same JSON:
// what Printable would replace stands in strings only and becomes `\uXXXX`.
// Newlines stay; what is no UTF-8 becomes U+FFFD.
func PrintableJSON(text []byte) []byte {
	if clean(string(text)) {
		return text
	}
	out := make([]byte, 0, len(text)+len(text)/8)
	for _, r := range string(text) {
		switch {
		case r == '\n' || unicode.IsPrint(r) && !invisible(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		case r == '\t' || r == '\r': // between values, where no escape can stand
			out = append(out, ' ')
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// clean is the common case: printable ASCII.
func clean(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// invisible finds what Unicode calls printable although nothing is seen:
// joiners, fillers, variation selectors. They can carry hidden text.
func invisible(r rune) bool {
	switch r {
	case 0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2800, 0x3164, 0xffa0:
		return true
	}
	return 0x180b <= r && r <= 0x180f || 0xfe00 <= r && r <= 0xfe0f || 0xe0000 <= r && r <= 0xe0fff
}

// Cut shortens s, which Printable has passed, to about max characters by
// leaving out its middle and saying how much is missing there.
func Cut(s string, max int) string {
	runes := []rune(s)
	if len(runes) <= max {
		return s
	}
	head := max / 2
	tail := max - head
	missing := len(runes) - head - tail
	return fmt.Sprintf("%s…(%d more)…%s", string(runes[:head]), missing, string(runes[len(runes)-tail:]))
}
