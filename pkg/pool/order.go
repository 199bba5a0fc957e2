package pool

import (
	"context"
	"sync"
)

// Order is the order in which calls came. The zero Order is empty; it may be used
// concurrently.
type Order struct {
	mu   sync.Mutex
	last *Ticket
}

// Join is the ticket of a call that comes behind all others. Sooner or later Over
// must be called for it: those behind wait.
func (o *Order) Join() *Ticket {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = &Ticket{before: o.last.open()}
	return o.last
}

// open is the last ticket from t backwards that is not over, nil when all are.
func (t *Ticket) open() *Ticket {
	for t != nil {
		t.mu.Lock()
		before, isOver := t.before, t.stage == over
		t.mu.Unlock()
		if !isOver {
			break
		}
		t = before
	}
	return t
}

// stage is how far a call has come.
type stage int8

const (
	joined stage = iota
	inLine       // it has a slot of the server, or a place in the queue for one
	over         // nobody behind it has to wait: its line is among those to the server, or it ended
)

// Ticket is the place of one call in an Order. The nil Ticket has none: it waits for
// nobody. Its methods may be called by anybody, again and in any order.
type Ticket struct {
	mu     sync.Mutex
	before *Ticket // nil when all of those are over
	stage  stage
	moved  chan struct{} // closed when stage changes; made by who waits for that
}

// Over lets those behind go on.
func (t *Ticket) Over() { t.reach(over) }

// Turn waits until all before are over, or ctx ends.
func (t *Ticket) Turn(ctx context.Context) { t.await(ctx, over) }

func (t *Ticket) reach(s stage) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if s <= t.stage {
		return
	}
	t.stage = s
	if t.moved != nil {
		close(t.moved)
		t.moved = nil
	}
}

// await waits until all before have reached a stage, or ctx ends.
func (t *Ticket) await(ctx context.Context, s stage) {
	if t == nil {
		return
	}
	for before := t.ahead(); before != nil; before = before.ahead() {
		if !before.until(ctx, s) {
			return
		}
	}
	if s == over {
		t.mu.Lock()
		t.before = nil // those who wait for this one need not look further
		t.mu.Unlock()
	}
}

func (t *Ticket) ahead() *Ticket {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.before
}

// until waits for a stage of this one alone; false when ctx ended first.
func (t *Ticket) until(ctx context.Context, s stage) bool {
	for {
		t.mu.Lock()
		if t.stage >= s {
			t.mu.Unlock()
			return true
		}
		if t.moved == nil {
			t.moved = make(chan struct{})
		}
		moved := t.moved
		t.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return false
		}
	}
}
