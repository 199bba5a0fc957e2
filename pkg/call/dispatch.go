package call

import (
	"bytes"
	"context"
	"time"

	"postern/pkg/config"
	"postern/pkg/pool"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// errTooLong is the cause of a call's context when max_timeout ran out.
type errTooLong struct{ limit time.Duration }

func (e *errTooLong) Error() string { return "max_timeout of " + e.limit.String() + " is over" }

// dispatch starts the server where it does not run, looks whether its live
// definition is still the one decided on, and sends the call, once.
func dispatch(ctx context.Context, c *Call) *Refusal {
	d := c.tool.Server.Declared
	if c.notReady != nil {
		return refusalOf(c.tool.Server, c.tool.Def.Name, c.notReady)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, d.MaxTimeout, &errTooLong{d.MaxTimeout})
	defer cancel()
	instance, refusal := c.ready(ctx)
	if refusal != nil {
		return refusal
	}
	params, token, err := upstreamParams(c.Params, c.tool.Def.Name)
	if err != nil {
		return &Refusal{Step: StepResolve, Word: InvalidArguments, Server: d.ID, Tool: c.tool.Def.Name, Message: err.Error()}
	}
	reply, queued, err := instance.Do(ctx, upstream.Call{
		Method: "tools/call", Params: params, Token: token, Progress: c.progress(), Timeout: d.Timeout,
	})
	c.times.queue = queued
	if err != nil {
		return c.failed(ctx, err)
	}
	c.answer.Reply = &reply.Message
	c.explainArguments()
	return nil
}

func (c *Call) progress() func([]byte) { return c.Request.Progress }

// ready returns a running instance whose live definition of the tool was
// decided on. A server is started at most once here; a definition that differs
// from the decided one goes through decide and supply chain again.
func (c *Call) ready(ctx context.Context) (*pool.Instance, *Refusal) {
	begin := time.Now()
	s := c.tool.Server
	up := c.session.host.pool.Running(c.approved.Key())
	instance, err := c.session.host.pool.Get(ctx, c.approved)
	if err != nil {
		return nil, c.failed(ctx, err)
	}
	if up != instance {
		c.times.init = time.Since(begin)
	}
	live := instance.Catalog().Tool(c.tool.Def.Name)
	if live == nil {
		return nil, c.unknown(s, c.tool.Def.Name).at(StepResolve)
	}
	if live == c.tool.Def || bytes.Equal(live.Raw, c.tool.Def.Raw) {
		return instance, nil
	}
	again := *c.tool
	again.Def = live
	again.Decision = c.view.decide(s, live, again.Exposed)
	c.tool = &again
	if r := decide(ctx, c); r != nil {
		return nil, r.at(StepDecide)
	}
	if r := supplyChain(ctx, c); r != nil {
		return nil, r.at(StepSupplyChain)
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

// failed words an error of the pool or of the connection; what ended the
// call's own context comes first.
func (c *Call) failed(ctx context.Context, err error) *Refusal {
	r := refusalOf(c.tool.Server, c.tool.Def.Name, err)
	if ctx.Err() == nil {
		return r
	}
	if tooLong, ok := asError[*errTooLong](context.Cause(ctx)); ok {
		r.Word, r.Reason = Timeout, "max_timeout"
		r.Message = "the call to " + r.Server + " was given up: " + tooLong.Error() + mayHaveHappened(err)
	} else {
		r.Word, r.Reason = Cancelled, context.Cause(ctx).Error()
		r.Message = "the call to " + r.Server + " was cancelled"
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
	result := m.Result.Of(m.Raw)
	if !isToolError(result) || len(missingRequired(schema, c.arguments)) == 0 {
		return
	}
	var span [1]wire.Span
	if wire.Lookup(result, []string{"content"}, span[:]) != nil || !span[0].Ok() {
		return
	}
	text := wire.Quote("input schema of " + c.tool.Def.Name + ": " + string(schema))
	block := append(append([]byte(`,{"type":"text","text":`), text...), '}')
	content := span[0].Of(result)
	if len(content) < 2 || content[len(content)-1] != ']' {
		return
	}
	if len(bytes.TrimSpace(content[1:len(content)-1])) == 0 {
		block = block[1:]
	}
	end := span[0].End - 1
	c.answer.Result = wire.Splice(result, wire.Edit{Span: wire.Span{Start: end, End: end}, New: block})
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

// isToolError reports whether a result says isError: true.
func isToolError(result []byte) bool {
	var span [1]wire.Span
	return wire.Lookup(result, []string{"isError"}, span[:]) == nil && string(span[0].Of(result)) == "true"
}
