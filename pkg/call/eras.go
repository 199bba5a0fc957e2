package call

import (
	"bytes"
	"fmt"
	"strconv"

	"postern/pkg/config"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// codeNeedsURL is the legacy error of a server that wants its user to visit a page
// first; its data say which (2025-11-25).
const codeNeedsURL = -32042

// modern reports whether the server spoke the modern era when it was listed. It
// was listed.
func (s *Server) modern() bool { return s.Catalog.Era == upstream.EraModern }

// mayNeedInput reports whether a modern server may answer a method with questions.
func (m method) mayNeedInput() bool {
	return m.name == methodTool || m.name == methodPrompt || m.name == methodRead
}

// speakModern gives a request what each request to a modern server says of its
// client.
func (c *Call) speakModern(call *upstream.Call) {
	if c.Modern == nil {
		call.Capabilities = c.session.capabilities(c.server.Declared, false)
		return
	}
	call.Capabilities = modernCapabilities(c.Modern.Capabilities, c.server.Declared)
	call.LogLevel = c.Modern.LogLevel
}

// noCapabilities is declared for a client that has none.
const noCapabilities = "{}"

// modernCapabilities is what an agent of the modern era declared, as far as this
// server may use it: the server asks through the agent's own request, but a shared
// one sees no roots and has no model.
func modernCapabilities(declared []byte, d *config.Server) []byte {
	var at [2]wire.Span
	if wire.Lookup(declared, []string{"roots", "sampling"}, at[:]) != nil {
		return []byte(noCapabilities)
	}
	if d.Shared {
		return without(declared, at[0], at[1])
	}
	if !d.Sampling {
		return without(declared, at[1])
	}
	return declared
}

// without is an object without some of its members, by where their values stand.
func without(object []byte, values ...wire.Span) []byte {
	if len(values) == 2 && values[0].Start > values[1].Start {
		values[0], values[1] = values[1], values[0]
	}
	return wire.Splice(object, wire.Removals(object, values...)...)
}

// capabilities is what the agent declared in initialize, as far as this server may
// use it (R16); tasks are another thing in the modern era.
func (s *Session) capabilities(d *config.Server, legacy bool) []byte {
	names := []string{"elicitation"}
	if !d.Shared {
		names = append(names, "roots")
		if d.Sampling {
			names = append(names, "sampling")
		}
		if legacy {
			names = append(names, memberTasks)
		}
	}
	out := []byte{'{'}
	for _, name := range names {
		value := s.declared(name)
		if value == nil {
			continue
		}
		if name == memberTasks {
			value = tasksFor(d, value)
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, wire.Quote(name)...), ':'), value...)
	}
	return append(out, '}')
}

// declared is one of the capabilities that the agent declared in initialize; nil
// when it did not, and for an agent whom nobody asks.
func (s *Session) declared(name string) []byte {
	if s.o.Agent == nil || s.o.Agent.Modern() {
		return nil
	}
	return objectIn(s.o.Agent.Capabilities(), name)
}

// objectIn is a member of an object that is an object itself, else nil.
func objectIn(object []byte, name string) []byte {
	var at [1]wire.Span
	if wire.Lookup(object, []string{name}, at[:]) != nil || !wire.IsObject(at[0].Of(object)) {
		return nil
	}
	return at[0].Of(object)
}

// translate makes the answer one of the agent's era (R73). Within one era nothing
// is changed.
func (c *Call) translate(modern bool) *Refusal {
	if problem := c.forgedVisit(); problem != "" {
		return c.unaskable(problem)
	}
	switch {
	case c.Modern != nil:
		if !modern {
			c.toModern()
		}
		return c.passable()
	case modern:
		return c.toLegacy()
	}
	return nil
}

// toLegacy takes the kind out of a complete result. A result of another kind means
// nothing to an older agent.
func (c *Call) toLegacy() *Refusal {
	result := c.answer.Reply.ResultBytes()
	if !wire.IsObject(result) {
		return nil
	}
	var at [1]wire.Span
	if err := wire.Lookup(result, []string{"resultType"}, at[:]); err != nil {
		return malformed(c.server, c.name, err.Error())
	}
	switch kind := at[0].Of(result); {
	case kind == nil:
	case string(kind) == `"complete"`:
		c.answer.Result = without(result, at[0])
	default:
		return c.unanswerable(fmt.Sprintf("a result of the kind %.64s, which an agent of an older revision does not know", kind))
	}
	return nil
}

