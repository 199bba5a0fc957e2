package main

import (
	"slices"
	"strings"

	"postern/pkg/call"
	"postern/pkg/catalog"
	"postern/pkg/policy"
)

// known is everything that was ever recorded, and the servers of which nothing
// was.
type known struct {
	items     []policy.Tool   // tools, prompts and resources
	templates []policy.Tool   // resource templates, by their text
	servers   map[string]bool // true once one of that id was listed
	commands  []policy.Tool
}

// ownResources is the template of the gateway's own resources.
const ownResources = "postern://results/{id}"

func knownItems(v *call.View, recorded []*catalog.Catalog) *known {
	k := &known{servers: map[string]bool{}}
	k.templates = []policy.Tool{{Kind: policy.ResourceKind, Server: policy.Gateway, Name: ownResources}}
	for _, c := range recorded {
		k.add(c, v.Config.NamesMax)
	}
	for _, s := range v.Servers {
		k.servers[s.Declared.ID] = k.servers[s.Declared.ID] || s.Catalog != nil
		k.commands = append(k.commands, policy.Tool{Server: s.Declared.ID, Exec: s.Declared.CommandLine()})
	}
	return k
}

func (k *known) add(c *catalog.Catalog, namesMax int) {
	id := c.Identity.Server
	k.servers[id] = true
	for _, t := range c.Parsed() {
		k.items = append(k.items, policy.Tool{Server: id, Name: t.Name, Exposed: catalog.Exposed(id, t.Name, namesMax)})
	}
	for _, p := range c.ParsedPrompts() {
		k.items = append(k.items, policy.Tool{Kind: policy.PromptKind, Server: id, Name: p.Name})
	}
	for _, r := range c.ParsedResources() {
		k.items = append(k.items, policy.Tool{Kind: policy.ResourceKind, Server: id, Name: r.URI})
	}
	for _, t := range c.ParsedTemplates() {
		k.templates = append(k.templates, policy.Tool{Kind: policy.ResourceKind, Server: id, Name: t.URI})
	}
}

// server reports whether a pattern covers an id that is declared, recorded, or
// the gateway's own.
func (k *known) server(pattern string) bool {
	if policy.Match(pattern, policy.Gateway) {
		return true
	}
	for id := range k.servers {
		if policy.Match(pattern, id) {
			return true
		}
	}
	return false
}

// covers reports whether a pattern covers something, or may.
func (k *known) covers(pattern string) bool {
	kind, rest := policy.KindOf(pattern)
	if strings.HasPrefix(rest, "exec:") && kind == policy.ToolKind {
		return slices.ContainsFunc(k.commands, func(t policy.Tool) bool { return policy.Matches(pattern, t) })
	}
	f := &filter{name: rest}
	if server, name, ok := strings.Cut(rest, "/"); ok {
		f.server, f.name = server, name
	}
	if kind == policy.ToolKind && k.mayBeMethod(f) {
		return true
	}
	for id, listed := range k.servers {
		if !listed && f.mayServe(id) {
			return true
		}
	}
	if slices.ContainsFunc(k.items, func(t policy.Tool) bool { return policy.Matches(pattern, t) }) {
		return true
	}
	return kind == policy.ResourceKind && slices.ContainsFunc(k.templates, func(t policy.Tool) bool {
		return policy.Match(f.server, t.Server) && mayMeet(f.name, t.Name)
	})
}

// mayBeMethod reports whether a pattern on tools is one that no list can answer:
// on the gateway's own, or on a method, which has a slash, of a known server.
func (k *known) mayBeMethod(f *filter) bool {
	if f.server == policy.Gateway || strings.HasPrefix(f.name, policy.Gateway+"__") {
		return true
	}
	return f.server != "" && strings.Contains(f.name, "/") && k.server(f.server)
}

// mayMeet reports whether a pattern could cover a URI made of a template, by
// what stands before the first run of each: one begins with the other.
func mayMeet(pattern, template string) bool {
	before := func(s, stops string) string {
		if i := strings.IndexAny(s, stops); i >= 0 {
			return s[:i]
		}
		return s
	}
	a, b := before(pattern, "*?"), before(template, "{")
	return policy.Match(pattern, template) || strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}
