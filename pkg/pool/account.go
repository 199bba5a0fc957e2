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
	u := i.pool.user(b, session)
	if b.breaker.open && (b.breaker.probing || b.breaker.left(now) > 0) {
		return nil, b.circuitOpen(now)
	}
	b.calls++
	u.calls++
	return u, nil
}

// end is the end of what begin noted.
func (i *Instance) end(u *user) {
	i.pool.mu.Lock()
	defer i.pool.mu.Unlock()
	b := i.berth
	b.calls--
	u.calls--
	if !u.wants {
		b.letGoOf(u.session, u)
	}
	b.used = time.Now()
	if b.calls > 0 {
		return
	}
	idle := b.server().IdleStop
	if b.retired || idle > 0 && b.used.Add(idle).Before(i.pool.alarm) {
		i.pool.nudge()
	}
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
	return probe, nil
}

// settle tells the breaker what became of a call that it let through.
func (i *Instance) settle(u *user, probe bool, f *upstream.Failure, answered bool) {
	i.pool.mu.Lock()
	defer i.pool.mu.Unlock()
	b := i.berth
	u.flying--
	switch {
	case answered:
		b.breaker.answered()
		b.didWell()
	case f != nil && i.counts(f):
		b.breaker.failed(time.Now(), probe) // who waits for a slot is refused once it has one
	case probe:
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
		return f.Word == upstream.Protocol // of this one call: the connection lives
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
