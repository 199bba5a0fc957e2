package call

import (
	"context"

	"postern/pkg/catalog"
	"postern/pkg/config"
	"postern/pkg/policy"
	"postern/pkg/trust"
)

// ViaGateway and ViaCallTool are the `via` of rows that the gateway's own tools
// lead to: their own, and that of a tool that was called through call_tool.
const (
	ViaGateway  = "gateway"
	ViaCallTool = "call_tool"
)

// Own is one of the gateway's own tools. No server stands behind it: policies
// see it as gateway/Name, of tier read, and it answers by itself.
type Own struct {
	Name    string // as patterns and rows have it
	Exposed string // as agents see it
	// Run answers from what is known and starts nothing. It returns a tool's
	// result; its waits are bounded and end with ctx.
	Run func(ctx context.Context, v *View, arguments []byte) []byte
}

// tool is the own tool as the steps of the line see tools.
func (o *Own) tool(v *View) *Tool {
	s := &Server{Declared: &config.Server{ID: policy.Gateway, Class: config.ClassRead, Scope: config.User, Enabled: true}, Status: trust.Trusted}
	t := &Tool{Server: s, Def: &catalog.Tool{Name: o.Name}, Exposed: o.Exposed}
	t.Decision = v.decideOwn(s, o)
	return t
}

func (v *View) decideOwn(s *Server, o *Own) policy.Decision {
	t := policyTool(v, s, policy.ToolKind, o.Name)
	t.Exposed = o.Exposed
	return policy.Decide(v.subject, t)
}

// Offers reports whether the policies let this caller see an own tool (R54).
func (v *View) Offers(o *Own) bool { return o.tool(v).Decision.Verdict != policy.Deny }

// RefuseOwn asks the policies about an own tool that leads to a call of
// another, which writes the row; nil when it may be used.
func (v *View) RefuseOwn(o *Own) *Refusal {
	t := o.tool(v)
	if t.Decision.Verdict == policy.Allow {
		return nil
	}
	return policyRefusal(policy.ToolKind, t.Server, o.Name, t.Decision).at(StepDecide)
}

// DoOwn walks a call of one of the gateway's own tools down the line, as Do
// does: the policy is asked, the answer handed over, and one row written, under
// the upstream gateway.
func (s *Session) DoOwn(ctx context.Context, o *Own, r Request, answer func(Answer)) {
	r.Server, r.Tool, r.Via = policy.Gateway, o.Name, ViaGateway
	c := s.begin(r)
	c.tool = o.tool(c.view)
	c.name, c.decision, c.found = o.Name, c.tool.Decision, true
	var refusal *Refusal
	if err := c.checkParams(); err != nil {
		refusal = &Refusal{Step: StepResolve, Word: InvalidArguments, Server: r.Server, Tool: o.Name, Message: "params: " + err.Error()}
	} else if refusal = c.view.RefuseOwn(o); refusal == nil {
		c.answer.Result = o.Run(ctx, c.view, c.arguments)
		c.answer.Parts, _ = ReadResult(c.answer.Result)
	}
	s.end(c, refusal, answer)
}

// Look finds a tool by its exposed name as a call would, and refuses as a call
// would, but starts nothing and writes no row (R64).
func (v *View) Look(exposed string) (*Tool, *Refusal) {
	c := &Call{Request: Request{Exposed: exposed}, method: methodOf(methodTool), view: v}
	c.find()
	if c.server == nil {
		return nil, c.unknown(nil, exposed).at(StepResolve)
	}
	if r := v.refuse(c.server, c.name); r != nil {
		return nil, r.at(StepResolve)
	}
	if c.server.changed != nil {
		return nil, notTrusted(c.server, c.name, trust.Stale, nil).at(StepResolve)
	}
	if c.tool == nil {
		return nil, c.unknownOrUnlisted().at(StepResolve)
	}
	if c.tool.Decision.Verdict == policy.Deny {
		return nil, policyRefusal(policy.ToolKind, c.server, c.name, c.decision).at(StepDecide)
	}
	return c.tool, nil
}

// unknownOrUnlisted refuses a tool that is not in its server's list, or whose
// server has no list yet; what can be denied by name is denied before that.
func (c *Call) unknownOrUnlisted() *Refusal {
	s := c.server
	if d, refused := policy.RefusedByName(c.view.subject, policyTool(c.view, s, policy.ToolKind, c.name)); refused {
		return policyRefusal(policy.ToolKind, s, c.name, d)
	}
	if s.Catalog != nil {
		return c.unknown(s, c.name)
	}
	return &Refusal{Word: Unavailable, Reason: "missing", Server: s.Declared.ID, Tool: clip(c.name),
		Message: "server " + s.Declared.ID + " was never listed", Remedy: RefreshRemedy(s.Declared)}
}

// RefreshRemedy is how a user gets a server listed that never was.
func RefreshRemedy(d *config.Server) string {
	return AskUser + "mcp-catalog refresh " + d.ID
}
