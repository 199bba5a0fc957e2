package gateway

import (
	"context"
	"strconv"
	"sync"

	"postern/pkg/call"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// The agent's side of a session, for package call.
var _ call.Agent = (*session)(nil)

// questions are the requests that the agent was sent and has not answered. The
// gateway numbers them; the number is also the token for progress on one.
type questions struct {
	mu   sync.Mutex
	last int64
	open map[string]*question // by wire.IDKey of the number
}

// question is a request of a server on its way to the agent.
type question struct {
	number   []byte
	answer   chan wire.Message   // takes the one answer
	token    []byte              // of the server, for progress; nil = none
	progress func(params []byte) // takes progress with the server's token
}

// Ask sends a server's request on to the agent under an id of its own and waits
// for the answer, as call.Agent says. It waits until the agent answers, the
// server withdraws the question or the session ends.
func (s *session) Ask(ctx context.Context, method string, params []byte, progress func([]byte)) (wire.Message, error) {
	q := &question{answer: make(chan wire.Message, 1), progress: progress}
	params = s.asked.add(q, params)
	defer s.asked.take(q.number)
	err := s.deliver(ctx, wire.RequestLine(q.number, method, params))
	if err != nil {
		return wire.Message{}, err
	}
	select {
	case m := <-q.answer:
		return m, nil
	case <-ctx.Done():
		s.withdraw(q, context.Cause(ctx))
		return wire.Message{}, context.Cause(ctx)
	case <-s.ctx.Done():
		return wire.Message{}, context.Cause(s.ctx)
	}
}

// withdraw tells the agent that nobody waits for its answer any more.
func (s *session) withdraw(q *question, why error) {
	if s.ctx.Err() != nil || s.asked.take(q.number) == nil {
		return
	}
	params := append([]byte(`{"requestId":`), q.number...)
	if cause, ok := why.(*upstream.Cancelled); ok && cause.Reason != "" {
		params = append(append(params, `,"reason":`...), wire.Quote(cause.Reason)...)
	}
	// A queue that is full holds the question too: the agent reads neither.
	_ = s.out.Send(wire.NotificationLine("notifications/cancelled", append(params, '}')), nil)
}

// add numbers a question and returns its params with the number as the token of
// progress, where they ask for progress.
func (a *questions) add(q *question, params []byte) []byte {
	a.mu.Lock()
	a.last++
	q.number = strconv.AppendInt(nil, a.last, 10)
	if a.open == nil {
		a.open = map[string]*question{}
	}
	a.open[wire.IDKey(q.number)] = q
	a.mu.Unlock()
	at := progressToken(params)
	if !at.Ok() {
		return params
	}
	q.token = at.Of(params)
	return wire.Splice(params, wire.Edit{Span: at, New: q.number})
}

// take removes an open question and returns it, nil when it is not open.
func (a *questions) take(number []byte) *question {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := wire.IDKey(number)
	q := a.open[key]
	delete(a.open, key)
	return q
}

func (a *questions) find(number []byte) *question {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open[wire.IDKey(number)]
}

// answered hands an answer of the agent to whoever waits for it. One under an id
// that was not asked under, or a second one, is nobody's.
func (a *questions) answered(m wire.Message) {
	if q := a.take(m.IDBytes()); q != nil {
		q.answer <- m // has room: nobody else can take the question
	}
}

// progressed hands the agent's progress to the server that asked.
func (a *questions) progressed(params []byte) {
	var at [1]wire.Span
	if wire.Lookup(params, []string{"progressToken"}, at[:]) != nil || !at[0].Ok() {
		return
	}
	q := a.find(at[0].Of(params))
	if q != nil && q.token != nil && q.progress != nil {
		q.progress(wire.Splice(params, wire.Edit{Span: at[0], New: q.token}))
	}
}

// progressToken is where _meta.progressToken stands in params, the zero Span for
// none.
func progressToken(params []byte) wire.Span {
	var meta, token [1]wire.Span
	if wire.Lookup(params, []string{"_meta"}, meta[:]) != nil || !wire.IsObject(meta[0].Of(params)) {
		return wire.Span{}
	}
	if wire.Lookup(meta[0].Of(params), []string{"progressToken"}, token[:]) != nil || !token[0].Ok() {
		return wire.Span{}
	}
	return wire.Span{Start: meta[0].Start + token[0].Start, End: meta[0].Start + token[0].End}
}
