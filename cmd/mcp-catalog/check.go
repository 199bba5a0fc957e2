package main

import (
	"fmt"
	"slices"

	"postern/pkg/call"
	"postern/pkg/catalog"
	"postern/pkg/config"
	"postern/pkg/policy"
)

// idlePatterns finds the patterns that cover nothing: a deny with a mistake in it denies
// nothing, and nobody sees that (R53). Each is "FILE:LINE: what". A pattern that
// could mean a server whose lists were never read is not judged.
func idlePatterns(v *call.View, recorded []*catalog.Catalog) []string {
	k := knownItems(v, recorded)
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
					found = append(found, fmt.Sprintf("%s: policies.%s.%s: %q covers no %s of any recorded list", one.At, name, list.field, one.Text, kindWord(one.Text)))
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

func kindWord(pattern string) string {
	switch kind, _ := policy.KindOf(pattern); kind {
	case policy.ResourceKind:
		return "resource"
	case policy.PromptKind:
		return "prompt"
	}
	return "tool"
}
