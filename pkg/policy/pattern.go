package policy

import (
	"slices"
	"strings"

	"postern/pkg/config"
)

type form uint8

const (
	pairForm   form = iota // SERVER/TOOL
	joinedForm             // SERVER__TOOL
	execForm               // exec:GLOB
	itemForm               // resource:SERVER/URI, prompt:SERVER/NAME
)

// separator stands between server id and tool name in a joined name (R60).
const separator = "__"

// pattern is one entry of tools, deny or ask, taken apart.
type pattern struct {
	form         form
	kind         Kind   // item; else ToolKind
	server, name string // pair and item
	glob         string // joined and exec
	at           string
}

func parsePattern(p config.Pattern) (pattern, error) {
	if err := config.CheckPattern(p.Text); err != nil {
		return pattern{}, &PatternError{At: p.At, Text: p.Text, Err: err}
	}
	if glob, ok := strings.CutPrefix(p.Text, "exec:"); ok {
		return pattern{form: execForm, glob: glob, at: p.At}, nil
	}
	if kind, rest := KindOf(p.Text); kind != ToolKind {
		server, name, _ := strings.Cut(rest, "/")
		return pattern{form: itemForm, kind: kind, server: server, name: name, at: p.At}, nil
	}
	if server, name, ok := strings.Cut(p.Text, "/"); ok {
		return pattern{form: pairForm, server: server, name: name, at: p.At}, nil
	}
	return pattern{form: joinedForm, glob: p.Text, at: p.At}, nil
}

func parsePatterns(list []config.Pattern) ([]pattern, error) {
	var out []pattern
	for _, p := range list {
		one, err := parsePattern(p)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// matches compares with the original names, and for a joined pattern with the
// exposed name too where the caller asks for it: a rule copied from what an
// agent shows must not silently miss (MB-134), but an allow list must not be
// reachable by choosing a tool name that is rewritten into it (MB-130).
func (p *pattern) matches(t *Tool, exposed bool) bool {
	switch p.form {
	case execForm:
		return t.Exec != "" && Match(p.glob, t.Exec) // the gateway's own tools run nothing
	case joinedForm:
		return t.Kind.callable() && (matchJoined(p.glob, t.Server, t.Name) || exposed && Match(p.glob, t.Exposed))
	case itemForm:
		return p.kind == t.Kind && Match(p.server, t.Server) && (Match(p.name, t.Name) || exposed && p.matchesSpelling(t))
	default:
		return t.Kind.callable() && Match(p.server, t.Server) && Match(p.name, t.Name)
	}
}

// matchesSpelling reports whether what a server may read in a URI is meant.
func (p *pattern) matchesSpelling(t *Tool) bool {
	return slices.ContainsFunc(t.spelled.any, func(uri string) bool { return Match(p.name, uri) })
}

// matchJoined joins on the stack: deciding happens for every call and every
// listed tool.
func matchJoined(glob, server, name string) bool {
	var buf [512]byte
	joined := append(buf[:0], server...)
	joined = append(joined, separator...)
	joined = append(joined, name...)
	return match(glob, joined)
}

// first is the place of the first pattern that matches.
func first(list []pattern, t *Tool, exposed bool) (at string, ok bool) {
	for i := range list {
		if list[i].matches(t, exposed) {
			return list[i].at, true
		}
	}
	return "", false
}
