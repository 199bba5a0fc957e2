package pool

import (
	"time"

	"postern/pkg/config"
)

// The steward is one goroutine that starts and stops what nobody waits for:
// restarts, eager starts, idle and retired servers. It looks when it is poked,
// when something falls due, and every config.ReconcileEvery, since after a
// suspended night a timer may be late and a death unnoticed (MB-021). It looks
// at processes and connections and sends them nothing (R21).

// tend starts the steward with the first berth. The caller holds mu, as it does
// for nudge.
func (p *Pool) tend() {
	if p.stewarded {
		return
	}
	p.stewarded = true
	p.watch.Add(1)
	go p.steward() // ends with Close
}

// nudge has the steward look soon.
func (p *Pool) nudge() {
	select {
	case p.poke <- struct{}{}:
	default: // a token is there already
	}
}

func (p *Pool) steward() {
	defer p.watch.Done()
	timer := time.NewTimer(config.ReconcileEvery)
	defer timer.Stop()
	look := time.Now().Add(config.ReconcileEvery)
	for {
		select {
		case <-p.done:
			return
		case <-p.poke:
		case <-timer.C:
		}
		if !time.Now().Before(look) {
			p.look()
			look = time.Now().Add(config.ReconcileEvery)
		}
		p.contain("pool", p.tidy)
		p.tidyDaily(time.Now())
		timer.Reset(p.wake(look))
	}
}

// look lets the owner of the pool notice what changed.
func (p *Pool) look() {
	if p.o.Look != nil {
		p.contain("pool", p.o.Look)
	}
}

// wake is how long the steward may sleep.
func (p *Pool) wake(look time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.alarm.IsZero() || p.alarm.After(look) {
		p.alarm = look
	}
	return max(0, time.Until(p.alarm))
}

// tidy does what reconcile says. Before it starts anything, the owner gets to
// say what is not declared any more (MB-166), and everything is looked at again.
func (p *Pool) tidy() {
	steps := p.survey()
	for _, s := range steps {
		if s.verb == start {
			p.look()
			steps = p.survey()
			break
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	for _, s := range steps {
		if b := p.berths[s.key]; b != nil {
			p.take(b, s.verb)
		}
	}
}

// survey asks reconcile about everything there is.
func (p *Pool) survey() []action {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]standing, 0, len(p.berths))
	for _, b := range p.berths {
		all = append(all, p.standing(b))
	}
	steps, next := reconcile(time.Now(), all)
	p.alarm = next
	return steps
}

// take does one step, unless what it rests on has changed since the survey. The
// caller holds mu.
func (p *Pool) take(b *berth, v verb) {
	now := time.Now()
	if again, _ := p.standing(b).step(now); again != v {
		p.nudge()
		return
	}
	switch v {
	case start:
		_ = b.heldDown(now) // it is over: that was asked
		p.launch(b, true)
	case bury:
		p.bury(b, b.entry)
	case rest, remove:
		b.finish()
	case forget:
		delete(p.berths, b.key)
	}
}

// standing is what reconcile needs to know of b. The caller holds mu.
func (p *Pool) standing(b *berth) standing {
	s := standing{
		key: b.key, eager: len(b.eager) > 0, wanted: b.wanted(), retired: b.retired,
		calls: b.calls, used: b.used, idleStop: b.server().IdleStop, retry: b.retry, held: b.held,
		killed: p.killed[b.server().ID], memory: b.memory(), subscribed: len(b.subscriptions) > 0, tasks: b.tasksUntil(),
	}
	switch e := b.entry; {
	case e == nil:
	case e.ending:
		s.running = leaving
	case !e.started() && e.own:
		s.running = owned
	case !e.started():
		s.running = starting
	case e.instance.ended():
		s.running = dead
	default:
		s.running = up
	}
	return s
}

// memory is until when it matters what went wrong with b.
func (b *berth) memory() time.Time {
	m := b.held
	if b.tries > 0 || b.breaker.failures > 0 || len(b.deaths) > 0 {
		if at := b.used.Add(config.FlapHold); at.After(m) {
			m = at
		}
	}
	if b.breaker.open && b.breaker.until.After(m) {
		m = b.breaker.until
	}
	return m
}
