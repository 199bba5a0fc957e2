package pool

import (
	"errors"
	"time"

	"postern/pkg/upstream"
)

// begin notes that a session calls, which makes it want the server up (R21). A
// call that the breaker would refuse is refused before it waits for a slot.
func (i *Instance) begin(session string) (*user, error) {
	i.pool.mu.Lock()
	defer i.pool.mu.Unlock()
	b, now := i.berth, time.Now()
	if err := i.pool.brake(b); err != nil {
		return nil, err
	}
	u := i.pool.user(b, session)
	if b.breaker.open && (b.breaker.probing || b.breaker.left(now) > 0) {
		if !u.wants {
			b.letGoOf(session, u)
		}
		return nil, b.circuitOpen(now)
	}
	b.calls++
	u.calls++
	return u, nil
}

// admit asks the breaker, now that there is a slot.
func (i *Instance) admit(u *user) (probe bool, err error) {
	i.pool.mu.Lock()
	defer i.pool.mu.Unlock()
	now := time.Now()
	ok, probe := i.berth.breaker.admit(now)
	if !ok {
		return false, i.berth.circuitOpen(now)
	}
	u.flying++
	i.callers.add(u.session)
	return probe, nil
}

// verdict is what became of a call. The zero value is one that was not admitted.
type verdict struct {
	admitted, probe bool
	answered        bool
	failure         *upstream.Failure
}

// end is the end of what begin noted, and tells the breaker what became of a call
// that it let through.
func (i *Instance) end(u *user, v verdict) {
	i.pool.mu.Lock()
	defer i.pool.mu.Unlock()
	b, now := i.berth, time.Now()
	if v.admitted {
		u.flying--
		i.settle(v, now)
		i.gaveUp(u.session, v.failure, now)
	}
	b.calls--
	u.calls--
	if !u.wants {
		b.letGoOf(u.session, u)
	}
	b.used = now
	if b.calls > 0 {
		return
	}
	idle := b.server().IdleStop
	if b.retired || idle > 0 && b.used.Add(idle).Before(i.pool.alarm) {
		i.pool.nudge()
	}
}

// settle is what the breaker learns. The caller holds Pool.mu.
func (i *Instance) settle(v verdict, now time.Time) {
	b := i.berth
	switch {
	case v.answered:
		b.breaker.answered()
		b.didWell()
	case v.failure != nil && i.counts(v.failure):
		b.breaker.failed(now, v.probe) // who waits for a slot is refused once it has one
	case v.probe:
		b.breaker.released()
	}
}

// counts reports whether a failure says something about the server (R24,
// MB-158): it did not answer in time, broke the protocol, or its connection
// ended, which counts once for all calls that ended with it. The caller holds
// Pool.mu.
func (i *Instance) counts(f *upstream.Failure) bool {
	switch f.Word {
	case upstream.Timeout:
		return f.Sent
	case upstream.Aborted, upstream.Spawn:
		return false
	}
	if i.client.Err() == nil {
		return f.Word == upstream.Protocol && f.Sent // of this one call: the connection lives
	}
	first := !i.counted
	i.counted = true
	return first
}

// notSent words why a call got no slot.
func (i *Instance) notSent(err error, limit time.Duration) error {
	f := &upstream.Failure{Word: upstream.Aborted, Server: i.server.ID, Phase: "queue", Detail: err.Error()}
	switch {
	case errors.Is(err, errQueueFull):
		f.Word = upstream.Overload
	case errors.Is(err, errTooLong):
		f.Word, f.Limit = upstream.Timeout, limit
		f.Detail += " within " + limit.String()
	}
	return f
}
