package catalog

import (
	"encoding/json"
	"fmt"

	"postern/pkg/wire"
)

// Prompt is one prompt definition. Slices share memory with the catalog and are
// not to be changed, here as in Resource and Template.
type Prompt struct {
	Name string // the server's own
	Raw  []byte // the definition as sent

	name wire.Span
}

// WithName is the definition under the exposed name, every other byte as sent.
// A name that is already the exposed one keeps its spelling.
func (p *Prompt) WithName(exposed string) []byte { return renamed(p.Raw, p.name, p.Name, exposed) }

// renamed puts another text in the place of one member.
func renamed(raw []byte, at wire.Span, is, wanted string) []byte {
	if is == wanted {
		return raw
	}
	return wire.Splice(raw, wire.Edit{Span: at, New: wire.Quote(wanted)})
}

// ParsedPrompts is the prompts in the server's order, one for each of c.Prompts.
// The slice is shared and not to be changed.
func (c *Catalog) ParsedPrompts() []Prompt { return c.prompts }

// Prompt finds a usable prompt by the server's own name; nil when there is none.
func (c *Catalog) Prompt(name string) *Prompt {
	for i := range c.prompts {
		if c.prompts[i].Name == name {
			return &c.prompts[i]
		}
	}
	return nil
}

// usablePrompts takes a list in. Of several with one name only the first can be
// asked for.
func usablePrompts(items []json.RawMessage, no *refusals) []Prompt {
	out := make([]Prompt, 0, len(items))
	seen := make(map[string]bool, len(items))
	for i, item := range items {
		p := Prompt{Raw: wire.OneLine(item)}
		var err error
		p.Name, p.name, err = keyOf(p.Raw, "name", toolName)
		switch {
		case err != nil:
			no.add(fmt.Sprintf("prompts[%d]", i), err.Error())
		case seen[p.Name]:
			no.add("prompt:"+p.Name, "an earlier prompt has the same name")
		default:
			seen[p.Name] = true
			out = append(out, p)
		}
	}
	return out
}

// keyOf is the member by which an item is asked for, checked, and where it
// stands. Like a tool's, it may be there once only and in one spelling.
func keyOf(item []byte, member string, check func([]byte) (string, error)) (string, wire.Span, error) {
	var at [1]wire.Span
	if err := wire.Lookup(item, []string{member}, at[:]); err != nil {
		return "", wire.Span{}, err
	}
	key, err := check(at[0].Of(item))
	return key, at[0], err
}

// rawOf is the bytes of parsed items, as a catalog's lists hold them.
func rawOf[T any](items []T, raw func(*T) []byte) []json.RawMessage {
	out := make([]json.RawMessage, len(items))
	for i := range items {
		out[i] = raw(&items[i])
	}
	return out
}
