package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"postern/pkg/wire"
)

// stages of a request, kept in pending.stage.
const (
	queued  int32 = iota
	written       // a byte of it may have reached the server
	retired       // given up before that; it is never written
)

// keptPending bounds how many finished calls are kept to be used again.
const keptPending = 32

// pending is one request that waits for its answer. It is used again for a later
// call once its answer was taken.
type pending struct {
	id     uint64
	digits []byte // the id on the wire
	since  time.Time
	wrote  time.Time    // when the first byte was written; set before the stage
	stage  atomic.Int32 // queued, written, retired
	alive  atomic.Int64 // its last sign of life, in ns of its clock
	done   chan outcome // capacity 1; gets one outcome a call
	timer  *time.Timer
	begin  func() bool // for the writer

	still *Standstill
	sent  func(id []byte)

	mu       sync.Mutex // held while progress is handed on
	progress func(params []byte)
	token    []byte // the caller's own progress token
	steps    int
}

type outcome struct {
	message wire.Message
	failure *Failure
}

func (c *Client) newPending() *pending {
	p := &pending{done: make(chan outcome, 1), timer: time.NewTimer(time.Hour)}
	p.timer.Stop()
	p.begin = func() bool {
		p.wrote = time.Now()
		p.alive.Store(int64(p.clock(c)))
		sent := p.sent
		if sent == nil {
			return p.stage.CompareAndSwap(queued, written)
		}
		id := bytes.Clone(p.digits) // once it counts as written, p may become another call
		if !p.stage.CompareAndSwap(queued, written) {
			return false
		}
		c.guard(func() { sent(id) })
		return true
	}
	return p
}

// clock is the time since the client began, as far as it counts for this call.
func (p *pending) clock(c *Client) time.Duration {
	now := time.Since(c.epoch)
	if p.still != nil {
		now -= p.still.Total()
	}
	return now
}

// Do sends one request and waits for its response, which may be an error of the
// server's. It fails with a *Failure when there is none; Sent then says whether
// the server may have got the request. When ctx ends first, the server is sent
// notifications/cancelled with the reason (a *Cancelled as ctx's cause, or how
// the time ran out) and a late answer is dropped; a request not yet written is
// never sent. A deadline of ctx is the limit of the whole call.
func (c *Client) Do(ctx context.Context, call Call) (Reply, error) {
	reply, err := c.do(ctx, call, ready)
	if err == nil {
		c.answered.Store(true)
	}
	return reply, err
}

func (c *Client) do(ctx context.Context, call Call, needed life) (Reply, error) {
	if ctx.Err() != nil {
		return Reply{}, c.expired(ctx, call, nil)
	}
	p, err := c.enter(call, needed)
	if err != nil {
		return Reply{}, err
	}
	params, err := c.params(call, p.digits)
	if err == nil {
		err = c.send(wire.RequestLine(p.digits, call.Method, params), p.begin)
	}
	if err != nil {
		c.leave(p)
		return Reply{}, c.unsent(call, err)
	}
	if call.Place != nil {
		call.Place.Over()
	}
	return c.wait(ctx, call, p)
}

// enter registers a call.
func (c *Client) enter(call Call, needed life) (*pending, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		return nil, c.cause.of(call.Method, false)
	}
	if c.state != needed {
		return nil, &Failure{Word: Aborted, Server: c.o.Server, Phase: call.Method, Detail: "the connection is not ready"}
	}
	p := c.reuse()
	c.next++
	p.mu.Lock() // the reader may still look at what p was before
	p.id, p.digits = c.next, strconv.AppendUint(p.digits[:0], c.next, 10)
	p.progress, p.token, p.steps = call.Progress, call.Token.Of(call.Params), 0
	p.still, p.sent = call.Standstill, call.Sent
	p.mu.Unlock()
	p.since = time.Now()
	p.stage.Store(queued)
	c.calls[p.id] = p
	return p, nil
}

func (c *Client) reuse() *pending {
	if n := len(c.free); n > 0 {
		p := c.free[n-1]
		c.free = c.free[:n-1]
		return p
	}
	return c.newPending()
}

// send queues a line, which loses line breaks if it did not come as a line (R4).
func (c *Client) send(line []byte, begin func() bool) error {
	err := c.w.Send(line, begin)
	if errors.Is(err, wire.ErrLineBreak) {
		err = c.w.Send(wire.OneLine(line), begin)
	}
	return err
}

