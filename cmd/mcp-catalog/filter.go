package main

import (
	"fmt"
	"strings"

	"postern/pkg/call"
	"postern/pkg/cmdmain"
	"postern/pkg/config"
	"postern/pkg/policy"
)

// filter is one PATTERN: on server and tool when it has a slash, else on the
// name that agents see.
type filter struct {
	text         string
	server, name string // of SERVER/TOOL; server is "" otherwise
}

func parseFilters(patterns []string) ([]*filter, error) {
	var out []*filter
	for _, text := range patterns {
		if err := config.CheckPattern(text); err != nil {
			return nil, cmdmain.Usagef("pattern %q: %w", text, err)
		}
		if kind, _, ok := strings.Cut(text, ":"); ok && (kind == "exec" || kind == "resource" || kind == "prompt") {
			return nil, cmdmain.Usagef("pattern %q: it is not about tools", text)
		}
		f := &filter{text: text, name: text}
		if server, name, ok := strings.Cut(text, "/"); ok {
			f.server, f.name = server, name
		}
		out = append(out, f)
	}
	return out, nil
}

func (f *filter) matches(t *call.Tool) bool {
	if f.server != "" {
		return policy.Match(f.server, t.Server.Declared.ID) && policy.Match(f.name, t.Def.Name)
	}
	return policy.Match(f.name, t.Exposed)
}

// mayServe reports whether tools of the server could fit, were they known.
func (f *filter) mayServe(id string) bool {
	if f.server != "" {
		return policy.Match(f.server, id)
	}
	head, prefix := f.name, id+"__"
	if i := strings.IndexAny(head, "*?"); i >= 0 {
		head = head[:i]
		if strings.HasPrefix(prefix, head) {
			return true
		}
	}
	return strings.HasPrefix(head, prefix)
}

func (f *filter) literal() bool { return !strings.ContainsAny(f.text, "*?") }

// matchAny reports whether the tool fits one of the filters, or there are
// none, and notes in found each that it fits.
func matchAny(filters []*filter, t *call.Tool, found map[*filter]bool) bool {
	any := len(filters) == 0
	for _, f := range filters {
		if f.matches(t) {
			found[f], any = true, true
		}
	}
	return any
}

// sayUnlisted names the servers whose tools could have been meant but are not
// known, with the command that changes it: an empty list must not look like a
// server without tools.
func sayUnlisted(env *cmdmain.Env, v *call.View, filters []*filter) {
	for _, s := range v.Servers {
		meant := len(filters) == 0
		for _, f := range filters {
			meant = meant || f.mayServe(s.Declared.ID)
		}
		if !meant || s.Catalog != nil || !s.Declared.Enabled {
			continue
		}
		env.Sayf("the tools of server %s are not known", s.Declared.ID)
		env.Sayf("hint: %s", discover(s))
	}
}

// discover is the command after which the tools of s are known.
func discover(s *call.Server) string {
	if !s.Usable() {
		return allow(s)
	}
	return "mcp-catalog refresh " + s.Declared.ID
}

// unmatched fails for a pattern without wildcards that names nothing: that is
// a name, and it is wrong.
func unmatched(v *call.View, filters []*filter, found map[*filter]bool) error {
	for _, f := range filters {
		if f.literal() && !found[f] {
			return unknownTool(v, f.text)
		}
	}
	return nil
}

// unknownTool is the error for a name that is neither a tool's nor, where that
// could have been meant, a server's.
func unknownTool(v *call.View, name string) error {
	e := &cmdmain.Error{Word: string(call.UnknownTool), Exit: cmdmain.Usage}
	id, tool, pair := strings.Cut(name, "/")
	s := v.Server(id)
	switch {
	case pair && s == nil:
		return unknownServer(v, id)
	case pair && s.Catalog == nil:
		e.Err = fmt.Errorf("the tools of server %s are not known", id)
		e.Hints = []string{discover(s)}
	case pair:
		e.Err = fmt.Errorf("server %s has no tool %q%s", id, tool, cmdmain.DidYouMean(tool, toolNames(s)))
		e.Hints = []string{"mcp-catalog tools '" + id + "/*'"}
	case s != nil:
		e.Err = fmt.Errorf("%q is a server, not a tool", name)
		e.Hints = []string{"mcp-catalog tools '" + id + "/*'"}
	default:
		e.Err = fmt.Errorf("there is no tool %q%s", name, cmdmain.DidYouMean(name, exposedNames(v)))
		e.Hints = []string{"mcp-catalog tools"}
	}
	return e
}

func toolNames(s *call.Server) []string {
	names := make([]string, len(s.Tools))
	for i, t := range s.Tools {
		names[i] = t.Def.Name
	}
	return names
}

func exposedNames(v *call.View) []string {
	var names []string
	for _, s := range v.Servers {
		for _, t := range s.Tools {
			names = append(names, t.Exposed)
		}
	}
	return names
}
