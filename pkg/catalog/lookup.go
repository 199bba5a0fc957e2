package catalog

// Tool finds a usable tool by the server's own name; nil when there is none.
// Of several with one name it is the first, which is the one exposed.
func (c *Catalog) Tool(name string) *Tool {
	for i := range c.parsed {
		if c.parsed[i].Name == name {
			return &c.parsed[i]
		}
	}
	return nil
}