// unanswerable is an answer that the agent cannot be given. The call was made.
func (c *Call) unanswerable(what string) *Refusal {
	return &Refusal{
		Step: StepDispatch, Word: UpstreamError, Reason: "era", Server: c.server.Declared.ID, Tool: c.name, plain: true,
		Message: fmt.Sprintf("server %s answered with %s; the call was made and may have had its effect", c.server.Declared.ID, what),
	}
}

// toModern gives an older server's errors the form of the modern era.
func (c *Call) toModern() {
	m := c.answer.Reply
	if !m.Error.Ok() {
		return
	}
	e, err := wire.ParseRPCError(m.ErrorBytes())
	switch {
	case err != nil:
	case e.Code == CodeNoResource:
		c.recode(wire.CodeInvalidParams)
	case e.Code == codeNeedsURL && c.method.mayNeedInput() && objectIn(objectIn(c.Modern.Capabilities, "elicitation"), "url") != nil:
		if result := c.visits(e.Data); result != nil {
			c.answer.Result, c.answer.Parts.Partial = result, true
		}
	}
}

// recode changes the code of the error and no other byte of it.
func (c *Call) recode(code int) {
	m := c.answer.Reply
	var at [1]wire.Span
	if wire.Lookup(m.ErrorBytes(), []string{"code"}, at[:]) != nil {
		return
	}
	line := wire.Splice(m.Raw, wire.Edit{Span: moved(at[0], m.Error.Start), New: strconv.AppendInt(nil, int64(code), 10)})
	if changed, err := wire.Parse(line); err == nil {
		c.answer.Reply = &changed
	}
}

// visits is the input_required that says what the data of -32042 say; nil when
// they cannot be read.
func (c *Call) visits(data []byte) []byte {
	var at [1]wire.Span
	if wire.Lookup(data, []string{"elicitations"}, at[:]) != nil {
		return nil
	}
	out := []byte(`{"resultType":"input_required","inputRequests":{`)
	n, good := 0, true
	err := wire.EachElement(at[0].Of(data), func(v wire.Span) bool {
		params := c.visit(v.Of(at[0].Of(data)))
		if good = params != nil && n < config.MaxQuestions; !good {
			return false
		}
		if n++; n > 1 {
			out = append(out, ',')
		}
		out = append(append(out, `"elicitation-`...), strconv.Itoa(n)...)
		out = append(append(out, `":{"method":"elicitation/create","params":`...), params...)
		out = append(out, '}')
		return true
	})
	if err != nil || n == 0 || !good {
		return nil
	}
	return append(out, "}}"...)
}

// visit is one of them as params of an elicitation, without the id, which the
// modern era does not have.
func (c *Call) visit(elicitation []byte) []byte {
	var at [1]wire.Span
	if wire.Lookup(elicitation, []string{"elicitationId"}, at[:]) != nil {
		return nil
	}
	params, problem := c.session.worded(c.server.Declared, without(elicitation, at[0]))
	if problem != "" {
		return nil
	}
	if wire.Lookup(params, []string{"mode"}, at[:]) == nil && !at[0].Ok() {
		params = wire.InsertMember(params, "mode", []byte(`"url"`))
	}
	return params
}

// legacyParams are a modern agent's params for an older server: tasks of that era
// are not those of this one, so that none is asked for.
func legacyParams(params []byte, token wire.Span) ([]byte, wire.Span) {
	if !bytes.Contains(params, []byte(`"task"`)) {
		return params, token
	}
	var at [1]wire.Span
	if wire.Lookup(params, []string{"task"}, at[:]) != nil || !at[0].Ok() {
		return params, token
	}
	edits := wire.Removals(params, at[0])
	return wire.Splice(params, edits...), shifted(token, edits)
}
