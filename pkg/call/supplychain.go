package call

import (
	"context"
	"strings"

	"postern/pkg/config"
	"postern/pkg/trust"
)

// supplyChain asks whether what would run is what was approved: the
// declaration, the executable, the files its arguments name. It is asked on
// every call, also of a server that runs already.
func supplyChain(_ context.Context, c *Call) *Refusal {
	s := c.server
	c.lineUp(s) // what is looked at here may take a while
	a, err := s.approve(c.view)
	if err == nil {
		err = a.Verify()
	}
	if err == nil {
		c.approved = a
		return nil
	}
	if changed, ok := asError[*trust.ChangedError](err); ok {
		return changedRefusal(s, c.name, changed)
	}
	if nt, ok := asError[*trust.NotTrustedError](err); ok {
		return notTrusted(s, c.name, nt.Status, nt.Why)
	}
	c.notReady = err
	return nil
}

func changedRefusal(s *Server, tool string, e *trust.ChangedError) *Refusal {
	r := &Refusal{Step: StepSupplyChain, Word: SupplyChainDenied, Server: s.Declared.ID, Tool: tool, Reason: "changed", Rule: s.Declared.At(),
		Message: e.Error()}
	if s.Declared.Scope == config.Project {
		r.Remedy = AllowRemedy(s.Declared) // it shows what is different before it asks
		if e.Dir != "" {                   // whoever approves may have another PATH, and would approve the same once more
			r.Remedy = AskUser + "PATH=" + ShellQuoted(e.Dir) + ":$PATH " + strings.TrimPrefix(r.Remedy, AskUser)
		}
	}
	return r
}
