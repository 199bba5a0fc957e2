package pool

import (
	"context"
	"math/rand/v2"
	"time"

	"postern/pkg/config"
	"postern/pkg/trust"
)

// berth is one key's place in the pool: the process it has, if any, and what
// outlives a process. Pool.mu guards all of it.
type berth struct {
	key      string
	approved *trust.Approved  // the newest of this key
	entry    *entry           // nil = no process, and none on its way or going
	users    map[string]*user // open sessions that had to do with it
	eager    map[string]bool  // open sessions that want it up without a call
	retired  bool             // no longer declared: it ends with its last call
	used     time.Time        // when something last asked for it, or a call ended
	calls    int              // under way or waiting
	breaker  breaker
	deaths   []time.Time // within the last FlapWindow
	tries    int         // deaths and failed starts since it last did well
	retry    time.Time   // when the pool starts it again by itself, if wanted
	held     time.Time   // until then nothing starts it
	last     *Instance   // the one that died last; how may be known a moment later only
	noStart  string      // why the last start came to nothing, if that was after its last death
	restarts int         // starts after deaths and failed starts

	subscriptions map[string]map[string]bool // by URI, the sessions; never empty ones
	subscribed    map[string]int             // how many of them each session has
	subscribing   gate                       // held while the server is told of one
	tasks         map[task]time.Time         // until when they keep it from being stopped
	past          []task                     // whose the last tasks were that are not held any more
	elicitations  []elicitation              // the last ones, the newest at the end
}

func newBerth(key string) *berth {
	return &berth{
		key: key, users: map[string]*user{}, eager: map[string]bool{}, used: time.Now(),
		subscriptions: map[string]map[string]bool{}, subscribed: map[string]int{}, subscribing: newGate(), tasks: map[task]time.Time{},
	}
}

// entry is one process of one key: made before the process exists, so that
// racing callers find it and wait for the same start.
type entry struct {
	ready    chan struct{} // closed when instance or err is set
	gone     chan struct{} // closed when nothing of it is left
	end      context.CancelFunc
	own      bool // the pool started it by itself; guarded by Pool.mu, as is
	ending   bool // end was called, or it died, or never came up
	instance *Instance
	err      error
}

// started reports whether e is past its start.
func (e *entry) started() bool {
	select {
	case <-e.ready:
		return true
	default:
		return false
	}
}

// over reports whether e is no use any more: it failed, its process has ended,
// or it was told to. The caller holds Pool.mu.
func (e *entry) over() bool {
	return e.ending || e.started() && (e.instance == nil || e.instance.ended())
}

func (b *berth) server() *config.Server { return b.approved.Server() }

// adopt takes the newest declaration of the key. What of it lies outside the
// key holds at once (R20).
func (b *berth) adopt(a *trust.Approved) {
	b.approved, b.retired = a, false
	srv := a.Server()
	b.breaker.limit = srv.Breaker
	if srv.Start != "eager" {
		clear(b.eager)
	}
	if b.entry != nil && b.entry.started() && b.entry.instance != nil {
		b.entry.instance.queue.resize(srv.MaxConcurrency, srv.Queue)
	}
}

// letGo forgets who wants it. What sessions are subscribed to and their tasks
// stay: they are of use again when somebody starts it.
func (b *berth) letGo() {
	for session, u := range b.users {
		b.letGoOf(session, u)
	}
	clear(b.eager)
}

// letGoOf forgets that one session wants it, and the session with that unless it
// has calls.
func (b *berth) letGoOf(session string, u *user) {
	u.wants = false
	if u.calls == 0 {
		delete(b.users, session)
	}
}

// finish ends its process, if there is one, for good.
func (b *berth) finish() {
	b.letGo()
	if b.entry != nil {
		b.entry.ending = true
		b.entry.end()
	}
}

// up is the instance of its process, once that has started and as long as it is
// of use.
func (b *berth) up() *Instance {
	if b.entry == nil || b.entry.over() || !b.entry.started() {
		return nil
	}
	return b.entry.instance
}

// wanted reports whether it is to be up (R21).
func (b *berth) wanted() bool {
	for _, u := range b.users {
		if u.wants {
			return true
		}
	}
	return len(b.eager) > 0
}

// didWell ends the memory of what went wrong before: the next restart comes
// after the shortest delay again.
func (b *berth) didWell() { b.tries, b.retry = 0, time.Time{} }

// died notes the end of a process that nobody had asked for. The fifth within a
// minute holds the server down.
func (b *berth) died(now time.Time, i *Instance) {
	if now.Sub(i.since) >= config.FlapWindow {
		b.didWell()
	}
	recent := b.deaths[:0]
	for _, at := range b.deaths {
		if now.Sub(at) < config.FlapWindow {
			recent = append(recent, at)
		}
	}
	b.deaths, b.last, b.noStart = append(recent, now), i, ""
	b.again(now)
	if len(b.deaths) >= config.FlapDeaths {
		b.held = now.Add(config.FlapHold)
	}
}

// again sets when the pool tries by itself.
func (b *berth) again(now time.Time) {
	b.tries++
	b.retry = now.Add(pause(b.server().RestartDelay, b.tries, rand.Float64()))
}

// pause is the wait before the nth try in a row: doubled each time up to
// MaxRestartDelay, which it never exceeds, and spread over half of itself by
// luck in [0, 1), so that servers that ended together do not start together.
func pause(first time.Duration, n int, luck float64) time.Duration {
	base := first
	for ; n > 1 && base < config.MaxRestartDelay; n-- {
		base *= 2
	}
	base = min(base, config.MaxRestartDelay)
	least := min(base, config.MaxRestartDelay-base/2)
	return least + time.Duration(luck*float64(base/2))
}

// heldDown is why nothing may start it now; nil when something may. A hold
// that is over is forgotten with the deaths that led to it.
func (b *berth) heldDown(now time.Time) error {
	if b.held.IsZero() {
		return nil
	}
	if left := b.held.Sub(now); left > 0 {
		return &HeldError{Server: b.server().ID, Deaths: len(b.deaths), Why: b.last.ending(false), Left: seconds(left)}
	}
	b.held, b.deaths, b.tries = time.Time{}, nil, 0
	return nil
}

// circuitOpen is why a call is not let through; the caller knows that it is not.
func (b *berth) circuitOpen(now time.Time) error {
	return &OpenError{Server: b.server().ID, Left: seconds(b.breaker.left(now))}
}
