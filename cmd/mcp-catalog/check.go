package main

import (
	"fmt"
	"slices"
	"strings"

	"postern/pkg/call"
	"postern/pkg/catalog"
	"postern/pkg/config"
	"postern/pkg/policy"
)

// idlePatterns finds the patterns that cover nothing: a deny with a mistake in it denies
// nothing, and nobody sees that (R53). Each is "FILE:LINE: what". A pattern that
// could mean a server whose tools were never listed is not judged.
func idlePatterns(v *call.View, recorded []*catalog.Catalog) []string {
	k := knownTools(v, recorded)
	var found []string
	for _, name := range sortedPolicies(v.Config) {
		p := v.Config.Policies[name]
		for _, s := range p.Servers {
			if !k.server(s.Text) {
				found = append(found, fmt.Sprintf("%s: policies.%s.servers: %q names no server", s.At, name, s.Text))
			}
		}
		for _, list := range []struct {
			field    string
			patterns []config.Pattern
		}{{"tools", p.Tools}, {"deny", p.Deny}, {"ask", p.Ask}} {
			for _, one := range list.patterns {
				if !k.covers(one.Text) {
					found = append(found, fmt.Sprintf("%s: policies.%s.%s: %q covers no tool of any recorded list", one.At, name, list.field, one.Text))
				}
			}
		}
	}
	for _, s := range v.Servers {
		found = append(found, idleToolPatterns(s)...)
	}
	return found
}

// idleToolPatterns are those of a server's own lists, once its tools are known.
func idleToolPatterns(s *call.Server) []string {
	if s.Catalog == nil {
		return nil
	}
	d := s.Declared
	var found []string
	for _, list := range []struct {
		field    string
		patterns []config.Pattern
	}{{"read_tools", d.ReadTools}, {"write_tools", d.WriteTools}, {"execute_tools", d.ExecuteTools}} {
		for _, p := range list.patterns {
			if !slices.ContainsFunc(s.Tools, func(t *call.Tool) bool { return policy.Match(p.Text, t.Def.Name) }) {
				found = append(found, fmt.Sprintf("%s: servers.%s.%s: %q covers no tool of the server", p.At, d.Original, list.field, p.Text))
			}
		}
	}
	return found
}

func sortedPolicies(c *config.Config) []string {
	var names []string
	for name := range c.Policies {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// known is every tool that was ever recorded, and the servers of which nothing
// was.
type known struct {
	tools    []policy.Tool
	servers  map[string]bool // true once one of that id was listed
	commands []policy.Tool
}

func knownTools(v *call.View, recorded []*catalog.Catalog) *known {
	k := &known{servers: map[string]bool{}}
	for _, c := range recorded {
		k.servers[c.Identity.Server] = true
		for _, t := range c.Parsed() {
			k.tools = append(k.tools, policy.Tool{Server: c.Identity.Server, Name: t.Name,
				Exposed: catalog.Exposed(c.Identity.Server, t.Name, v.Config.NamesMax)})
		}
	}
	for _, s := range v.Servers {
		k.servers[s.Declared.ID] = k.servers[s.Declared.ID] || s.Catalog != nil
		k.commands = append(k.commands, policy.Tool{Server: s.Declared.ID, Exec: s.Declared.CommandLine()})
	}
	return k
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

// covers reports whether a pattern covers a tool, or may.
func (k *known) covers(pattern string) bool {
	if strings.HasPrefix(pattern, "exec:") {
		return slices.ContainsFunc(k.commands, func(t policy.Tool) bool { return policy.Matches(pattern, t) })
	}
	f := &filter{name: pattern}
	if server, name, ok := strings.Cut(pattern, "/"); ok {
		f.server, f.name = server, name
	}
	if f.server == policy.Gateway || strings.HasPrefix(f.name, policy.Gateway+"__") {
		return true // its tools are in no recorded list
	}
	for id, listed := range k.servers {
		if !listed && f.mayServe(id) {
			return true
		}
	}
	return slices.ContainsFunc(k.tools, func(t policy.Tool) bool { return policy.Matches(pattern, t) })
}
