package secret

import (
	"fmt"
	"strings"
)

// maxNesting bounds defaults inside defaults: deeper is a mistake or an attack.
const maxNesting = 8

// Template is text with references, as ParseTemplate read it. The zero
// Template is the empty text. It is immutable and safe for concurrent use.
type Template struct {
	parts []part
}

// part is literal text, or a reference when name is set.
type part struct {
	text     string
	name     string
	fallback *Template
}

// SyntaxError is a dollar sign that begins no reference (C30).
type SyntaxError struct {
	// Text is the offending piece, from its dollar sign on, cut at 40 bytes.
	Text string
	// Why says what is wrong and what to write instead.
	Why string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%q: %s", e.Text, e.Why) }

// ParseTemplate reads s by the grammar of the package doc. Its error is always
// a *SyntaxError.
func ParseTemplate(s string) (Template, error) {
	t, rest, err := parse(s, 0)
	if err != nil {
		return Template{}, err
	}
	if rest != "" {
		return Template{}, syntax(rest, "unexpected text")
	}
	return t, nil
}

// parse reads up to the end of s, or inside a default (depth > 0) up to the
// brace that closes it, which it leaves at the beginning of rest.
func parse(s string, depth int) (t Template, rest string, err error) {
	for s != "" {
		stops := "$"
		if depth > 0 {
			stops = "$}"
		}
		i := strings.IndexAny(s, stops)
		if i < 0 {
			t.literal(s)
			return t, "", nil
		}
		t.literal(s[:i])
		s = s[i:]
		switch {
		case s[0] == '}':
			return t, s, nil
		case strings.HasPrefix(s, "$$"):
			t.literal("$")
			s = s[2:]
		default:
			var p part
			if p, s, err = reference(s, depth); err != nil {
				return Template{}, "", err
			}
			t.parts = append(t.parts, p)
		}
	}
	return t, "", nil
}

// reference reads one "${…}" at the beginning of s.
func reference(s string, depth int) (part, string, error) {
	if !strings.HasPrefix(s, "${") {
		return part{}, "", syntax(s, "a dollar sign begins ${NAME}; write $$ for the character itself")
	}
	n := nameLen(s[2:])
	name, rest := s[2:2+n], s[2+n:]
	switch {
	case n == 0 || rest != "" && rest[0] != '}' && !strings.HasPrefix(rest, ":-"):
		return part{}, "", syntax(s, "only ${NAME} and ${NAME:-default} are known; write $${ for the characters themselves")
	case rest == "":
		return part{}, "", syntax(s, "the brace is not closed; write $${ for the characters themselves")
	case rest[0] == '}':
		return part{name: name}, rest[1:], nil
	case depth >= maxNesting:
		return part{}, "", syntax(s, fmt.Sprintf("defaults are nested more than %d deep", maxNesting))
	}
	fallback, rest, err := parse(rest[2:], depth+1)
	if err != nil {
		return part{}, "", err
	}
	if rest == "" {
		return part{}, "", syntax(s, "the brace is not closed; write $${ for the characters themselves")
	}
	return part{name: name, fallback: &fallback}, rest[1:], nil
}

// literal appends text, joined to literal text before it.
func (t *Template) literal(s string) {
	if s == "" {
		return
	}
	if n := len(t.parts); n > 0 && t.parts[n-1].name == "" {
		t.parts[n-1].text += s
		return
	}
	t.parts = append(t.parts, part{text: s})
}

// syntax makes the error for the text that begins with s, cut at a rune.
func syntax(s, why string) error {
	const most = 40
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return &SyntaxError{Text: s, Why: why}
}

// Names lists the names that may be looked up, those in defaults included, in
// order of appearance and each once.
func (t Template) Names() []string {
	var names []string
	seen := map[string]bool{}
	t.walk(func(name string) {
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	})
	return names
}

func (t Template) walk(visit func(name string)) {
	for _, p := range t.parts {
		if p.name == "" {
			continue
		}
		visit(p.name)
		if p.fallback != nil {
			p.fallback.walk(visit)
		}
	}
}

// Expand replaces every reference by what lookup returns for its name. A
// lookup that fails with a *MissingError makes the default take its place, if
// there is one; any other error of lookup ends the expansion and is returned.
// Values are inserted as they are: a dollar sign in a value means nothing.
func (t Template) Expand(lookup func(name string) (string, error)) (string, error) {
	var b strings.Builder
	if err := t.expand(&b, lookup); err != nil {
		return "", err
	}
	return b.String(), nil
}

func (t Template) expand(b *strings.Builder, lookup func(string) (string, error)) error {
	for _, p := range t.parts {
		if p.name == "" {
			b.WriteString(p.text)
			continue
		}
		value, err := lookup(p.name)
		switch {
		case err == nil:
			b.WriteString(value)
		case p.fallback != nil && IsMissing(err):
			if err := p.fallback.expand(b, lookup); err != nil {
				return err
			}
		default:
			return err
		}
	}
	return nil
}
