package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tidwall/gjson"

	"postern/pkg/call"
	"postern/pkg/config"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// request is one request of the agent that has no answer yet.
type request struct {
	id     []byte
	key    string
	method string
	modern *call.Modern      // nil for a request of the legacy era
	reply  func(line []byte) // hands over the one answer; nil says that there will be none
	row    string            // the id of its row; "" = the log makes one
	ticket *call.Ticket      // its place among the session's requests; nil when it waits for none
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// read takes the agent's messages one after the other until r ends. A line
// that is no message is answered and the session goes on (R1, R3).
func (s *session) read(r io.Reader) error {
	longest := config.AgentMessageBytes
	if s.o.Stamped {
		longest += stampBytes
	}
	lines := wire.NewReader(r, longest)
	for {
		if s.unsent.pause(s.ctx); s.ctx.Err() != nil {
			return nil
		}
		line, err := lines.Next()
		var long *wire.TooLongError
		switch {
		case errors.As(err, &long):
			s.send(wire.ErrorLine(nil, &wire.RPCError{Code: wire.CodeInvalidRequest,
				Message: fmt.Sprintf("the message is longer than %d bytes", config.AgentMessageBytes)}))
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		default:
			if line, err = s.unstamped(line); err != nil {
				return err
			}
			s.line(line)
		}
	}
}

// line handles one line of the agent.
func (s *session) line(line []byte) {
	m, err := wire.Parse(line)
	if err == nil {
		s.message(m, s.send)
		return
	}
	var bad *wire.ParseError
	if errors.As(err, &bad) && bad.Batch && s.speaks("2025-03-26") {
		s.batch(line)
		return
	}
	s.send(parseError(err))
}

func parseError(err error) []byte {
	e := &wire.RPCError{Code: wire.CodeParse, Message: err.Error()}
	var bad *wire.ParseError
	if !errors.As(err, &bad) {
		return wire.ErrorLine(nil, e)
	}
	e.Code, e.Message = bad.Code, bad.Reason
	return wire.ErrorLine(bad.ID, e)
}

func (s *session) speaks(revision string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision == revision
}

// message handles one message; reply is where its answer goes.
func (s *session) message(m wire.Message, reply func([]byte)) {
	switch m.Kind {
	case wire.Request:
		s.request(m, reply)
	case wire.Notification:
		s.notification(m)
	case wire.Response:
		s.asked.answered(m)
	}
}

// start registers a request, so that a cancellation right behind it finds it,
// and runs it. modern is nil for a request of the legacy era, which initialize
// goes before.
func (s *session) start(m wire.Message, modern *call.Modern, reply func([]byte), run func(*request, wire.Message)) {
	r := &request{id: m.IDBytes(), key: wire.IDKey(m.IDBytes()), method: m.Method, modern: modern, reply: reply, row: s.takeStamp()}
	s.mu.Lock()
	_, taken := s.open[r.key]
	full := len(s.open) >= config.SessionCalls
	ready := s.revision != "" || modern != nil
	if taken || full || !ready {
		s.mu.Unlock()
		reply(wire.ErrorLine(r.id, refuseStart(taken, full)))
		return
	}
	r.ctx, r.cancel = context.WithCancelCause(s.ctx)
	s.open[r.key] = r
	s.mu.Unlock()
	if inOrder(m.Method) {
		r.ticket = s.calls.Ticket()
	}
	s.wg.Go(func() { // ends when run returns, which each wait in it bounds and r.cancel hastens
		defer r.cancel(nil)
		defer r.ticket.Over()
		s.guard(func() { run(r, m) })
	})
}

func refuseStart(taken, full bool) *wire.RPCError {
	e := &wire.RPCError{Code: wire.CodeInvalidRequest}
	switch {
	case taken:
		e.Message = "a request with this id is under way"
	case full:
		e.Message = fmt.Sprintf("more than %d requests are under way", config.SessionCalls)
	default:
		e.Message = "send initialize first"
	}
	return e
}

// done ends a request with its answer. A request that the agent cancelled gets
// none (R45), whatever goes under its id by now.
func (s *session) done(r *request, line []byte) {
	s.mu.Lock()
	waiting := s.open[r.key] == r
	if waiting {
		s.forget(r)
	}
	s.mu.Unlock()
	switch {
	case !waiting:
		line = nil
	case line != nil && r.modern != nil:
		line = s.finishModern(r, line)
	}
	r.reply(line)
}

// forget takes r off the open requests, with mu held.
func (s *session) forget(r *request) {
	delete(s.open, r.key)
	if s.idle != nil && len(s.open) == 0 {
		close(s.idle)
		s.idle = nil
	}
}

// cancelled ends the request that the agent no longer wants. One that is
// answered already, or unknown, is ignored as the protocol says.
func (s *session) cancelled(m wire.Message) {
	var spans [3]wire.Span
	params := m.ParamsBytes()
	if wire.Lookup(params, []string{"requestId", "reason", "_meta"}, spans[:]) != nil || !spans[0].Ok() {
		return
	}
	reason, err := wire.Unquote(spans[1].Of(params))
	if err != nil {
		reason = ""
	}
	s.mu.Lock()
	r := s.open[wire.IDKey(spans[0].Of(params))]
	if r != nil && r.method == "initialize" {
		r = nil // nobody may cancel that
	}
	if r != nil {
		s.forget(r)
	}
	s.mu.Unlock()
	if r == nil {
		return
	}
	if gjson.GetBytes(spans[2].Of(params), TimeLimit).Type == gjson.True {
		r.cancel(&overdue{upstream.Cancelled{Reason: reason}})
		return
	}
	r.cancel(&upstream.Cancelled{Reason: reason})
}

// TimeLimit is the member of a cancellation's _meta that is true where a time limit
// of the caller's own is behind it: its row says so then.
const TimeLimit = "postern/timeout"

// overdue is such a cancellation.
type overdue struct{ upstream.Cancelled }

// Unwrap makes it a timeout, wherever it is asked about.
func (o *overdue) Unwrap() error { return context.DeadlineExceeded }
