package catalog

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"postern/pkg/wire"
)

// R63: a description ends with a sentence where it can, else with a word.
func TestShorten(t *testing.T) {
	for _, c := range []struct {
		text  string
		chars int
		want  string
	}{
		{"Reads a file.", 13, "Reads a file."},
		{"Reads a file. Writes one.", 20, "Reads a file."},
		{"Reads a file.\nWrites one, or two.", 20, "Reads a file."},
		{"One. Two. Three. Four.", 17, "One. Two. Three."},
		{"A. then goes on and on for ever", 12, "A. then…"}, // too early to end there
		{"Use e.g. a file or v1.2 of it for this", 30, "Use e.g. a file or v1.2 of it…"},
		{"Is it? Yes! And so it goes on", 12, "Is it? Yes!"},
		{"Heading words\n\nAnd what follows them", 20, "Heading words"},
		{"日本語の説明です。もう一つの文がここにあります", 12, "日本語の説明です。"},
		{"oneverylongwordwithoutanyspace", 10, "oneverylo…"},
		{"größer als alles", 9, "größer…"},
		{"ab", 1, "…"},
		{"", 5, ""},
	} {
		if got := Shorten(c.text, c.chars); got != c.want {
			t.Errorf("%q at %d: %q, want %q", c.text, c.chars, got, c.want)
		}
	}
}

func FuzzShorten(f *testing.F) {
	f.Add("Reads a file. Writes one.", 20)
	f.Add("日本語。 é\u0301🐛…", 3)
	f.Add("\n\n\n . . . ", 2)
	f.Fuzz(func(t *testing.T, text string, chars int) {
		if !utf8.ValidString(text) || chars < 1 {
			return
		}
		got := Shorten(text, chars)
		if n := utf8.RuneCountInString(got); n > chars {
			t.Fatalf("%q at %d: %q has %d characters", text, chars, got, n)
		}
		if !utf8.ValidString(got) || got != text && !strings.HasPrefix(text, strings.TrimSuffix(got, "…")) {
			t.Fatalf("%q at %d: %q", text, chars, got)
		}
		if utf8.RuneCountInString(text) <= chars && got != text {
			t.Fatalf("%q fits %d and became %q", text, chars, got)
		}
	})
}

// R4, R63: nothing but the description is cut, whatever stands where, and one
// that is short enough keeps its spelling.
func TestShownKeepsAllElse(t *testing.T) {
	long := strings.Repeat("A sentence of words. ", 30)
	for _, c := range []struct{ raw, want string }{
		{`{ "description":"` + long + `","x":[1.0, 1e400],"name":"t","inputSchema":{"properties":{"a":{"description":"` + long + `"}}}}`,
			`{ "description":"A sentence of words. A sentence of words.","x":[1.0, 1e400],"name":"s__t","inputSchema":{"type":"object","properties":{"a":{"description":"` + long + `"}}}}`},
		{`{"inputSchema":{"type":"object"},"name":"t","title":"` + long + `","description":"sh\u006frt \/"}`,
			`{"inputSchema":{"type":"object"},"name":"s__t","title":"` + long + `","description":"sh\u006frt \/"}`},
		{`{"name":"t","description":null,"inputSchema":{"type":"object"}}`, `{"name":"s__t","description":null,"inputSchema":{"type":"object"}}`},
		{`{"name":"t","description":["` + long + `"],"inputSchema":{"type":"object"}}`, `{"name":"s__t","description":["` + long + `"],"inputSchema":{"type":"object"}}`},
		{`{"description":"` + long + `","name":"t"}`, `{"inputSchema":{"type":"object"},"description":"A sentence of words. A sentence of words.","name":"s__t"}`},
	} {
		built, err := Build(Identity{Server: "s"}, time.Unix(0, 0), Raw{Tools: []json.RawMessage{json.RawMessage(c.raw)}})
		if err != nil || len(built.Parsed()) != 1 {
			t.Fatalf("%s: %v %v", c.raw, err, built.Refused)
		}
		tool := &built.Parsed()[0]
		if got := string(tool.Shown("s__t", 50)); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
		if !bytes.Equal(tool.Shown("s__t", 0), tool.WithName("s__t")) {
			t.Error("0 cuts")
		}
		if err := wire.EachMember(tool.Shown("s__t", 1), func([]byte, wire.Span) bool { return true }); err != nil {
			t.Error(err)
		}
	}
}
