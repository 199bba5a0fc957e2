package call

import (
	"context"
	"fmt"
	"strings"

	"postern/pkg/catalog"
	"postern/pkg/config"
	"postern/pkg/policy"
	"postern/pkg/trust"
)

// resolve finds the tool among all tools of the session's servers, those a
// policy hides included, so that a denied tool is told apart from an unknown
// one, and then asks whether its declaration is trusted.
func resolve(ctx context.Context, c *Call) *Refusal {
	server, name := c.find()
	if c.tool == nil && server == nil {
		return c.unknown(nil, c.Exposed)
	}
	if c.tool != nil {
		server = c.tool.Server
	}
	c.server = server
	if r := refuseServer(server, name); r != nil {
		return r
	}
	if c.tool != nil {
		return nil
	}
	if server.Catalog != nil {
		return c.unknown(server, name)
	}
	return c.resolveLive(ctx, name)
}

// find sets c.tool where the name is known; else it returns the server that
// the name would belong to, and the name within it.
func (c *Call) find() (*Server, string) {
	if c.Server != "" {
		s := c.view.Server(c.Server)
		if s != nil {
			c.tool = s.byName(c.Tool)
		}
		return s, c.Tool
	}
	if t := c.view.routes[c.Exposed]; t != nil {
		c.tool = t
		return t.Server, t.Def.Name
	}
	return c.view.owner(c.Exposed)
}

// refuseServer is the part of resolve that looks at the declaration alone.
func refuseServer(s *Server, tool string) *Refusal {
	d := s.Declared
	if s.Status != trust.Trusted {
		return notTrusted(s, tool, s.Status, nil)
	}
	if !d.Enabled {
		return &Refusal{Step: StepDispatch, Word: Disabled, Server: d.ID, Tool: tool, Rule: d.At(),
			Message: fmt.Sprintf("server %s is disabled in %s", d.ID, d.At()), Remedy: "set enabled: true there"}
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

// unknown refuses a name that no server has, with visible names like it.
func (c *Call) unknown(s *Server, name string) *Refusal {
	r := &Refusal{Word: UnknownTool, Tool: name, Message: fmt.Sprintf("there is no tool %q", name)}
	if s != nil {
		r.Server = s.Declared.ID
		r.Message = fmt.Sprintf("server %s has no tool %q", r.Server, name)
	} else if c.Server != "" {
		r.Server, r.Tool = c.Server, c.Tool
		r.Message = fmt.Sprintf("there is no server %q", c.Server)
	}
	wanted := c.Exposed
	if wanted == "" {
		wanted = catalog.Exposed(c.Server, c.Tool, c.view.Config.NamesMax)
	}
	if near := c.view.nearest(wanted); len(near) > 0 {
		r.Remedy = "did you mean " + strings.Join(near, " or ")
	}
	return r
}

// resolveLive is R40's one exception: the server is trusted and in the
// caller's servers but was never listed. Deny patterns are matched by name
// before it is started; the steps that follow see the live list.
func (c *Call) resolveLive(ctx context.Context, name string) *Refusal {
	s := c.server
	if d, refused := policy.RefusedByName(c.view.subject, policyTool(c.view, s, name, c.Exposed, false)); refused {
		return policyRefusal(s, name, d)
	}
	if _, err := c.session.start(ctx, c.view, s); err != nil {
		if r, ok := asError[*Refusal](err); ok {
			r.Tool = name
			return r
		}
		return refusalOf(s, name, err)
	}
	c.view = c.session.View()
	c.server = c.view.Server(s.Declared.ID)
	if c.server == nil {
		return c.unknown(nil, c.Exposed)
	}
	if c.find(); c.tool == nil {
		return c.unknown(c.server, name)
	}
	return refuseServer(c.server, name)
}
