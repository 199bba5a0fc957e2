package call

import (
	"fmt"

	"postern/pkg/config"
	"postern/pkg/policy"
)

// UnknownPolicyError says that a policy to narrow by is not declared.
type UnknownPolicyError struct{ Name string }

// Error names the policy.
func (e *UnknownPolicyError) Error() string {
	return fmt.Sprintf("there is no policy %q in the configuration", e.Name)
}

// subject is the caller of this configuration, who proves no identity: the
// policy and level of defaults, narrowed by the policy named narrow unless that
// is empty (R52). Without defaults, or when the configuration was refused as a
// whole (C11), only the gateway's own read tools are left.
func subject(c *config.Config, narrow string) (policy.Subject, error) {
	if narrow != "" && !c.Refused && c.Policies[narrow] == nil {
		return policy.Subject{}, &UnknownPolicyError{Name: narrow}
	}
	if c.Refused || c.Defaults == nil {
		return policy.Subject{Level: config.AnonymousLevel}, nil
	}
	s := policy.Subject{Level: c.Defaults.TrustLevel}
	for _, name := range policyNames(c, narrow) {
		declared := c.Policies[name]
		if declared == nil {
			return policy.Subject{}, &UnknownPolicyError{Name: name}
		}
		p, err := policy.Compile(declared)
		if err != nil {
			return policy.Subject{}, err
		}
		s.Policies = append(s.Policies, p)
	}
	return s, nil
}

// policyNames are the policies that must all agree, in the order of the word
// they have; none when no policy is in force.
func policyNames(c *config.Config, narrow string) []string {
	switch {
	case c.Refused || c.Defaults == nil:
		return nil
	case narrow == "":
		return []string{c.Defaults.Policy}
	}
	return []string{c.Defaults.Policy, narrow}
}
