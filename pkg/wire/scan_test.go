package wire

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// valid is what the scanner says of a text.
func valid(text string) bool {
	s := scan{b: []byte(text)}
	start := s.space(0)
	end := s.value(start, 0)
	return end >= 0 && s.space(end) == len(text) && s.badUTF8 == 0
}

// The scanner takes what encoding/json takes, token by token.
func TestScanAgreesWithEncodingJSON(t *testing.T) { // R2
	texts := []string{
		"", " ", "\t\r\n 1 \n", "\v1", "\f1", "\u00a01", "\ufeff1", "1\x00", "\x00",
		"0", "-0", "00", "01", "-01", "1", "-", "+1", ".5", "5.", "0.5", "-0.50", "1e", "1e+", "1e5", "1E-5", "1e05", "1.e5", "1.5e+300", "1e400", "0x1", "1_0", "Infinity", "NaN", "- 1", "1 2", "9007199254740993",
		"true", "false", "null", "True", "tru", "truee", "nul", "nullx", "fals", "t", "n",
		`""`, `"`, `"a`, `'a'`, `"\""`, `"\\"`, `"\"`, `"\/\b\f\n\r\t"`, `"\a"`, `"\u"`, `"\u12"`, `"\u123g"`, `"\u12AF"`, `"\U1234"`, `"\ud800"`, "\"\x7f\"", "\"\x1f\"", "\"\n\"", "\"\x00\"",
		"[]", "[ ]", "[", "]", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[1,2]", "[[],[[]]]", "[1}", "[\"a\",null]",
		"{}", "{ }", "{", "}", `{"a"}`, `{"a":}`, `{"a":1`, `{"a":1,}`, `{,}`, `{"a":1 "b":2}`, `{"a":1,"b":2}`, `{a:1}`, `{1:1}`, `{"a":1]`, `{"a"::1}`, `{"a" : { "b" : [ ] } }`, `{"a":1}{}`, `{"a":1}]`,
		"//x", "1//x", "/**/1", "undefined", "\"a\"b", "é", "[é]",
	}
	for _, text := range texts {
		if got, want := valid(text), json.Valid([]byte(text)); got != want {
			t.Errorf("%q: %v, encoding/json says %v", text, got, want)
		}
	}
}

// Strings are read eight bytes at a time: whatever interrupts one is seen at
// every place of a word, behind any neighbour.
func TestScanStringsAtEveryOffset(t *testing.T) {
	for n := range 20 {
		for _, fill := range []string{"a", "\x7f", "!", "#", "[", "]", " "} {
			pad := strings.Repeat(fill, n)
			for _, special := range []string{`\"`, `\\`, `\u00e9`, "é", "€", "😀", "\x1f", "\x00", "\n", `\x`, "\x80", "\xc3", "\xff", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\xaf", `"`, ""} {
				for _, tail := range []string{"", "b", strings.Repeat("b", 9)} {
					text := `"` + pad + special + tail + `"`
					want := json.Valid([]byte(text)) && utf8.ValidString(text)
					if got := valid(text); got != want {
						t.Fatalf("%q: %v, want %v", text, got, want)
					}
					var std string
					s, err := Unquote([]byte(text))
					if want && (err != nil || json.Unmarshal([]byte(text), &std) != nil || s != std) {
						t.Fatalf("%q: %q %v, encoding/json has %q", text, s, err, std)
					}
				}
			}
		}
	}
}

// Every beginning of a message is refused as what it is, and never panics.
func TestTruncatedMessages(t *testing.T) {
	for _, line := range fuzzLines {
		full := []byte(line)
		_, fullErr := Parse(full)
		id, known := HeadID(full)
		for n := range full {
			if m, err := Parse(full[:n]); err == nil && strings.TrimSpace(line) != strings.TrimSpace(string(m.Raw)) {
				t.Errorf("%s: the first %d bytes are a message", line, n)
			}
			if head, ok := HeadID(full[:n]); ok && fullErr == nil && (!known || string(head) != string(id)) {
				t.Errorf("%s: the first %d bytes have the id %s", line, n, head)
			}
			_ = EachMember(full[:n], func([]byte, Span) bool { return true })
			_ = EachElement(full[:n], func(Span) bool { return true })
			_, _ = Canonical(full[:n])
			_, _ = Unquote(full[:n])
		}
	}
}

func TestSpan(t *testing.T) {
	b := []byte("0123")
	if (Span{}).Ok() || (Span{}).Of(b) != nil || string(Span{1, 3}.Of(b)) != "12" {
		t.Error("spans")
	}
	part := Span{0, 2}.Of(b)
	_ = append(part, 'x')
	if string(b) != "0123" {
		t.Error("appending to a span wrote into its message")
	}
	e := &SyntaxError{Offset: 7, Reason: "no string"}
	if e.Error() != "no string at byte 7" {
		t.Error(e)
	}
}
