package policy

import (
	"fmt"
	"slices"

	"postern/pkg/config"
)

// Policy is one compiled policy. It is never changed after Compile and may be
// used from several goroutines.
type Policy struct {
	at         string
	servers    []string
	toolsGiven bool
	tools      []pattern
	deny, ask  []pattern
	allow      tierSet
}

// PatternError says which pattern of a policy cannot be understood.
type PatternError struct {
	At, Text string
	Err      error
}

// Error names the place, the pattern and what is wrong with it.
func (e *PatternError) Error() string { return fmt.Sprintf("%s: pattern %q: %v", e.At, e.Text, e.Err) }

// Unwrap gives the reason alone.
func (e *PatternError) Unwrap() error { return e.Err }

// Compile prepares a declared policy. The error is a *PatternError; there is no
// policy then, because half of one would allow what the other half denies.
func Compile(p *config.Policy) (*Policy, error) {
	out := &Policy{at: p.At, toolsGiven: p.Tools != nil, allow: setOf(p.Allow)}
	for _, s := range p.Servers {
		out.servers = append(out.servers, s.Text)
	}
	var err error
	if out.tools, err = parsePatterns(p.Tools); err != nil {
		return nil, err
	}
	if out.deny, err = parsePatterns(p.Deny); err != nil {
		return nil, err
	}
	if out.ask, err = parsePatterns(p.Ask); err != nil {
		return nil, err
	}
	return out, nil
}

// covers is line 5 of the table for one policy.
func (p *Policy) covers(t *Tool) bool {
	if t.Server == Gateway {
		return true
	}
	if !p.serves(t.Server) {
		return false
	}
	if !p.narrows(t.Kind) {
		return true
	}
	return p.chooses(t)
}

// chooses reports whether an entry of `tools` is on what is asked about, and one
// on each place that its URI may lead to, unless the URI stands there as it is.
func (p *Policy) chooses(t *Tool) bool {
	if _, ok := first(p.tools, t, false); !ok || t.spelled.all == nil {
		return ok
	}
	if slices.ContainsFunc(p.tools, func(one pattern) bool { return one.form == itemForm && one.name == t.Name && one.matches(t, false) }) {
		return true
	}
	other := *t
	return !slices.ContainsFunc(t.spelled.all, func(uri string) bool {
		other.Name = uri
		_, ok := first(p.tools, &other, false)
		return !ok
	})
}

// narrows reports whether `tools` chooses among what is of a kind: among tools
// wherever it is written, among resources and prompts only by an entry on them.
func (p *Policy) narrows(k Kind) bool {
	if k.callable() {
		return p.toolsGiven
	}
	for i := range p.tools {
		if p.tools[i].kind == k {
			return true
		}
	}
	return false
}

// serves reports whether servers names the server.
func (p *Policy) serves(server string) bool {
	for _, s := range p.servers {
		if Match(s, server) {
			return true
		}
	}
	return false
}

// Subject is who wants to use a tool. The zero Subject may use nothing.
type Subject struct {
	Level    int       // 0 to 3, R51; any other number allows nothing
	Policies []*Policy // all of them must agree, R52; none allows the gateway's own tools alone
}
