package call

import (
	"context"
	"math"
	"time"

	"postern/pkg/config"
	"postern/pkg/upstream"
)

// errTooLong is the cause of a call's context when max_timeout ran out.
type errTooLong struct{ limit time.Duration }

func (e *errTooLong) Error() string { return "max_timeout of " + e.limit.String() + " is over" }

// questionLook is how often a call whose time is over looks whether the question
// that holds it up was answered.
const questionLook = 50 * time.Millisecond

// bounded gives a call its max_timeout, from its very beginning and without the
// time in which its person was asked something (R44). The caller ends it.
func (c *Call) bounded(ctx context.Context, s *Server) *bound {
	b := &bound{limit: s.Declared.MaxTimeout, begin: c.times.begin, still: &c.session.still}
	b.stood = b.still.Total()
	b.Context, b.cancel = context.WithCancelCause(ctx)
	b.timer = time.AfterFunc(math.MaxInt64, b.look)
	b.timer.Reset(time.Until(b.begin.Add(b.limit)))
	return b
}

// bound is a context whose deadline moves while a question is open.
type bound struct {
	context.Context
	cancel context.CancelCauseFunc
	limit  time.Duration
	begin  time.Time
	still  *upstream.Standstill
	stood  time.Duration // of still, before the call
	timer  *time.Timer
}

// Deadline is when the call is over if nothing more is asked. However much is, a
// server cannot hold a call for longer than config.MaxStandstill on top.
func (b *bound) Deadline() (time.Time, bool) {
	return b.begin.Add(b.limit + min(b.still.Total()-b.stood, config.MaxStandstill)), true
}

// Err tells the end of the time from other ends.
func (b *bound) Err() error {
	err := b.Context.Err()
	if _, ok := context.Cause(b.Context).(*errTooLong); ok && err != nil {
		return context.DeadlineExceeded
	}
	return err
}

func (b *bound) look() {
	if b.Context.Err() != nil {
		return
	}
	deadline, _ := b.Deadline()
	if left := time.Until(deadline); left > 0 {
		b.timer.Reset(max(left, questionLook))
		return
	}
	b.cancel(&errTooLong{b.limit})
}

func (b *bound) end() {
	b.timer.Stop()
	b.cancel(nil)
}
