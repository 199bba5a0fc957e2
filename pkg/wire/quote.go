package wire

import (
	"unicode/utf16"
	"unicode/utf8"
)

// Unquote decodes a JSON string with its quotes. It substitutes nothing: invalid
// UTF-8, a lone surrogate and text around the string are a *SyntaxError.
func Unquote(raw []byte) (string, error) {
	s := scan{b: raw}
	end, plain := s.str(0)
	if end >= 0 && end != len(raw) {
		s.fail(end, "text after the string")
	}
	if err := s.syntaxError(); err != nil {
		return "", err
	}
	if plain {
		return string(raw[1 : end-1]), nil
	}
	return unescape(raw[1 : end-1])
}

// unescape decodes the inside of a checked string.
func unescape(in []byte) (string, error) {
	out := make([]byte, 0, len(in))
	for i := 0; i < len(in); {
		c := in[i]
		if c != '\\' {
			out = append(out, c)
			i++
			continue
		}
		if in[i+1] != 'u' {
			out = append(out, unescaped(in[i+1]))
			i += 2
			continue
		}
		r, n := escapedRune(in, i)
		if n == 0 {
			return "", &SyntaxError{Offset: i + 1, Reason: "lone surrogate"}
		}
		out = utf8.AppendRune(out, r)
		i += n
	}
	return string(out), nil
}

func unescaped(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// escapedRune decodes the \uXXXX at i, with its second half if it is a
// surrogate; n is how many bytes that were, 0 for half a pair.
func escapedRune(in []byte, i int) (r rune, n int) {
	r, _ = hex4(in, i+2)
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if i+8 > len(in) || in[i+6] != '\\' || in[i+7] != 'u' {
		return 0, 0
	}
	low, ok := hex4(in, i+8)
	if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
		return 0, 0
	}
	return r, 12
}

// Quote encodes s as a JSON string with nothing escaped but what must be: the
// quote, the backslash and control characters. It is meant for text of our own;
// bytes of s that are not UTF-8 become U+FFFD.
func Quote(s string) []byte { return appendQuoted(make([]byte, 0, len(s)+2), s) }

func appendQuoted(out []byte, s string) []byte {
	out = append(out, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r < ' ':
			out = appendControl(out, byte(r))
		default:
			out = utf8.AppendRune(out, r)
		}
	}
	return append(out, '"')
}

// appendControl escapes a control character as RFC 8785 wants it.
func appendControl(out []byte, c byte) []byte {
	switch c {
	case '\b':
		return append(out, `\b`...)
	case '\t':
		return append(out, `\t`...)
	case '\n':
		return append(out, `\n`...)
	case '\f':
		return append(out, `\f`...)
	case '\r':
		return append(out, `\r`...)
	}
	const hex = "0123456789abcdef"
	return append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}
