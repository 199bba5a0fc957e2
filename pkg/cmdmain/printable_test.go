package cmdmain

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// S4: nothing foreign moves the cursor, reorders a line or hides on a terminal.
func TestPrintable(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"", ""},
		{"plain text ~", "plain text ~"},
		{"Grüße, 世界 ❤", "Grüße, 世界 ❤"},
		{"\x1b[2J", `\u{1b}[2J`},
		{"a\tb\r\nc\x00", `a\u{9}b\u{d}\u{a}c\u{0}`},
		{"\x7f\u0080\u009b", `\u{7f}\u{80}\u{9b}`},
		{"\u202egnp.exe\u2066", `\u{202e}gnp.exe\u{2066}`},
		{"a\u200bb\u200d\ufeff\u00ad", `a\u{200b}b\u{200d}\u{feff}\u{ad}`},
		{"x\u2028y\u00a0z", `x\u{2028}y\u{a0}z`},
		{"\u3164\u2800\ufe0f\U000e0041\U000e0101", `\u{3164}\u{2800}\u{fe0f}\u{e0041}\u{e0101}`},
		{"\xff\xc3(\xed\xa0\x80", `\xFF\xC3(\xED\xA0\x80`},
		{"\ufffd", "\ufffd"},
	} {
		if got := Printable(tc.in); got != tc.want {
			t.Errorf("Printable(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
}

func FuzzPrintable(f *testing.F) {
	f.Add("a\x1b[31m\xff\u202e")
	f.Add(strings.Repeat("\xf0\x9f", 5))
	f.Fuzz(func(t *testing.T, s string) {
		out := Printable(s)
		if !utf8.ValidString(out) || strings.ContainsAny(out, "\x1b\r\n\t\x00\x7f\u202e\u200b") {
			t.Errorf("Printable(%q) = %q", s, out)
		}
		if again := Printable(out); again != out {
			t.Errorf("not stable: %q, then %q", out, again)
		}
	})
}

// MB-217: text keeps its lines and its tabs; MB-216: and nothing else that acts.
func TestPrintableText(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"", ""},
		{"日本語 ångström 🐛\ttab\n", "日本語 ångström 🐛\ttab\n"},
		{"a\r\nb\r\n", "a\nb\n"},
		{"over\rwritten\r", `over\u{d}written\u{d}`},
		{"\x1b]0;t\a\tb\n\n\u202ec\xff", "\\u{1b}]0;t\\u{7}\tb\n\n\\u{202e}c\\xFF"},
	} {
		if got := PrintableText(tc.in); got != tc.want {
			t.Errorf("PrintableText(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
}

// JSON on a terminal says the same as in a pipe.
func TestPrintableJSON(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{`{"a":[1.0,1e400]}`, `{"a":[1.0,1e400]}`},
		{"{\n\t\"ä\":\r\n 1}", "{\n \"ä\": \n 1}"},
		{"\"\u009b31m\u202e\u200b\x7f\"", `"\u009b31m\u202e\u200b\u007f"`},
		{"\"\U000e0041🐛\"", `"\udb40\udc41🐛"`},
		{`"\u001b[2J"`, `"\u001b[2J"`},
		{"\"\xff\"", "\"\ufffd\""},
	} {
		if got := string(PrintableJSON([]byte(tc.in))); got != tc.want {
			t.Errorf("PrintableJSON(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
}

func FuzzPrintableJSON(f *testing.F) {
	f.Add([]byte("{\"a\u202e\":\t[\"\u009b\",1e400,\"\\\\\U000e0101\"]}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var before, after any
		if !utf8.Valid(raw) || json.Unmarshal(raw, &before) != nil {
			return
		}
		out := PrintableJSON(raw)
		if err := json.Unmarshal(out, &after); err != nil || !reflect.DeepEqual(before, after) {
			t.Errorf("%q became %q: %v", raw, out, err)
		}
		if text := strings.ReplaceAll(string(out), "\n", ""); Printable(text) != text {
			t.Errorf("%q can act on a terminal", out)
		}
	})
}

// S4: long arguments lose their middle and say how much.
func TestCut(t *testing.T) {
	for _, tc := range []struct {
		in   string
		max  int
		want string
	}{
		{"short", 5, "short"},
		{"abcdefghij", 4, "ab…(6 more)…ij"},
		{"äöüßäöüß", 3, "ä…(5 more)…üß"},
		{"abc", 0, "…(3 more)…"},
	} {
		if got := Cut(tc.in, tc.max); got != tc.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", tc.in, tc.max, got, tc.want)
		}
	}
}
