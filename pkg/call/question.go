package call

import (
	"context"
	"strings"
	"unicode"

	"postern/pkg/config"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// What a server may ask an agent.
const (
	methodElicit = "elicitation/create"
	methodSample = "sampling/createMessage"
	methodRoots  = "roots/list"
)

// approvalWords begin the questions that are the gateway's own; a server that
// began one so could pass for it.
const approvalWords = "postern approval"

// undeclared is why an agent is not asked.
const undeclared = "the agent does not offer it"

// question decides whether a server may put a request to the agent: whether the
// agent declared that it answers such, and whether this server may ask it (R16,
// R72). It gives the params to ask with, or says why it is not asked.
func (s *Session) question(d *config.Server, method string, params []byte) (worded []byte, problem string) {
	switch method {
	case methodElicit:
		declared := s.declared("elicitation")
		if declared == nil || !offersMode(declared, params) {
			return nil, undeclared
		}
		return s.worded(d, params)
	case methodSample:
		switch declared := s.declared("sampling"); {
		case d.Shared || !d.Sampling:
			return nil, "this server may not use the agent's model"
		case declared == nil || has(params, "tools", "toolChoice") && objectIn(declared, "tools") == nil:
			return nil, undeclared
		}
		return params, ""
	case methodRoots:
		switch {
		case d.Shared:
			return nil, "the server is shared by agents with different roots"
		case s.declared("roots") == nil:
			return nil, undeclared
		}
		return params, ""
	case methodTaskGet, methodTaskResult, methodTaskList, methodTaskCancel:
		if problem = s.askedTask(d, method, params); problem == "" {
			worded = params
		}
		return worded, problem
	}
	return nil, "it is not known here"
}

// offersMode reports whether the agent declared the mode of an elicitation.
// Without any mode it declared the first there was, forms.
func offersMode(declared, params []byte) bool {
	var at [1]wire.Span
	if wire.Lookup(params, []string{"mode"}, at[:]) != nil {
		return false
	}
	form, url := objectIn(declared, "form") != nil, objectIn(declared, "url") != nil
	switch mode := at[0].Of(params); {
	case mode == nil, string(mode) == `"form"`:
		return form || !url
	case string(mode) == `"url"`:
		return url
	}
	return false
}

// has reports whether an object has one of some members.
func has(object []byte, names ...string) bool {
	at := make([]wire.Span, len(names))
	if wire.Lookup(object, names, at) != nil {
		return true // twice is there, too
	}
	for _, v := range at {
		if v.Ok() {
			return true
		}
	}
	return false
}

// worded is the params of an elicitation with the server's id before the message,
// so that the person sees who asks; not where the session is that server's alone,
// and the person knows (R62).
func (s *Session) worded(d *config.Server, params []byte) (worded []byte, problem string) {
	var at [1]wire.Span
	if err := wire.Lookup(params, []string{"message"}, at[:]); err != nil {
		return nil, err.Error()
	}
	message, err := wire.Unquote(at[0].Of(params))
	if err != nil {
		return nil, "it has no message"
	}
	if forged(message) {
		return nil, "it begins like a question of the gateway's own"
	}
	if s.o.Only != "" {
		return params, ""
	}
	mark := wire.Quote("[server " + d.ID + "] ")
	begin := at[0].Start + 1 // behind the opening quote
	return wire.Splice(params, wire.Edit{Span: wire.Span{Start: begin, End: begin}, New: mark[1 : len(mark)-1]}), ""
}

// forged reports whether a person could take a message for one of the gateway's
// own questions: whatever cannot be seen, or is drawn around the words, does not
// count.
func forged(message string) bool {
	message = strings.Map(shownRune, message)
	words := strings.Fields(approvalWords)
	for _, word := range words {
		message = strings.TrimLeftFunc(message, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if len(message) < len(word) || !strings.EqualFold(message[:len(word)], word) {
			return false
		}
		message = message[len(word):]
	}
	return true
}

// shownRune is -1 for what cannot be seen: it may stand within a word too.
func shownRune(r rune) rune {
	if unicode.In(r, unicode.Cf, unicode.Mn, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) ||
		unicode.IsControl(r) && !unicode.IsSpace(r) {
		return -1
	}
	return r
}

// asked puts a request to the agent and waits for the response, at most
// config.QuestionLife. Whoever calls it holds a place. The time does not count
// against the calls of this session (R44).
func (s *Session) asked(ctx context.Context, method string, params []byte, progress func([]byte)) (wire.Message, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, config.QuestionLife, &upstream.Cancelled{
		Reason: "nobody answered within " + config.QuestionLife.String(),
	})
	defer cancel()
	defer s.still.Begin()()
	return s.o.Agent.Ask(ctx, method, params, progress)
}
