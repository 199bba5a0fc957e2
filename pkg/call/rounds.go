package call

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"postern/pkg/config"
	"postern/pkg/pool"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// round is what a modern server wants to know before it answers.
type round struct {
	requests []input
	state    []byte // requestState as written; nil = none
}

// input is one of its questions.
type input struct {
	key    []byte // under which the answer goes back, quoted
	method string
	params []byte
}

// rounds asks an older agent, as requests of their own, what a modern server wants
// to know, and sends the call again with the answers, until the server answers it
// (R73).
func (c *Call) rounds(ctx context.Context, i *pool.Instance, call upstream.Call, reply upstream.Reply) (upstream.Reply, *Refusal) {
	first := call.Params
	for n := 0; c.method.mayNeedInput(); n++ {
		r, problem := readRound(reply.Message.ResultBytes())
		switch {
		case problem != "":
			return reply, c.unanswerable("questions that cannot be read: " + problem)
		case r == nil:
			return reply, nil
		case n == config.Rounds:
			return reply, c.unanswerable(fmt.Sprintf("questions for the %dth time, and at most %d are put", n+1, config.Rounds))
		}
		answers, refusal := c.put(ctx, r.requests)
		if refusal != nil {
			return reply, refusal
		}
		if refusal := c.again(ctx); refusal != nil {
			return reply, refusal
		}
		var err error
		if call.Params, call.Token, err = retried(first, answers, r.state); err != nil {
			return reply, c.invalid(err.Error())
		}
		if reply, refusal = c.ask(ctx, i, call); refusal != nil {
			return reply, refusal
		}
	}
	return reply, nil
}

// again asks once more what was asked before the call was sent first: a person may
// have had a question for a quarter of an hour (R40).
func (c *Call) again(ctx context.Context) *Refusal {
	before, name := c.server, c.name
	c.renew()
	c.find()
	r := c.view.refuseAgain(c, before, name)
	for _, step := range []Step{{StepDecide, decide}, {StepSupplyChain, supplyChain}} {
		if r == nil {
			r = step.Run(ctx, c).at(step.Name)
		}
	}
	if r == nil && c.notReady != nil {
		r = refusalOf(c.server, c.name, c.notReady)
	}
	if r == nil {
		return nil
	}
	told := *r
	told.Message += "; a first part of the call was sent and may have happened"
	return &told
}

// refuseAgain is resolve for what was resolved before: it is another thing if its
// name means another server's now, or another declaration.
func (v *View) refuseAgain(c *Call, before *Server, name string) *Refusal {
	if c.server == nil || !sameDeclaration(before.Declared, c.server.Declared) || c.name != name {
		c.server = nil
		return c.unknown(nil, c.Exposed).at(StepResolve)
	}
	if r := v.refuse(c.server, c.name); r != nil {
		return r.at(StepResolve)
	}
	if !c.found {
		return c.unknown(c.server, c.name).at(StepResolve)
	}
	return nil
}

// readRound reads a result that asks for input; nil when it does not.
func readRound(result []byte) (r *round, problem string) {
	var at [3]wire.Span
	if !wire.IsObject(result) {
		return nil, ""
	}
	if err := wire.Lookup(result, []string{"resultType", "inputRequests", "requestState"}, at[:]); err != nil {
		return nil, err.Error()
	}
	if string(at[0].Of(result)) != `"input_required"` {
		return nil, ""
	}
	r = &round{state: at[2].Of(result)}
	if !at[1].Ok() {
		return r, ""
	}
	requests := at[1].Of(result)
	err := wire.EachMember(requests, func(key []byte, v wire.Span) bool {
		var q input
		if q, problem = readInput(key, v.Of(requests)); problem == "" {
			r.requests = append(r.requests, q)
		}
		if len(r.requests) > config.MaxQuestions {
			problem = fmt.Sprintf("more than %d at once", config.MaxQuestions)
		}
		return problem == ""
	})
	if err != nil && problem == "" {
		problem = err.Error()
	}
	return r, problem
}

func readInput(key, request []byte) (q input, problem string) {
	var at [2]wire.Span
	if err := wire.Lookup(request, []string{"method", "params"}, at[:]); err != nil {
		return q, err.Error()
	}
	method, err := wire.Unquote(at[0].Of(request))
	if err != nil {
		return q, "one has no method"
	}
	return input{key: key, method: method, params: at[1].Of(request)}, ""
}

// put asks the agent one question after the other and gives the inputResponses.
func (c *Call) put(ctx context.Context, requests []input) ([]byte, *Refusal) {
	if len(requests) == 0 {
		return nil, nil
	}
	out := []byte{'{'}
	size := 0
	for _, q := range requests {
		size += len(q.params)
	}
	if !c.session.places.take(c.server.Declared.ID, size) {
		return nil, c.unanswerable("questions, while too many others are open")
	}
	defer c.session.places.give(c.server.Declared.ID, size)
	for n, q := range requests {
		params, problem := c.session.question(c.server.Declared, q.method, q.params)
		if problem != "" {
			return nil, c.unanswerable(fmt.Sprintf("the question %.64q: %s", q.method, problem))
		}
		m, err := c.session.asked(ctx, q.method, withElicitationID(q.method, params), nil)
		switch {
		case ctx.Err() != nil:
			return nil, failed(ctx, c.server, c.name, context.Cause(ctx))
		case err != nil:
			return nil, c.unanswerable(fmt.Sprintf("the question %.64q, to which there was no answer: %v", q.method, err))
		case m.ResultBytes() == nil:
			return nil, c.unanswerable(fmt.Sprintf("the question %.64q, to which the agent answered with an error: %.256s", q.method, m.ErrorBytes()))
		}
		if n > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, q.key...), ':'), m.ResultBytes()...)
	}
	return append(out, '}'), nil
}

// withElicitationID gives an elicitation by URL the id that it has in the legacy
// era and not in the modern one.
func withElicitationID(method string, params []byte) []byte {
	var at [2]wire.Span
	if method != methodElicit || wire.Lookup(params, []string{"mode", "elicitationId"}, at[:]) != nil ||
		string(at[0].Of(params)) != `"url"` || at[1].Ok() {
		return params
	}
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	return wire.InsertMember(params, "elicitationId", wire.Quote(hex.EncodeToString(id[:])))
}

// retried are the params of a call that is sent again: what they were first, with
// the answers and the state, which goes back byte for byte, in the place of any
// that stood there.
func retried(first, answers, state []byte) (params []byte, token wire.Span, err error) {
	if params = first; params == nil {
		params = []byte("{}")
	}
	var at [2]wire.Span
	if err = wire.Lookup(params, []string{"inputResponses", "requestState"}, at[:]); err != nil {
		return nil, wire.Span{}, err
	}
	params = without(params, at[0], at[1])
	if state != nil {
		params = wire.InsertMember(params, "requestState", state)
	}
	if answers != nil {
		params = wire.InsertMember(params, "inputResponses", answers)
	}
	var meta [1]wire.Span
	if err = wire.Lookup(params, []string{"_meta"}, meta[:]); err != nil {
		return nil, wire.Span{}, err
	}
	m, err := metaOf(params, meta[0])
	return params, m.token, err
}
