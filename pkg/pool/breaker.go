package pool

import (
	"time"

	"postern/pkg/config"
)

// breaker decides whether a server that keeps failing is asked at all (R24).
// Closed, it counts failures in a row: connections that ended, broken
// protocol, timeouts, and starts that came to nothing, each once however many
// calls waited for it. At its limit it opens: calls fail at once until the
// cooldown is over. Then one call, or one start, is let through and decides.
// Any answer of the server closes it, errors included.
//
// It is a value without a lock or a clock; Pool.mu guards it.
type breaker struct {
	limit    config.Breaker
	failures int       // in a row
	ofStart  bool      // the last of them was a start
	open     bool      //
	until    time.Time // of open: when the next one may try
	probing  bool      // of open: one is trying
}

// left is how long calls still fail at once; 0 when one may try.
func (b *breaker) left(now time.Time) time.Duration {
	if !b.open {
		return 0
	}
	return max(0, b.until.Sub(now))
}

// admit asks for one call. Where it is let through as the one that decides,
// probe is true and the caller owes one of answered, failed and released.
func (b *breaker) admit(now time.Time) (ok, probe bool) {
	switch {
	case !b.open:
		return true, false
	case b.probing || now.Before(b.until):
		return false, false
	}
	b.probing = true
	return true, true
}

// answered: the server said something.
func (b *breaker) answered() { *b = breaker{limit: b.limit} }

// failed counts one failure. A call that was sent before the breaker opened
// decides nothing.
func (b *breaker) failed(now time.Time, probe bool) {
	b.failures++
	b.ofStart = false
	b.trip(now, probe)
}

// startFailed counts a start that came to nothing. While the breaker is open,
// that is as good as a probe.
func (b *breaker) startFailed(now time.Time) {
	b.failures++
	b.ofStart = true
	b.trip(now, b.open)
}

// trip opens the breaker, for a new cooldown, where that is due.
func (b *breaker) trip(now time.Time, probe bool) {
	if b.open && probe || !b.open && b.failures >= b.limit.Failures {
		b.open, b.probing, b.until = true, false, now.Add(b.limit.Cooldown)
	}
}

// released: the probe was given up by its caller and decided nothing.
func (b *breaker) released() { b.probing = false }

// started: the server came up. That undoes starts that failed; it says nothing
// about calls that did.
func (b *breaker) started() {
	if b.ofStart {
		b.answered()
	}
}
