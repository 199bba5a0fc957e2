package catalog

import (
	"encoding/json"
	"fmt"
	"strings"

	"postern/pkg/config"
	"postern/pkg/wire"
)

// Template is one resource template; see Prompt.
type Template struct {
	URI string // the server's own uriTemplate
	Raw []byte // the definition as sent

	uri   wire.Span
	parts []part
}

// part is a literal and the run that may follow it; the last part of a template
// is its end.
type part struct {
	literal string
	run     filler
}

// filler is what an expression of a template may stand for.
type filler uint8

const (
	none    filler = iota // nothing: the template ends here
	segment               // any bytes but a slash
	anyRun                // any bytes
)

// WithURI is the definition under another template text, every other byte as
// sent. A text that stays the same keeps its spelling.
func (t *Template) WithURI(uri string) []byte { return renamed(t.Raw, t.uri, t.URI, uri) }

// ParsedTemplates is the resource templates in the server's order, one for each
// of c.ResourceTemplates. The slice is shared and not to be changed.
func (c *Catalog) ParsedTemplates() []Template { return c.templates }

// Template finds the usable template that uri is the text of, else the first
// that it matches; nil when there is neither.
func (c *Catalog) Template(uri string) *Template {
	for i := range c.templates {
		if c.templates[i].URI == uri {
			return &c.templates[i]
		}
	}
	for i := range c.templates {
		if c.templates[i].Matches(uri) {
			return &c.templates[i]
		}
	}
	return nil
}

// usableTemplates takes a list in.
func usableTemplates(items []json.RawMessage, no *refusals) []Template {
	out := make([]Template, 0, len(items))
	for i, item := range items {
		t := Template{Raw: wire.OneLine(item)}
		var err error
		if t.URI, t.uri, err = keyOf(t.Raw, "uriTemplate", uriText); err != nil {
			no.add(fmt.Sprintf("resourceTemplates[%d]", i), err.Error())
			continue
		}
		t.parts = parseTemplate(t.URI)
		if len(t.parts)-1 > config.MaxExpressions {
			no.add("resource:"+clip(t.URI), fmt.Sprintf("it has more than %d expressions", config.MaxExpressions))
			continue
		}
		out = append(out, t)
	}
	return out
}

// parseTemplate cuts a template (RFC 6570) at its expressions. Neighbours that
// have no literal between them are one run. What only looks like an expression,
// an open brace or an empty pair, stands for itself.
func parseTemplate(text string) []part {
	var parts []part
	begin := 0 // of the literal that is being read
	for i := 0; i < len(text); i++ {
		if text[i] != '{' {
			continue
		}
		n := strings.IndexAny(text[i+1:], "{}")
		if n < 1 || text[i+1+n] != '}' {
			continue
		}
		kind := expression(text[i+1])
		if last := len(parts) - 1; begin == i && last >= 0 {
			parts[last].run = max(parts[last].run, kind)
		} else {
			parts = append(parts, part{text[begin:i], kind})
		}
		i += 1 + n
		begin = i + 1
	}
	return append(parts, part{literal: text[begin:]})
}

// expression is what an expression stands for, by its first byte: {x} is encoded
// and so without a slash; those with an operator are taken to be anything.
func expression(first byte) filler {
	switch {
	case 'a' <= first && first <= 'z', 'A' <= first && first <= 'Z', '0' <= first && first <= '9', first == '_', first == '%':
		return segment
	}
	return anyRun
}

// Matches reports whether uri may have been made of the template: its literals
// stand in uri byte for byte, {x} may stand for any bytes but "/", every other
// expression ({+x}, {/x*}, {?x*} …) for any at all. It is a question of routing:
// whether an expression could have produced such bytes is the server's to judge.
// The time is linear in uri for a given template.
func (t *Template) Matches(uri string) bool {
	first, last := t.parts[0], t.parts[len(t.parts)-1]
	if len(t.parts) == 1 {
		return uri == first.literal
	}
	rest, ok := strings.CutPrefix(uri, first.literal)
	if !ok {
		return false
	}
	if rest, ok = strings.CutSuffix(rest, last.literal); !ok {
		return false
	}
	if len(t.parts) == 2 {
		return first.run == anyRun || strings.IndexByte(rest, '/') < 0
	}
	return runs(rest, first.run, t.parts[1:len(t.parts)-1])
}

// runs matches what is between the first literal and the last: a run, and then
// literals each followed by a run. ends holds where what was matched so far may
// end, which is all that matters of it.
func runs(text string, before filler, middle []part) bool {
	ends := make([]bool, len(text)+1)
	ends[0] = true
	spread(ends, text, before)
	next := make([]bool, len(text)+1)
	for _, p := range middle {
		clear(next)
		found := false
		for at := range occurrences(text, p.literal) {
			if ends[at] {
				next[at+len(p.literal)], found = true, true
			}
		}
		if !found {
			return false
		}
		ends, next = next, ends
		spread(ends, text, p.run)
	}
	return ends[len(text)]
}

// spread lets each end go on as far as a run reaches.
func spread(ends []bool, text string, r filler) {
	on := false
	for i := range ends {
		if on && r == segment && text[i-1] == '/' {
			on = false
		}
		on = on || ends[i]
		ends[i] = on
	}
}

// occurrences gives where a literal that is not empty stands in text, those that
// overlap included, in time linear in both (Knuth, Morris and Pratt).
func occurrences(text, literal string) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		back := borders(literal)
		k := 0 // bytes of literal that end at i
		for i := range len(text) {
			for k > 0 && (k == len(literal) || text[i] != literal[k]) {
				k = back[k-1]
			}
			if text[i] == literal[k] {
				k++
			}
			if k == len(literal) && !yield(i+1-k) {
				return
			}
		}
	}
}

// borders is, for each beginning of s, the length of the longest shorter
// beginning that also ends it.
func borders(s string) []int {
	back := make([]int, len(s))
	k := 0
	for i := 1; i < len(s); i++ {
		for k > 0 && s[i] != s[k] {
			k = back[k-1]
		}
		if s[i] == s[k] {
			k++
		}
		back[i] = k
	}
	return back
}
