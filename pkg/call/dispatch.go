package call

import (
	"bytes"
	"context"
	"time"

	"postern/pkg/config"
	"postern/pkg/pool"
	"postern/pkg/trust"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// errTooLong is the cause of a call's context when max_timeout ran out.
type errTooLong struct{ limit time.Duration }

func (e *errTooLong) Error() string { return "max_timeout of " + e.limit.String() + " is over" }

// bounded gives a call its max_timeout, from its very beginning (R44).
func (c *Call) bounded(ctx context.Context, s *Server) (context.Context, context.CancelFunc) {
	limit := s.Declared.MaxTimeout
	return context.WithDeadlineCause(ctx, c.times.begin.Add(limit), &errTooLong{limit})
}

// dispatch starts the server where it does not run, looks whether its live
// definition is still the one decided on, and sends the call, once.
func dispatch(ctx context.Context, c *Call) *Refusal {
	s, name := c.tool.Server, c.tool.Def.Name
	if c.notReady != nil {
		return refusalOf(s, name, c.notReady)
	}
	params, token, err := upstreamParams(c.Params, name)
	if err != nil {
		return &Refusal{Step: StepResolve, Word: InvalidArguments, Server: s.Declared.ID, Tool: name, Message: err.Error()}
	}
	ctx, cancel := c.bounded(ctx, s)
	defer cancel()
	instance, refusal := c.ready(ctx)
	if refusal != nil {
		return refusal
	}
	reply, queued, err := instance.Do(ctx, c.session.ID, upstream.Call{
		Method: "tools/call", Params: params, Token: token, Progress: c.Request.Progress, Timeout: s.Declared.Timeout,
	})
	c.times.queue = queued
	if err != nil {
		return failed(ctx, s, name, err)
	}
	if result := reply.Message.ResultBytes(); result != nil {
		parts, problem := ReadResult(result)
		if problem != "" {
			return malformed(s, name, problem)
		}
		c.answer.Parts = parts
	}
	c.answer.Reply = &reply.Message
	c.explainArguments()
	return nil
}

// bring returns the running instance of a, and notes how long it took to start.
func (c *Call) bring(ctx context.Context, a *trust.Approved) (*pool.Instance, error) {
	servers := c.session.host.pool
	begin, up := time.Now(), servers.Running(a.Key())
	instance, err := servers.Get(ctx, a) // also of one that runs: it is used now
	if up == nil || up != instance {
		c.times.init += time.Since(begin)
	}
	return instance, err
}

// ready returns a running instance whose live definition of the tool was
// decided on. A server is started at most once here; a definition that differs
// from the decided one goes through decide and supply chain again.
func (c *Call) ready(ctx context.Context) (*pool.Instance, *Refusal) {
	s, name := c.tool.Server, c.tool.Def.Name
	instance, err := c.bring(ctx, c.approved)
	if err != nil {
		return nil, failed(ctx, s, name, err)
	}
	live := instance.Catalog().Tool(name)
	if live == nil {
		c.view = c.session.renew() // so that only names that are left are offered
		return nil, c.unknown(s, name).at(StepResolve)
	}
	if live == c.tool.Def || bytes.Equal(live.Raw, c.tool.Def.Raw) {
		return instance, nil
	}
	again := *c.tool
	again.Def = live
	again.Decision = c.view.decide(s, live)
	c.tool = &again
	if r := decide(ctx, c); r != nil {
		return nil, r.at(StepDecide)
	}
	if r := supplyChain(ctx, c); r != nil {
		return nil, r.at(StepSupplyChain)
	}
	if c.notReady != nil {
		return nil, refusalOf(s, name, c.notReady)
	}
	return instance, nil
}

// at sets the step of a refusal that another step found again.
func (r *Refusal) at(step string) *Refusal {
	if r.Step == "" {
		r.Step = step
	}
	return r
}

// explainArguments gives the tool's schema back when the server refused the
// arguments, so that a model can mend its call (R41): in the data of -32602,
// where the server sent none, and as one more text block of an isError result
// whose call lacked a required member. Both are on the gateway's list of bytes
// it may change.
func (c *Call) explainArguments() {
	m := c.answer.Reply
	schema := c.tool.Def.InputSchema
	if len(schema) == 0 || len(schema) > config.MaxReturnedSchema {
		return
	}
	if m.Error.Ok() {
		c.explainError(schema)
		return
	}
	result, parts := m.ResultBytes(), c.answer.Parts
	if parts.Partial || !parts.Failed || !parts.Content.Ok() || len(missingRequired(schema, c.arguments)) == 0 {
		return
	}
	text := wire.Quote("input schema of " + c.tool.Def.Name + ": " + string(schema))
	block := append(append([]byte(`,{"type":"text","text":`), text...), '}')
	if content := parts.Content.Of(result); len(bytes.TrimSpace(content[1:len(content)-1])) == 0 {
		block = block[1:]
	}
	end := parts.Content.End - 1
	c.answer.Result = wire.Splice(result, wire.Edit{Span: wire.Span{Start: end, End: end}, New: block})
	c.answer.Parts, _ = ReadResult(c.answer.Result)
}

func (c *Call) explainError(schema []byte) {
	e, err := wire.ParseRPCError(c.answer.Reply.Error.Of(c.answer.Reply.Raw))
	if err != nil || e.Code != wire.CodeInvalidParams || len(e.Data) > 0 {
		return
	}
	r := &Refusal{Word: UpstreamError, Server: c.tool.Server.Declared.ID, Tool: c.tool.Def.Name, InputSchema: schema}
	e.Data = r.Data()
	c.answer.Error = e
}
