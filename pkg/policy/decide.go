package policy

import "postern/pkg/config"

// Tool is what is decided about, a tool or what Kind says: its original names
// and everything the table looks at.
type Tool struct {
	Kind     Kind
	Server   string // id of the declaration
	Name     string // as the server calls it; a resource's URI; a method
	Exposed  string // as the agent sees it (R60); only deny and ask look at it
	Exec     string // unexpanded command and arguments, joined by spaces
	Class    config.Class
	ReadOnly bool // the definition says readOnlyHint:true

	ReadTools, WriteTools, ExecuteTools []config.Pattern // of the declaration

	spelled spellings // of a resource
}

// read finds what the URI of a resource may mean.
func (t *Tool) read() {
	if t.Kind == ResourceKind {
		t.spelled = spellingsOf(t.Name)
	}
}

// Verdict is ordered: a smaller one is stricter.
type Verdict uint8

// The verdicts. The zero Verdict denies.
const (
	Deny Verdict = iota
	Ask
	Allow
)

// The values of Decision.Reason.
const (
	NotPermitted = "not_permitted"
	DeniedBy     = "denied_by"
)

// Gateway is the id under which policies see the gateway's own tools. It counts
// as named in servers and in tools (R50), and no declaration can have it.
const Gateway = "gateway"

// RuleClassUnknown is the Rule of line 7 where no pattern asked but the class.
const RuleClassUnknown = "class unknown"

// Decision is the verdict with its grounds.
type Decision struct {
	Verdict Verdict
	Reason  string        // NotPermitted or DeniedBy; empty unless denied
	Rule    string        // file:line that decided, or fixed words such as "level 1"
	Tier    config.Tier   // of the tool
	Allowed []config.Tier // when the tier was the reason: the tiers that would do
}

// Decide walks the table of the package comment. It is pure, may be called from
// any goroutine, and allocates nothing when the verdict is Allow.
func Decide(s Subject, t Tool) Decision {
	t.read()
	d := Decision{Reason: NotPermitted, Tier: tierOf(&t)}
	if !usable(s, t.Server) {
		d.Rule = "no policy"
		return d
	}
	if at, ok := s.denied(&t); ok {
		d.Reason, d.Rule = DeniedBy, at
		return d
	}
	for _, p := range s.Policies {
		if !p.covers(&t) {
			d.Rule = p.at
			return d
		}
	}
	if rule, ok := s.refusesTier(d.Tier); ok {
		d.Rule, d.Allowed = rule, s.tiers().list()
		return d
	}
	d.Reason = ""
	d.Verdict, d.Rule = s.askOrAllow(&t)
	return d
}

// RefusedByName walks only the lines that a tool's name can answer, 1 and 5,
// for a tool whose definition is not known yet (R40): refused is true when no
// definition could change the answer. t.Name may be empty, to ask about the
// server as a whole, as far as t.Kind goes. It is pure.
func RefusedByName(s Subject, t Tool) (d Decision, refused bool) {
	t.read()
	d = Decision{Reason: NotPermitted}
	if !usable(s, t.Server) {
		d.Rule = "no policy"
		return d, true
	}
	if at, ok := s.denied(&t); ok {
		d.Reason, d.Rule = DeniedBy, at
		return d, true
	}
	for _, p := range s.Policies {
		if covers := p.covers(&t); !covers && (t.Name != "" || !p.serves(t.Server)) {
			d.Rule = p.at
			return d, true
		}
	}
	return d, false
}

// usable keeps a subject that was put together wrongly from being let through.
// Without any policy only the gateway's own tools are left, by their tier (R52).
func usable(s Subject, server string) bool {
	for _, p := range s.Policies {
		if p == nil {
			return false
		}
	}
	return len(s.Policies) > 0 || server == Gateway
}

func (s *Subject) denied(t *Tool) (at string, ok bool) {
	for _, p := range s.Policies {
		if at, ok = first(p.deny, t, true); ok {
			return at, true
		}
	}
	return "", false
}

// refusesTier is line 6; the level speaks first because no policy can lift it.
func (s *Subject) refusesTier(tier config.Tier) (rule string, ok bool) {
	set, word := level(s.Level)
	if !set.has(tier) {
		return word, true
	}
	for _, p := range s.Policies {
		if !p.allow.has(tier) {
			return p.at, true
		}
	}
	return "", false
}

func (s *Subject) tiers() tierSet {
	set, _ := level(s.Level)
	for _, p := range s.Policies {
		set &= p.allow
	}
	return set
}

func (s *Subject) askOrAllow(t *Tool) (Verdict, string) {
	for _, p := range s.Policies {
		if at, ok := first(p.ask, t, true); ok {
			return Ask, at
		}
	}
	if t.Class == config.ClassUnknown {
		return Ask, RuleClassUnknown
	}
	if len(s.Policies) == 0 {
		_, word := level(s.Level)
		return Allow, word
	}
	return Allow, s.Policies[0].at
}
