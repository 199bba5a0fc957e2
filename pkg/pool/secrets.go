package pool

import (
	"slices"
	"strings"

	"postern/pkg/config"
	"postern/pkg/secret"
	"postern/pkg/trust"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// secrets are the values that a server was given by reference, longest first.
// A server may say them back in an error of its handshake, and what a failure
// says goes to agents and into the cache (C31).
type secrets []string

// shortest is the length below which a value is left alone: hiding every "1"
// would make a message unreadable, and hides nothing.
const shortest = 4

// secretsOf finds what the references in a declaration's env and args became.
func secretsOf(srv *config.Server, l trust.Launch) secrets {
	var s secrets
	for _, e := range srv.Env {
		for _, entry := range l.Env {
			if value, ok := strings.CutPrefix(entry, e.Name+"="); ok {
				s = s.add(e.Value, value)
			}
		}
	}
	for n, arg := range srv.Args {
		if n < len(l.Args) {
			s = s.add(arg, l.Args[n])
		}
	}
	slices.SortFunc(s, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(s)
}

// add takes the value of a text with references: without what stands before and
// behind them, and the whole.
func (s secrets) add(text, value string) secrets {
	t, err := secret.ParseTemplate(text)
	if err != nil || len(t.Names()) == 0 {
		return s
	}
	const hole = "\x00" // no environment and no argument holds one
	shape, err := t.Expand(func(string) (string, error) { return hole, nil })
	if err != nil {
		return s
	}
	literals := strings.Split(shape, hole)
	inner := strings.TrimPrefix(value, literals[0])
	inner = strings.TrimSuffix(inner, literals[len(literals)-1])
	for _, v := range []string{inner, value} {
		if len(v) >= shortest {
			s = append(s, v)
		}
	}
	return s
}

// hide replaces every value in text.
func (s secrets) hide(text string) string {
	for _, v := range s {
		text = strings.ReplaceAll(text, v, "***")
	}
	return text
}

// hideIn is f without the values: a copy, for a failure may be shared.
func (s secrets) hideIn(f *upstream.Failure) *upstream.Failure {
	g := *f
	g.Detail, g.Stderr = s.hide(f.Detail), s.hide(f.Stderr)
	if f.RPC != nil {
		g.RPC = &wire.RPCError{Code: f.RPC.Code, Message: s.hide(f.RPC.Message)}
	}
	return &g
}
