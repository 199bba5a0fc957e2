package pool

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"postern/pkg/config"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// A modern server says nothing unasked: one subscriptions/listen is open as long
// as it lives, for changes of the lists it has and for what sessions are
// subscribed to. Another set means another listen, which is acknowledged before
// the one before it is ended, so that nothing is missed.

const methodListen = "subscriptions/listen"

// listening is one subscriptions/listen.
type listening struct {
	id    []byte        // on the wire; guarded by listens.mu
	ack   chan []byte   // gets what the server agreed to, once
	ended chan struct{} // closed when it is over; reply and err are set then
	reply upstream.Reply
	err   error
	end   context.CancelCauseFunc
}

// listens is those of one process: the one that counts, and the one that is
// about to.
type listens struct {
	mu        sync.Mutex
	now, next *listening
	since     time.Time   // when now began to count
	short     int         // how many the server ended soon, in a row
	due       atomic.Bool // one more is about to be opened, for tasks
}

// refusedError is a listen that the server answered in place of acknowledging it.
type refusedError struct{ reply upstream.Reply }

func (e *refusedError) Error() string { return "the server does not let itself be listened to" }

// listen has the server tell what is wanted now in place of what was wanted
// before, and is what it agreed to. When that fails the listen before goes on;
// the error is a *refusedError or a *upstream.Failure. The caller holds the
// berth's gate.
func (i *Instance) listen(ctx context.Context) (agreed []byte, err error) {
	i.listens.due.Store(false)
	filter := i.filter()
	if filter == nil {
		i.listens.count(nil)
		return nil, nil
	}
	l, err := i.open(filter)
	if err != nil {
		return nil, err
	}
	limit := time.NewTimer(i.server.Timeout)
	defer limit.Stop()
	f := &upstream.Failure{Word: upstream.Aborted, Server: i.server.ID, Phase: methodListen, Sent: true}
	select {
	case agreed = <-l.ack:
		i.listens.count(l)
		return agreed, nil
	case <-l.ended:
		select {
		case agreed = <-l.ack: // and ended at once
			return agreed, nil
		default:
		}
		if l.err == nil {
			return nil, &refusedError{l.reply}
		}
		if errors.As(l.err, &f) {
			f = i.pool.clean(f)
		}
	case <-ctx.Done():
		f.Detail = context.Cause(ctx).Error()
	case <-limit.C:
		f.Word, f.Limit = upstream.Timeout, i.server.Timeout
		f.Detail = "not acknowledged within " + f.Limit.String()
	}
	l.end(&upstream.Cancelled{Reason: "it was not acknowledged"})
	return nil, f
}

// open sends one more listen.
func (i *Instance) open(filter []byte) (*listening, error) {
	if !i.pool.attend() {
		return nil, i.notSent(ErrClosed, 0)
	}
	ctx, end := context.WithCancelCause(context.Background())
	l := &listening{ack: make(chan []byte, 1), ended: make(chan struct{}), end: end}
	i.listens.expect(l)
	go i.attendTo(ctx, l, filter) // ends when the server or we end the listen, or with the connection
	return l, nil
}

// attendTo waits for the end of a listen. One that counted is opened again, as the
// server goes on changing; what changed meanwhile nobody told.
func (i *Instance) attendTo(ctx context.Context, l *listening, filter []byte) {
	defer i.pool.watch.Done()
	i.pool.contain("server "+i.server.ID, func() {
		defer close(l.ended)
		l.reply, l.err = i.client.Do(ctx, upstream.Call{
			Method: methodListen, Params: append(append([]byte(`{"notifications":`), filter...), '}'),
			Sent: func(id []byte) { i.listens.sent(l, id) },
		})
	})
	n := i.listens.lost(l, time.Now())
	if n == 0 || i.filter() == nil {
		return
	}
	again := time.NewTimer(pause(i.server.RestartDelay, n, rand.Float64()))
	defer again.Stop()
	select {
	case <-i.client.Done():
	case <-again.C:
		i.listenAgain()
		i.changed(tools, prompts, resources, templates)
	}
}

// listenAgain is listen for those whom its outcome does not concern.
func (i *Instance) listenAgain() {
	ctx, done := i.lifetime()
	defer done()
	if i.berth.subscribing.enter(ctx) != nil {
		return
	}
	defer i.berth.subscribing.leave()
	_, _ = i.listen(ctx)
}

// expect makes l the one whose acknowledgement is waited for.
func (s *listens) expect(l *listening) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = l
}

// sent notes the id of l, before the server can have answered.
func (s *listens) sent(l *listening, id []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.id = id
}

// count makes l the one that counts, nil for none, and ends the one before.
func (s *listens) count(l *listening) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now != nil {
		s.now.end(&upstream.Cancelled{Reason: "another one takes its place"})
	}
	s.now, s.next, s.since = l, nil, time.Now()
}

// lost notes that l is over. It is 0 when that is as it should be; else the
// server ended what counted, for the how manieth time in a row.
func (s *listens) lost(l *listening, now time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now != l {
		return 0
	}
	s.now = nil
	if now.Sub(s.since) >= config.FlapWindow {
		s.short = 0
	}
	s.short++
	return s.short
}

// acknowledge delivers what the server agreed to. It runs in the client's reader.
func (s *listens) acknowledge(params []byte) {
	var at, id [1]wire.Span
	if wire.Lookup(params, []string{"_meta"}, at[:]) != nil {
		return
	}
	meta := at[0].Of(params)
	if wire.Lookup(meta, []string{metaSubscription}, id[:]) != nil || wire.Lookup(params, []string{"notifications"}, at[:]) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.next; l != nil && l.id != nil && id[0].Ok() && wire.IDKey(l.id) == wire.IDKey(id[0].Of(meta)) {
		select {
		case l.ack <- at[0].Of(params):
		default: // it did so before
		}
	}
}
