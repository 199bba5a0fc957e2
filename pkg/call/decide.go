package call

import (
	"context"
	"fmt"
	"strings"

	"postern/pkg/config"
	"postern/pkg/policy"
)

// decide asks the policy. What a person would have to agree to is refused
// with the way to allow it for good: nothing here can ask yet.
func decide(_ context.Context, c *Call) *Refusal {
	d := c.decision
	switch {
	case d.Verdict == policy.Allow:
		return nil
	case d.Verdict == policy.Ask && !c.method.asks:
		r := policyRefusal(c.method.kind, c.server, c.name, d)
		r.Word, r.Reason = PolicyDenied, policy.NotPermitted
		r.Message += ", and nobody is asked for " + c.method.name
		return r
	}
	return policyRefusal(c.method.kind, c.server, c.name, d)
}

// named is how messages speak of a thing of a server.
func named(k policy.Kind, s *Server, name string) string {
	name = s.Declared.ID + "/" + name
	switch k {
	case policy.ResourceKind:
		return "resource:" + name
	case policy.PromptKind:
		return "prompt:" + name
	}
	return name
}

func policyRefusal(k policy.Kind, s *Server, tool string, d policy.Decision) *Refusal {
	name := named(k, s, tool)
	r := &Refusal{Word: PolicyDenied, Reason: d.Reason, Rule: d.Rule, Server: s.Declared.ID, Tool: tool}
	switch {
	case d.Verdict == policy.Ask:
		r.Word, r.Reason = ApprovalRequired, ""
		r.Message = fmt.Sprintf("a person must agree before %s is %s", name, used(k))
		r.Remedy = askRemedy(s, d)
	case d.Reason == policy.DeniedBy:
		r.Message = fmt.Sprintf("%s is denied by %s", name, d.Rule)
	case d.Tier != "" && len(d.Allowed) > 0:
		r.Message = fmt.Sprintf("%s is a %s %s; this caller may call %s tools only (%s)", name, d.Tier, noun(k), tiers(d.Allowed), d.Rule)
	default:
		r.Message = fmt.Sprintf("%s is not permitted for this caller", name)
		if d.Rule != "" {
			r.Message += " (" + d.Rule + ")"
		}
	}
	return r
}

// noun is what a kind is called.
func noun(k policy.Kind) string {
	switch k {
	case policy.ResourceKind:
		return "resource"
	case policy.PromptKind:
		return "prompt"
	case policy.MethodKind:
		return "method"
	}
	return "tool"
}

func used(k policy.Kind) string {
	if k == policy.ToolKind || k == policy.MethodKind {
		return "called"
	}
	return "read"
}

// askRemedy says how the question goes away: by a class for a server that has
// none, by the pattern for one that asks.
func askRemedy(s *Server, d policy.Decision) string {
	if d.Rule == policy.RuleClassUnknown {
		if s.Declared.Scope == config.Project {
			return fmt.Sprintf(AskUser+"mcp-trust allow %s --class execute --project %s", s.Declared.ID, ShellQuoted(s.Declared.Project))
		}
		return fmt.Sprintf("ask the user to give server %s a class in %s", s.Declared.ID, s.Declared.At())
	}
	return "ask the user to take the tool out of the ask pattern at " + d.Rule
}

func tiers(list []config.Tier) string {
	words := make([]string, len(list))
	for i, t := range list {
		words[i] = string(t)
	}
	return strings.Join(words, ", ")
}
