package catalog

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"postern/pkg/config"
)

func template(text string) *Template { return &Template{URI: text, parts: parseTemplate(text)} }

// R61: a template says which URIs are its server's.
func TestTemplateMatches(t *testing.T) {
	for text, uris := range map[string]string{ // no: with ! in front
		"file:///{path}":       "file:///a file:/// file:///a%2Fb !file:///a/b !file://a !FILE:///a",
		"file:///{+path}":      "file:///a/b file:/// !file://a",
		"a:{x}/b{y}":           "a:1/b2 a:/b !a:1/c !a:1/2/b3 a:1/b !a:1/b2/3",
		"a:{x}{y}z":            "a:z a:1z a:zz !a:1/z !a:1",
		"a:{x}{+y}z":           "a:1/z a:z",
		"a:{/x*}":              "a:/1/2 a:",
		"a:b{?q,r}":            "a:b a:b?q=1&r=2 !a:c",
		"a:{#x}end":            "a:#/end a:end !a:en",
		"a:{x:3}":              "a:123 a:1234",
		"a:{x,y}":              "a:1,2 !a:1/2",
		"plain:text":           "plain:text !plain:tex !plain:texts",
		"odd:{}":               "odd:{} !odd:x",
		"odd:{x":               "odd:{x !odd:y",
		"odd:{a{b}":            "odd:{a odd:{a1 !odd:a1",
		"odd:}{x}":             "odd:}1 !odd:1",
		"{x}":                  "anything a:b !a/b",
		"{+x}":                 "anything://at/all ",
		"{+a}/b{x}c":           "q/b/b1c q/bc /bbc !q/b1 q/b/bc !q/b1c/",
		"a:{x}aab{y}":          "a:aaab a:aab a:aaaab1 !a:ab",
		"é:{x}ü{y}":            "é:1ü2 !e:1ü2 é:ü",
		"a:{+x}ab{+y}ab{+z}ab": "a:ababab !a:abab a:abxabxab a:aabab/ab",
	} {
		for _, uri := range strings.Split(uris, " ") {
			uri, no := strings.CutPrefix(uri, "!")
			if got := template(text).Matches(uri); got == no {
				t.Errorf("%s, %q: %v", text, uri, got)
			}
		}
	}
}

// A text that is exactly a template's goes before a template that matches it, and
// the first of several that match is the one.
func TestTemplateIsFound(t *testing.T) {
	c := must(t, Raw{ResourceTemplates: raws(`{"uriTemplate":"a:{+all}"}`, `{"uriTemplate":"a:b/{x}"}`, `{"uriTemplate":"a:b/{x}","name":"again"}`)})
	for uri, want := range map[string]int{"a:b/1": 0, "a:b/{x}": 1, "a:{+all}": 0, "b:": -1} {
		got := c.Template(uri)
		if want < 0 && got != nil || want >= 0 && got != &c.ParsedTemplates()[want] {
			t.Errorf("%s: %v", uri, got)
		}
	}
}

// A match does not explode: with backtracking this one would not end. What does
// not begin and end as the template does costs nothing.
func TestTemplateIsLinear(t *testing.T) {
	uri := strings.Repeat("a", config.MaxURIBytes)
	worst := template(strings.Repeat("{+x}"+strings.Repeat("a", 100), config.MaxExpressions-1) + "{x}b{x}")
	if worst.Matches(uri) || !worst.Matches(uri+"b") {
		t.Error("the wrong answer")
	}
	usual, other := template("a:b/{x}"), template("a:{x}/b{y}c")
	if n := testing.AllocsPerRun(10, func() { usual.Matches("a:b/c"); other.Matches("other"); other.Matches("a:b") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzTemplate: what a template matches is what a regular expression made of it
// does, and it matches its own text.
func FuzzTemplate(f *testing.F) {
	for text, uri := range map[string]string{
		"file:///{path}": "file:///a", "a:{x}{+y}z": "a:1/z", "odd:{a{b}": "odd:{a1", "{+a}/b{x}c": "q/b/b1c", "{x}aab{y}aa{z}": "aaaabaaa", "{": "{",
	} {
		f.Add(text, uri)
	}
	expression := regexp.MustCompile(`\{[^{}]+\}`)
	f.Fuzz(func(t *testing.T, text, uri string) {
		if !utf8.ValidString(text) || !utf8.ValidString(uri) || strings.Count(text, "{") > config.MaxExpressions {
			return
		}
		var pattern strings.Builder
		pattern.WriteString(`(?s)^`)
		at := 0
		for _, e := range expression.FindAllStringIndex(text, -1) {
			pattern.WriteString(regexp.QuoteMeta(text[at:e[0]]))
			if strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_%", rune(text[e[0]+1])) {
				pattern.WriteString(`[^/]*`)
			} else {
				pattern.WriteString(`.*`)
			}
			at = e[1]
		}
		pattern.WriteString(regexp.QuoteMeta(text[at:]) + `$`)
		tt := template(text)
		if got, want := tt.Matches(uri), regexp.MustCompile(pattern.String()).MatchString(uri); got != want {
			t.Errorf("%q, %q: %v, want %v", text, uri, got, want)
		}
		if !strings.Contains(text, "/") && !tt.Matches(text) {
			t.Errorf("%q does not match itself", text)
		}
	})
}
