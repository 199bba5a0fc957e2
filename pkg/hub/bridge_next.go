package hub

import (
	"context"
	"errors"
	"fmt"
	"time"

	"postern/pkg/calllog"
	"postern/pkg/config"
	"postern/pkg/wire"
)

// lose ends what went down with a hub, and finds the next one: nil when the
// session is over (R74).
func (b *bridge) lose(ctx context.Context, l *link) (*link, error) {
	_ = l.conn.Close() // a line that is being written to it fails
	b.sending.Lock()
	b.link = nil
	ending, stopped := b.ending, b.stopped
	b.sending.Unlock()
	if ending || ctx.Err() != nil {
		return nil, nil
	}
	b.mu.Lock()
	rows, told := b.memory.lose(time.Now(), l.session, &b.o.Hello)
	b.mu.Unlock()
	b.rows(rows)
	for _, line := range told {
		if err := b.tell(line); err != nil {
			return nil, err
		}
	}
	if stopped {
		return nil, b.stay(ctx)
	}
	text := "the hub was lost"
	if len(rows) > 0 {
		text += fmt.Sprintf(", and with it the calls under way: %d", len(rows))
	}
	b.say(text)
	return b.next(ctx)
}

// stay is the rest of a session whose hub a person stopped: everything that is asked
// is answered until it ends, and no other hub is started.
func (b *bridge) stay(ctx context.Context) error {
	b.sending.Lock()
	b.stopped = true
	b.sending.Unlock()
	b.say("the hub was stopped; restart the agent, or its connection to postern, to have another")
	b.mu.Lock()
	var lines [][]byte
	for _, id := range b.memory.pending() {
		lines = append(lines, b.memory.open[id].line)
		delete(b.memory.open, id)
	}
	b.mu.Unlock()
	b.sending.Lock()
	for _, framed := range b.waiting {
		lines = append(lines, framed[stampBytes:])
	}
	b.waiting, b.waits = nil, 0
	b.room.Broadcast()
	b.sending.Unlock()
	for _, line := range lines {
		if err := b.answerStopped(line); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}

// next is another hub, or what serves this session without one: after too many
// deaths, and where there is none.
func (b *bridge) next(ctx context.Context) (*link, error) {
	now := time.Now()
	for len(b.deaths) > 0 && now.Sub(b.deaths[0]) > config.HubDeathWindow {
		b.deaths = b.deaths[1:]
	}
	b.deaths = append(b.deaths, now)
	why := fmt.Sprintf("%d hubs were lost within %s", len(b.deaths), config.HubDeathWindow)
	if len(b.deaths) < config.HubDeaths {
		l, err := b.reach(ctx)
		var refused *RemoteError
		switch {
		case err == nil:
			return l, nil
		case ctx.Err() != nil:
			return nil, nil
		case errors.Is(err, ErrStopped):
			return nil, b.stay(ctx)
		case errors.As(err, &refused) && refused.Word != wordRetiring:
			return nil, refused
		}
		why = "no hub can be used: " + err.Error()
	}
	b.say(why + "; from now on this session is served by a process of its own")
	return b.alone(ctx)
}

// The phases of a link to a hub that is not the first: the handshake is made, then
// what was set up is repeated, and then the lines that wait go out.
const (
	ready = iota
	shaking
	resuming
)

// adopt begins the handshake with the next hub. That a write fails is seen by who
// reads from it.
func (b *bridge) adopt(l *link) {
	b.mu.Lock()
	hello := b.memory.shake()
	b.mu.Unlock()
	l.phase = shaking
	_ = l.conn.SetReadDeadline(time.Now().Add(config.HubLineWait + config.MaxListWait)) // --only waits for its server
	if hello != nil {
		b.repeat(l, hello)
	}
	b.proceed(l)
}

// proceed goes on to the next phase once the hub has answered what was repeated.
func (b *bridge) proceed(l *link) {
	b.mu.Lock()
	settled := b.memory.settled()
	var again [][]byte
	if settled && l.phase == shaking {
		again = b.memory.resume()
		settled = b.memory.settled()
		l.phase = resuming
	}
	b.mu.Unlock()
	if again != nil {
		_ = l.conn.SetReadDeadline(time.Now().Add(config.BridgeResume))
		b.repeat(l, again...)
	}
	if settled && l.phase == resuming {
		b.release(l)
	}
}

// repeat writes lines to a link that nobody else writes to yet.
func (b *bridge) repeat(l *link, sent ...[]byte) {
	for _, line := range sent {
		now := time.Now()
		var framed []byte
		if l.alone == nil {
			framed = append(calllog.AppendID(nil, now), ' ')
		}
		framed = append(append(framed, line...), '\n')
		if _, err := l.write(framed, now, b.gone); err != nil {
			return
		}
	}
}

// release opens a link for the agent's lines, first for those that waited.
func (b *bridge) release(l *link) {
	l.phase = ready
	_ = l.conn.SetReadDeadline(time.Time{})
	b.sending.Lock()
	defer b.sending.Unlock()
	waited := b.waiting
	b.link, b.waiting, b.waits = l, nil, 0
	for _, framed := range waited {
		if b.link == nil { // it went away again
			b.keep(framed)
		} else if b.pass(l, framed) != nil {
			break // the agent is gone
		}
	}
	if b.ending && b.link != nil {
		l.closeWrite()
	}
	b.room.Broadcast()
}

// answerStopped answers for a hub that a person stopped.
func (b *bridge) answerStopped(line []byte) error {
	m, err := wire.Parse(line)
	if err != nil || m.Kind != wire.Request {
		return nil
	}
	if m.Method == "ping" {
		return b.tell(wire.ResultLine(m.IDBytes(), []byte("{}")))
	}
	now := time.Now()
	r := request{method: m.Method, name: subject(m.ParamsBytes()), began: now, size: len(line)}
	copy(r.stamp[:], calllog.NewID(now))
	b.mu.Lock()
	modern := b.memory.modern()
	b.mu.Unlock()
	if !repeatable(m.Method) {
		b.rows([]calllog.Row{r.row(now, "", &b.o.Hello)})
	}
	return b.tell(r.refuse(m.IDBytes(), modern, stoppedText, stoppedAid))
}

func (b *bridge) rows(rows []calllog.Row) {
	if len(rows) > 0 && b.o.Lost != nil {
		b.o.Lost(rows)
	}
}
