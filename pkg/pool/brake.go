package pool

import (
	"context"
	"fmt"
	"time"

	"postern/pkg/config"
	"postern/pkg/trust"
)

// The kill brake (R23): an operator's word that all servers of one id, whatever
// their keys and whoever wants them, stay down until it is taken back or the pool
// ends. It is held by id, so that it outlives berths and holds for keys to come.

// KilledError says that a server was killed by its operator and is kept down.
type KilledError struct{ Server string }

// Error names the server.
func (e *KilledError) Error() string {
	return fmt.Sprintf("server %s was stopped by the user and is kept stopped", e.Server)
}

// Kill stops every server of an id and keeps them stopped: from now on Get and Do
// fail with a *KilledError, and nothing starts one, until Start. Calls under way
// fail as `aborted`. It waits for the teardowns (R12), all at the same time, for
// config.ServerEnd at most, and is how many processes it told to end. The error is a
// *StuckError; the brake is in force then, too.
func (p *Pool) Kill(id string) (ended int, err error) {
	p.mu.Lock()
	p.killed[id] = true
	going := p.end(id)
	p.mu.Unlock()
	return len(going), gone(id, going)
}

// gone waits until nothing is left of processes of an id that were told to end.
func gone(id string, going []*entry) error {
	limit := time.NewTimer(config.ServerEnd)
	defer limit.Stop()
	for _, e := range going {
		select {
		case <-e.gone:
		case <-limit.C: // the others had as long
			return &StuckError{Servers: []string{id}}
		}
	}
	return nil
}

// Start takes Kill back, forgets what holds the servers of an id down, be it
// flapping or the breaker, and connects at once: it brings up all keys of the id
// that are known, those of more besides, and waits for them, each bounded by its
// start_timeout, and as long as ctx lives. n is how many run then; the error is
// the first of those of Get.
func (p *Pool) Start(ctx context.Context, id string, more ...*trust.Approved) (n int, err error) {
	p.mu.Lock()
	delete(p.killed, id)
	return p.bringUp(ctx, id, more)
}

// Release takes Kill back as Start does and connects nothing: what sessions want comes
// up by itself. n is how many servers of the id run.
func (p *Pool) Release(id string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.killed, id)
	for _, b := range p.of(id) {
		b.forgive()
		if b.up() != nil {
			n++
		}
	}
	p.nudge()
	return n
}

// bringUp is Start for who holds mu, which it gives back.
func (p *Pool) bringUp(ctx context.Context, id string, more []*trust.Approved) (n int, err error) {
	known := map[string]bool{}
	for _, a := range more {
		known[a.Key()] = true
	}
	for _, b := range p.of(id) {
		b.forgive()
		if !b.retired && !known[b.key] {
			more = append(more, b.approved)
		}
	}
	p.nudge()
	p.mu.Unlock()
	errs := make(chan error, len(more))
	for _, a := range more {
		go func() { // ends with the start, which is bounded
			_, err := p.Get(ctx, a)
			errs <- err
		}()
	}
	for range more {
		if e := <-errs; e == nil {
			n++
		} else if err == nil {
			err = e
		}
	}
	return n, err
}

// Restart ends the servers of an id that run and brings up, as Start does, those and
// the ones of more, each once nothing is left of the process before it. It does not take Kill
// back: a killed one is a *KilledError.
func (p *Pool) Restart(ctx context.Context, id string, more ...*trust.Approved) (n int, err error) {
	p.mu.Lock()
	if p.killed[id] {
		p.mu.Unlock()
		return 0, &KilledError{Server: id}
	}
	p.end(id)
	return p.bringUp(ctx, id, more) // without a moment in which a Kill could be taken back
}

// of is the berths of an id. The caller holds mu, as it does for end.
func (p *Pool) of(id string) (all []*berth) {
	for _, b := range p.berths {
		if b.server().ID == id {
			all = append(all, b)
		}
	}
	return all
}

// end has all processes of an id end, those on their way included. Who wanted one
// still does.
func (p *Pool) end(id string) (going []*entry) {
	for _, b := range p.of(id) {
		if e := b.entry; e != nil {
			e.ending = true
			e.end()
			going = append(going, e)
		}
	}
	p.nudge()
	return going
}

// brake is why nothing of b may start or be called; nil when something may. The
// caller holds mu.
func (p *Pool) brake(b *berth) error {
	if id := b.server().ID; p.killed[id] {
		return &KilledError{Server: id}
	}
	return nil
}

// forgive forgets what went wrong with b.
func (b *berth) forgive() {
	b.held, b.deaths = time.Time{}, nil
	b.didWell()
	b.breaker.answered()
}
