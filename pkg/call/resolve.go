package call

import (
	"context"
	"fmt"
	"strings"

	"postern/pkg/config"
	"postern/pkg/policy"
	"postern/pkg/trust"
)

// resolve finds what is asked for among all that the session's servers have,
// what a policy hides included, so that a denied tool is told apart from an
// unknown one, and then asks whether its declaration is trusted.
func resolve(ctx context.Context, c *Call) *Refusal {
	if err := c.checkParams(); err != nil {
		return c.invalid("params: " + err.Error())
	}
	if problem := c.subject(); problem != "" {
		return c.invalid(problem)
	}
	c.find()
	if c.server != nil && c.session.host.pool.Running(c.server.running()) == nil {
		c.renew() // R90: what is about to be started is looked at first
		c.find()
	}
	if c.server == nil {
		return c.unknown(nil, c.Exposed)
	}
	if r := c.view.refuse(c.server, c.name); r != nil || c.found {
		return r
	}
	if c.server.Catalog != nil {
		return c.unknown(c.server, c.name)
	}
	return c.resolveLive(ctx)
}

// invalid refuses params that mean nothing, or more than one thing.
func (c *Call) invalid(why string) *Refusal {
	return &Refusal{Step: StepResolve, Word: InvalidArguments, Server: clip(c.Server), Tool: clip(c.Exposed + c.Tool), Message: why}
}

// refuse is the part of resolve that looks at the declaration alone. Whether
// it is trusted is asked again, for an approval may have ended since the view
// was made.
func (v *View) refuse(s *Server, tool string) *Refusal {
	d := s.Declared
	if status, _ := v.records.Status(d); status != trust.Trusted {
		return notTrusted(s, tool, status, nil)
	}
	if !d.Enabled {
		r := &Refusal{Step: StepDispatch, Word: Disabled, Server: d.ID, Tool: tool, Rule: d.At(),
			Message: fmt.Sprintf("server %s is disabled in %s", d.ID, d.At()), Remedy: "its project disables it there"}
		if d.Scope == config.User {
			r.Remedy = AskUser + "mcp-catalog enable " + d.ID
		}
		return r
	}
	return nil
}

// notTrusted words a trust status with the command that changes it. An agent
// can run nothing of it: it is told to ask its user.
func notTrusted(s *Server, tool string, status trust.Status, why []string) *Refusal {
	d := s.Declared
	r := &Refusal{Word: Word(status), Server: d.ID, Tool: tool, Rule: d.At()}
	allow := AllowRemedy(d)
	switch status {
	case trust.Denied:
		r.Message = fmt.Sprintf("server %s of this project was denied by the user", d.ID)
	case trust.Stale:
		r.Message = fmt.Sprintf("server %s of this project changed after it was approved", d.ID)
		r.Remedy = allow
	case trust.Expired:
		r.Message = fmt.Sprintf("the approval of server %s of this project has ended", d.ID)
		r.Remedy = allow
	default:
		r.Message = fmt.Sprintf("server %s of this project was not approved", d.ID)
		r.Remedy = allow
	}
	if len(why) > 0 {
		r.Message += " (" + strings.Join(why, ", ") + ")"
	}
	return r
}

// AllowRemedy is how a user approves a project's server.
func AllowRemedy(d *config.Server) string {
	return fmt.Sprintf(AskUser+"mcp-trust allow %s --project %s", d.ID, ShellQuoted(d.Project))
}

// clip shortens a name that no server can have for a message.
func clip(name string) string {
	if len(name) <= config.MaxToolName {
		return name
	}
	return strings.ToValidUTF8(name[:config.MaxToolName], "") + "…"
}

// resolveLive is R40's one exception: the server is trusted and in the
// caller's servers but was never listed. The steps that follow see the list it
// gives once it runs.
func (c *Call) resolveLive(ctx context.Context) *Refusal {
	name := c.name
	if r := c.list(ctx, c.server, name); r != nil {
		return r
	}
	if c.find(); c.server == nil {
		return c.unknown(nil, c.Exposed)
	}
	if !c.found {
		return c.unknown(c.server, name)
	}
	return c.view.refuse(c.server, c.name)
}

// list starts a server that was never listed and takes the view that shows its
// list. What can be denied by name is denied before that; name "" asks about the
// server as a whole.
func (c *Call) list(ctx context.Context, s *Server, name string) *Refusal {
	if d, refused := policy.RefusedByName(c.view.subject, policyTool(c.view, s, c.method.kind, name)); refused {
		return policyRefusal(c.method.kind, s, name, d).at(StepDecide)
	}
	c.lineUp(s)
	within := c.bounded(ctx, s)
	defer within.end()
	ctx = within
	a, err := s.approve(c.view)
	if err == nil {
		_, err = c.bring(ctx, a)
	}
	if err != nil {
		return failed(ctx, s, name, err)
	}
	c.renew()
	return nil
}