// wait is the life of a call after it was queued.
func (c *Client) wait(ctx context.Context, call Call, p *pending) (Reply, error) {
	if call.Timeout > 0 {
		p.timer.Reset(call.Timeout)
	}
	var resumed <-chan struct{} // while time stands still, when it goes on
	for {
		select {
		case out := <-p.done:
			return c.finish(call, p, out)
		case <-ctx.Done():
			return c.abandon(call, p, c.expired(ctx, call, p))
		case <-resumed:
			resumed = nil
			p.timer.Reset(max(0, c.left(p, call.Timeout)))
		case <-p.timer.C:
			if resumed = p.still.resumed(); resumed != nil {
				continue
			}
			if left := c.left(p, call.Timeout); left > 0 {
				p.timer.Reset(left)
				continue
			}
			return c.abandon(call, p, &Failure{
				Word: Timeout, Server: c.o.Server, Phase: call.Method, Limit: call.Timeout,
				Detail: fmt.Sprintf("no answer within %v", call.Timeout) + p.lastStep(c), Stderr: c.lastWords(),
			})
		}
	}
}

// left is what remains of the timeout; all of it while the request is queued.
func (c *Client) left(p *pending, timeout time.Duration) time.Duration {
	if p.stage.Load() == queued {
		return timeout
	}
	return timeout - (p.clock(c) - time.Duration(p.alive.Load()))
}

func (c *Client) finish(call Call, p *pending, out outcome) (Reply, error) {
	p.end()
	if out.failure != nil {
		return Reply{}, out.failure.of(call.Method, p.stage.Load() == written)
	}
	reply := Reply{Message: out.message, Written: p.wrote}
	c.recycle(p)
	return reply, nil
}

// end waits for progress that is being handed on, and lets none follow.
func (p *pending) end() {
	p.timer.Stop()
	p.mu.Lock()
	p.id, p.progress = 0, nil
	p.mu.Unlock()
}

// recycle keeps p for another call. The writer is done with it, since only a
// request that was written is answered.
func (c *Client) recycle(p *pending) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.free) < keptPending {
		c.free = append(c.free, p)
	}
}

// abandon gives the call up as f, unless its outcome is there already.
func (c *Client) abandon(call Call, p *pending, f *Failure) (Reply, error) {
	if !c.leave(p) {
		return c.finish(call, p, <-p.done) // whoever took it out is about to deliver
	}
	p.end()
	f.Sent = !p.stage.CompareAndSwap(queued, retired)
	if f.Sent && call.Method != "initialize" {
		c.cancel(p.digits, f)
	}
	return Reply{}, f
}

// leave takes the call out of the table; false if it was out already.
func (c *Client) leave(p *pending) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[p.id] != p {
		return false
	}
	delete(c.calls, p.id)
	return true
}

// cancel tells the server. When that cannot be queued the server reads nothing
// anyway, and the writer's own deadline ends the connection.
func (c *Client) cancel(digits []byte, f *Failure) {
	params := append([]byte(`{"requestId":`), digits...)
	params = append(append(append(params, `,"reason":`...), wire.Quote(f.Detail)...), '}')
	_ = c.w.Send(wire.NotificationLine(methodCancelled, params), nil)
}

// expired says how ctx ended a call; p is nil if it never began.
func (c *Client) expired(ctx context.Context, call Call, p *pending) *Failure {
	f := &Failure{Word: Aborted, Server: c.o.Server, Phase: call.Method, Detail: context.Cause(ctx).Error()}
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return f
	}
	f.Word, f.Detail, f.Stderr = Timeout, "no time was left for it", c.lastWords()
	if p == nil {
		return f
	}
	if end, ok := ctx.Deadline(); ok {
		f.Limit = end.Sub(p.since).Round(time.Millisecond)
	}
	f.Detail = fmt.Sprintf("no answer within %v altogether", f.Limit)
	if call.Timeout > 0 {
		f.Detail += fmt.Sprintf(" (the limit since its last sign of life is %v)", call.Timeout)
	}
	f.Detail += p.lastStep(c)
	return f
}

// lastStep tells of the progress that was seen.
func (p *pending) lastStep(c *Client) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.steps == 0 {
		return ""
	}
	ago := p.clock(c) - time.Duration(p.alive.Load())
	return fmt.Sprintf("; the last of %d progress messages came %v ago", p.steps, ago.Round(time.Millisecond))
}

// Notify sends the server a notification; params nil leaves the member out. It
// waits for nothing: an error, a *Failure, means that it was not queued. Cancelling
// a Do is done by its ctx instead.
func (c *Client) Notify(method string, params []byte) error {
	if cause := c.Err(); cause != nil {
		return cause.of(method, false)
	}
	if err := c.send(wire.NotificationLine(method, params), nil); err != nil {
		return c.unsent(Call{Method: method}, err)
	}
	return nil
}

// unsent is the failure of a request that was refused before it was queued.
func (c *Client) unsent(call Call, err error) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	if cause := c.Err(); cause != nil {
		return cause.of(call.Method, false)
	}
	f = &Failure{Server: c.o.Server, Phase: call.Method, Detail: err.Error()}
	switch {
	case errors.Is(err, wire.ErrOverload), errors.Is(err, wire.ErrLineTooLong):
		f.Word = Overload
	case errors.Is(err, wire.ErrWriterClosed):
		f.Word = Closed
	default:
		f.Word = Closed // stdin broke; the exit is about to be noticed
	}
	return f
}
