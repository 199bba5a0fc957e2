package call

import (
	"bytes"
	"context"
	"time"

	"postern/pkg/pool"
	"postern/pkg/trust"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// dispatch starts the server where it does not run, looks whether its live
// definition is still the one decided on, and sends the call, once.
func dispatch(ctx context.Context, c *Call) *Refusal {
	s := c.server
	if c.notReady != nil {
		return refusalOf(s, c.name, c.notReady)
	}
	params, token, err := c.outgoing()
	if err != nil {
		return c.invalid(err.Error())
	}
	within := c.bounded(ctx, s)
	defer within.end()
	ctx = within
	instance, refusal := c.ready(ctx)
	if refusal != nil {
		return refusal
	}
	reply, refusal := c.send(ctx, instance, params, token)
	if refusal != nil {
		return refusal
	}
	return c.take(instance, reply)
}

// send sends the call and waits for its answer.
func (c *Call) send(ctx context.Context, i *pool.Instance, params []byte, token wire.Span) (upstream.Reply, *Refusal) {
	s := c.server
	call := upstream.Call{
		Method: c.method.name, Params: params, Token: token, Progress: c.Request.Progress,
		Timeout: s.Declared.Timeout, Modern: c.Modern != nil,
	}
	switch c.method.name {
	case methodSubscribe:
		return c.subscribe(ctx, i, call)
	case methodUnsubscribe:
		return c.unsubscribe(ctx, i, call)
	}
	if c.session.o.Agent != nil {
		call.Standstill = &c.session.still
	}
	if c.method.name == methodTaskResult { // it waits until the task has one
		call.Timeout = s.Declared.MaxTimeout
	}
	modern := i.Catalog().Era == upstream.EraModern
	switch {
	case modern:
		c.speakModern(&call)
	case c.Modern != nil:
		call.Params, call.Token = legacyParams(params, token)
	}
	reply, refusal := c.ask(ctx, i, call)
	if refusal == nil && modern && c.Modern == nil {
		return c.rounds(ctx, i, call, reply)
	}
	return reply, refusal
}

// ask sends one request.
func (c *Call) ask(ctx context.Context, i *pool.Instance, call upstream.Call) (upstream.Reply, *Refusal) {
	reply, queued, err := i.DoInTurn(ctx, c.session.ID, call, c.ticket)
	c.times.queue += queued
	if f, ok := asError[*upstream.Failure](err); ok && c.asked && !f.Sent {
		again := *f
		again.Sent, err = true, &again // an earlier round of it was
	}
	if err != nil {
		return reply, failed(ctx, c.server, c.name, err)
	}
	c.asked = true
	return reply, nil
}

// take makes the answer of the server's response.
func (c *Call) take(i *pool.Instance, reply upstream.Reply) *Refusal {
	c.answer.Reply = &reply.Message
	if refusal := c.translate(i.Catalog().Era == upstream.EraModern); refusal != nil {
		c.answer = Answer{}
		return refusal
	}
	c.withhold(c.result())
	result := c.result()
	if c.method.name == methodTool && result != nil {
		parts, problem := ReadResult(result)
		if problem != "" {
			c.answer = Answer{}
			return malformed(c.server, c.name, problem)
		}
		c.answer.Parts = parts
		c.checkOutput(result)
	}
	if refusal := c.follow(i, result); refusal != nil {
		c.answer = Answer{}
		return refusal
	}
	if c.method.name == methodTool {
		c.explainArguments()
	}
	return nil
}

// result is the result as it is to be handed on; nil for an error.
func (c *Call) result() []byte {
	if c.answer.Result != nil {
		return c.answer.Result
	}
	return c.answer.Reply.ResultBytes()
}

// follow remembers what later requests need to know of a result.
func (c *Call) follow(i *pool.Instance, result []byte) *Refusal {
	if result != nil && (c.method.name == methodTool || c.method.name == methodPrompt) {
		linked(result, func(uri string) { c.session.links.add(c.server.Declared.ID, uri) })
	}
	return c.followTask(i, result)
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
	s, name := c.server, c.name
	instance, err := c.bring(ctx, c.approved)
	if err != nil {
		return nil, failed(ctx, s, name, err)
	}
	if c.tool == nil {
		if c.method.lists != nil && !c.method.lists(c, instance.Catalog()) {
			return nil, c.gone()
		}
		return instance, nil
	}
	live := instance.Catalog().Tool(name)
	if live == nil {
		return nil, c.gone()
	}
	if live == c.tool.Def || bytes.Equal(live.Raw, c.tool.Def.Raw) {
		return instance, nil
	}
	again := *c.tool
	again.Def = live
	again.Decision = c.view.decide(s, live)
	if c.view.lacks(&again) {
		return nil, c.gone()
	}
	c.tool, c.decision = &again, again.Decision
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

// gone refuses what the running server does not list any more.
func (c *Call) gone() *Refusal {
	c.renew() // so that only names that are left are offered
	return c.unknown(c.server, c.name).at(StepResolve)
}

// at sets the step of a refusal that another step found again.
func (r *Refusal) at(step string) *Refusal {
	if r != nil && r.Step == "" {
		r.Step = step
	}
	return r
}
