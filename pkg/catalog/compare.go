package catalog

import "bytes"

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
