package upstream

import (
	"context"
	"strconv"
	"sync"

	"postern/pkg/config"
	"postern/pkg/wire"
)

// Question is a request of the server's that waits for an answer. Its methods
// may be called from any goroutine, the callback that got it included, and none
// of them blocks.
type Question struct {
	// Message is the request as it was received.
	Message wire.Message

	c   *Client
	key string // of its id

	mu    sync.Mutex
	cause error // why it is over; nil while it is open
	ctx   context.Context
	stop  context.CancelCauseFunc
}

// Answer sends a response to the server, a result or an error, as it was
// received from whoever was asked: its id is replaced by the bytes of the
// request's, and every other byte is kept. Only the first of all calls of Answer
// and Decline does anything, and none does once the server has cancelled the
// request or the connection has ended. An answer that is longer than the server's
// max_message_bytes is replaced by an error that says so.
func (q *Question) Answer(response wire.Message) {
	if response.Kind != wire.Response {
		q.Decline()
		return
	}
	if !q.end(context.Canceled) {
		return
	}
	id := q.Message.IDBytes()
	line := response.WithID(id)
	if !response.ID.Ok() { // the error of one that could not read our id
		line = wire.InsertMember(response.Raw, "id", id)
	}
	if err := q.c.send(line, nil); err != nil {
		q.c.reply(wire.ErrorLine(id, &wire.RPCError{
			Code: wire.CodeInternal, Message: "the answer could not be sent: " + err.Error(),
		}))
	}
}

// Decline answers without anybody having been asked: an elicitation is
// cancelled, anything else is a method that is not offered. It is counted in
// Info.Declined.
func (q *Question) Decline() {
	if q.end(context.Canceled) {
		q.c.decline(q.Message)
	}
}

// Context ends when the question is over: answered or declined (its cause is
// context.Canceled), cancelled by the server (a *Cancelled with its reason), or
// lost with the connection (a *Failure). It costs nothing until it is asked for.
func (q *Question) Context() context.Context {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ctx == nil {
		q.ctx, q.stop = context.WithCancelCause(context.Background())
		if q.cause != nil {
			q.stop(q.cause)
		}
	}
	return q.ctx
}

// Progress sends the server notifications/progress for this request. params are
// sent as they are; their progressToken is the server's own, from Message. It may
// be lost when the server reads slowly, and is never sent after the answer.
func (q *Question) Progress(params []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.cause == nil {
		q.c.w.SendDroppable(wire.NotificationLine(methodProgress, params))
	}
}

// end makes the question over; false when it was.
func (q *Question) end(cause error) bool {
	q.mu.Lock()
	if q.cause != nil {
		q.mu.Unlock()
		return false
	}
	q.cause = cause
	stop := q.stop
	q.mu.Unlock()
	q.c.forget(q)
	if stop != nil {
		stop(cause)
	}
	return true
}

// asked takes a request of the server's in. A modern server has none to make
// (its results carry what it wants to know), so nobody is bothered with those.
func (c *Client) asked(m wire.Message) {
	switch {
	case m.Method == "ping":
		c.reply(wire.ResultLine(m.IDBytes(), []byte(`{}`)))
	case c.modern.Load():
		c.declined.Add(1)
		c.reply(unknownMethod(m))
	case c.o.Ask == nil:
		c.decline(m)
	default:
		q := &Question{Message: m, c: c, key: wire.IDKey(m.IDBytes())}
		if !c.note(q) {
			c.decline(m)
			return
		}
		c.o.Ask(q)
	}
}

// note keeps an open question, unless there are too many, its id is that of
// another one, or the connection has ended.
func (c *Client) note(q *Question) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil || len(c.questions) >= config.ServerQuestions || c.questions[q.key] != nil {
		return false
	}
	if c.questions == nil {
		c.questions = map[string]*Question{}
	}
	c.questions[q.key] = q
	return true
}

func (c *Client) forget(q *Question) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.questions[q.key] == q {
		delete(c.questions, q.key)
	}
}

// decline answers a request that nobody is asked about.
func (c *Client) decline(m wire.Message) {
	c.declined.Add(1)
	if m.Method == "elicitation/create" {
		c.reply(wire.ResultLine(m.IDBytes(), []byte(`{"action":"cancel"}`)))
		return
	}
	c.reply(unknownMethod(m))
}

func unknownMethod(m wire.Message) []byte {
	return wire.ErrorLine(m.IDBytes(), &wire.RPCError{
		Code: wire.CodeMethodNotFound, Message: "this client does not offer " + strconv.Quote(m.Method),
	})
}

// reply queues a short answer. When it cannot be queued, the server does not read
// its answers and meets the writer's deadline.
func (c *Client) reply(line []byte) { _ = c.w.Send(line, nil) }

// withdrawn is the server's notifications/cancelled: it wants no answer to a
// request of its own; or, of a modern server, it gives none to one of ours any
// more, which is how a subscription may end.
func (c *Client) withdrawn(params []byte) {
	var at [2]wire.Span
	if wire.Lookup(params, []string{"requestId", "reason"}, at[:]) != nil || !at[0].Ok() {
		c.dropped.Add(1)
		return
	}
	id, reason := at[0].Of(params), text(at[1].Of(params))
	taken := false
	if c.modern.Load() {
		taken = c.givenUp(id, reason)
	} else {
		taken = c.cancelled(id, reason)
	}
	if !taken {
		c.dropped.Add(1) // answered meanwhile, or never asked
	}
}

func (c *Client) cancelled(id []byte, reason string) bool {
	c.mu.Lock()
	q := c.questions[wire.IDKey(id)]
	c.mu.Unlock()
	return q != nil && q.end(&Cancelled{Reason: reason})
}

func (c *Client) givenUp(id []byte, reason string) bool {
	p := c.take(id)
	if p == nil {
		return false
	}
	f := &Failure{Word: Aborted, Server: c.o.Server, Detail: "the server ended the request"}
	if reason = lastLines(clean(reason), config.StderrLastLine); reason != "" {
		f.Detail += ": " + reason
	}
	p.done <- outcome{failure: f}
	return true
}
