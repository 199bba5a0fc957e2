package pool

import (
	"context"
	"errors"
	"time"

	"postern/pkg/trust"
	"postern/pkg/upstream"
)

// run is the life of one process: wait for the one before, start, wait for the
// end, tear down, forget.
func (p *Pool) run(life context.Context, b *berth, e, before *entry, a *trust.Approved) {
	defer p.watch.Done()
	defer p.left(b, e)
	if before != nil {
		<-before.gone // its teardown has begun and is bounded
	}
	i, err := p.attempt(life, b, a)
	p.arrived(life, b, e, i, err)
	if err != nil {
		return
	}
	p.contain("server "+i.server.ID, p.announce)
	select {
	case <-i.client.Done():
	case <-life.Done():
	}
	p.mu.Lock()
	p.bury(b, e)
	p.mu.Unlock()
	p.stop(i.client)
}

// attempt is start under the recover of this instance (R26).
func (p *Pool) attempt(life context.Context, b *berth, a *trust.Approved) (i *Instance, err error) {
	err = &upstream.Failure{Word: upstream.Aborted, Server: a.Server().ID, Phase: "start", Detail: internal}
	p.contain("server "+a.Server().ID, func() {
		if p.begin(life); life.Err() != nil { // given up by now: nothing is executed
			err = unwanted(a.Server().ID, false)
			return
		}
		i, err = p.start(life, b, a)
	})
	return i, err
}

// unwanted is a start that somebody ended, or the pool's own end did.
func unwanted(id string, closed bool) error {
	detail := "it was given up: the server was restarted, or is not wanted as it was declared"
	if closed {
		detail = ErrClosed.Error()
	}
	return &upstream.Failure{Word: upstream.Aborted, Server: id, Phase: "start", Detail: detail}
}

// begin does what comes before the first start, once and until Close, and waits for
// it as long as life lasts.
func (p *Pool) begin(life context.Context) {
	p.first.Do(func() {
		if p.o.First == nil || !p.attend() {
			close(p.begun)
			return
		}
		go func() { // ends with First, which Close ends
			defer p.watch.Done()
			defer close(p.begun)
			ctx, end := context.WithCancel(context.Background())
			defer end()
			go func() { // ends with First, or Close
				select {
				case <-p.done:
					end()
				case <-ctx.Done():
				}
			}()
			p.contain("pool", func() { p.o.First(ctx) })
		}()
	})
	select {
	case <-p.begun:
	case <-life.Done():
	}
}

// arrived notes what a start came to, and tells those who wait; a failed one
// counts once, however many they are (R24). One that was given up by us says
// nothing about the server.
func (p *Pool) arrived(life context.Context, b *berth, e *entry, i *Instance, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	var f *upstream.Failure
	switch {
	case err == nil:
		b.breaker.started()
		b.used = now
		i.queue.resize(b.server().MaxConcurrency, b.server().Queue) // it may have changed meanwhile
	case errors.As(err, &f) && life.Err() == nil:
		b.breaker.startFailed(now)
		b.again(now)
	case life.Err() != nil:
	default: // nothing was executed
		b.again(now)
	}
	switch braked := p.brake(b); {
	case err == nil:
	case braked != nil:
		err = braked
	case life.Err() == nil:
		b.noStart = p.o.Redactor.Text(explained(err))
	case f != nil && f.Word == upstream.Aborted: // in whichever step it was
		err = unwanted(b.server().ID, p.closed)
	}
	e.ending = e.ending || err != nil
	e.instance, e.err = i, err
	close(e.ready)
	p.nudge()
}

// explained is all that an error says.
func explained(err error) string {
	var f *upstream.Failure
	if errors.As(err, &f) {
		return f.Explained()
	}
	return err.Error()
}

// bury notes that the process of e has ended, unless somebody ended it or it is
// noted already. The caller holds mu.
func (p *Pool) bury(b *berth, e *entry) {
	if e == nil || e.ending || !e.started() {
		return
	}
	e.ending = true
	b.died(time.Now(), e.instance)
	p.nudge()
}

// left is the end of e: nothing of it is there any more.
func (p *Pool) left(b *berth, e *entry) {
	e.end()
	p.mu.Lock()
	if b.entry == e {
		b.entry = nil
	}
	p.nudge()
	p.mu.Unlock()
	close(e.gone)
}

// stop tears a process group down, waits for it, and notes what survived.
func (p *Pool) stop(c connection) {
	t := c.Close()
	if t.Complete {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.survivors = append(p.survivors, t)
}
