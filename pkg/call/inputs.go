package call

import (
	"postern/pkg/config"
	"postern/pkg/wire"
)

// A modern server asks through its results, and what a modern agent gets of them
// is as it was sent (R73). What this server was not told that the agent has it may
// not ask for all the same, nor may it pass for the gateway (R16, R72).

// overreaches says what of the questions in a result may not be put to the agent,
// of whatever kind the result is; "" when there is nothing. What no agent can read
// as a question is none.
func (s *Session) overreaches(d *config.Server, result []byte) (problem string) {
	var at [1]wire.Span
	if !wire.IsObject(result) {
		return ""
	}
	if err := wire.Lookup(result, []string{"inputRequests"}, at[:]); err != nil {
		return err.Error()
	}
	requests := at[0].Of(result)
	if !wire.IsObject(requests) {
		return ""
	}
	_ = wire.EachMember(requests, func(_ []byte, v wire.Span) bool { // it was checked with the message
		problem = s.overreach(d, v.Of(requests))
		return problem == ""
	})
	return problem
}

// overreach is overreaches for one question.
func (s *Session) overreach(d *config.Server, request []byte) string {
	var at [2]wire.Span
	if !wire.IsObject(request) {
		return ""
	}
	if err := wire.Lookup(request, []string{"method", "params"}, at[:]); err != nil {
		return err.Error()
	}
	method, _ := wire.Unquote(at[0].Of(request)) // no text: no method
	switch {
	case method == methodSample && (d.Shared || !d.Sampling):
		return "this server may not use the agent's model"
	case method == methodRoots && d.Shared:
		return "the server is shared by agents with different roots"
	case method == methodElicit && wire.IsObject(at[1].Of(request)):
		return forgedIn(at[1].Of(request))
	}
	return ""
}

// forgedIn says that an elicitation could pass for a question of the gateway's.
func forgedIn(params []byte) string {
	var at [1]wire.Span
	if err := wire.Lookup(params, []string{"message"}, at[:]); err != nil {
		return err.Error()
	}
	if message, err := wire.Unquote(at[0].Of(params)); err == nil && forged(message) {
		return "it begins like a question of the gateway's own"
	}
	return ""
}

// passable keeps such a result from an agent of the modern era, of whatever era the
// server is that made it.
func (c *Call) passable() *Refusal {
	problem := c.session.overreaches(c.server.Declared, c.answer.Reply.ResultBytes())
	if problem == "" {
		return nil
	}
	return c.unaskable(problem)
}

func (c *Call) unaskable(why string) *Refusal {
	return c.unanswerable("a question that is not put to the agent: " + why)
}

// forgedVisit says that a page which an error wants visited could pass for one of
// the gateway's; "" for all other answers.
func (c *Call) forgedVisit() (problem string) {
	m := c.answer.Reply
	if !m.Error.Ok() {
		return ""
	}
	e, err := wire.ParseRPCError(m.ErrorBytes())
	if err != nil || e.Code != codeNeedsURL || !wire.IsObject(e.Data) {
		return ""
	}
	var at [1]wire.Span
	if err := wire.Lookup(e.Data, []string{"elicitations"}, at[:]); err != nil {
		return err.Error()
	}
	eachObject(at[0].Of(e.Data), func(elicitation []byte) {
		if problem == "" {
			problem = forgedIn(elicitation)
		}
	})
	return problem
}
