package catalog

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Change is how the tools of a server differ between two catalogs, by the
// server's own names and in its order.
type Change struct{ Added, Removed, Changed []string }

// Empty reports whether there is no difference.
func (c Change) Empty() bool { return len(c.Added)+len(c.Removed)+len(c.Changed) == 0 }

// Compare finds out what became of the tools of old in new. Either may be nil,
// which has no tools. A tool is changed when its digest is another; a tool
// under a new name is a new tool, whatever its content (MB-203).
func Compare(old, new *Catalog) Change {
	was, is := byName(old), byName(new)
	var c Change
	for _, t := range tools(new) {
		switch o := was[t.Name]; {
		case o == nil:
			c.Added = append(c.Added, t.Name)
		case !bytes.Equal(o.Raw, t.Raw) && o.Digest() != t.Digest():
			c.Changed = append(c.Changed, t.Name)
		}
	}
	for _, t := range tools(old) {
		if is[t.Name] == nil {
			c.Removed = append(c.Removed, t.Name)
		}
	}
	return c
}

// Same reports whether nothing that an agent could see of the server differs:
// the four lists, byte for byte and in their order, the capabilities and the
// instructions. Either may be nil, which is a server that says nothing.
func Same(old, new *Catalog) bool {
	if old == nil {
		old = &Catalog{}
	}
	if new == nil {
		new = &Catalog{}
	}
	return old.Instructions == new.Instructions && bytes.Equal(old.Capabilities, new.Capabilities) &&
		sameItems(old.Tools, new.Tools) && sameItems(old.Prompts, new.Prompts) &&
		sameItems(old.Resources, new.Resources) && sameItems(old.ResourceTemplates, new.ResourceTemplates)
}

func sameItems(a, b []json.RawMessage) bool {
	return slices.EqualFunc(a, b, func(x, y json.RawMessage) bool { return bytes.Equal(x, y) })
}

func tools(c *Catalog) []Tool {
	if c == nil {
		return nil
	}
	return c.parsed
}

func byName(c *Catalog) map[string]*Tool {
	list := tools(c)
	m := make(map[string]*Tool, len(list))
	for i := range list {
		m[list[i].Name] = &list[i]
	}
	return m
}
