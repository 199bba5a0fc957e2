package hub

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"time"

	"postern/pkg/config"
)

// link is the way to one hub, or to what serves the session without one.
type link struct {
	conn    conn
	lines   *lines
	session string
	phase   int          // for whoever reads from it
	armed   time.Time    // the deadline of writes; for whoever holds sending
	alone   <-chan error // nil for a hub; else closed, after one value, when all that was started is gone
}

// conn is what a link needs of a connection.
type conn interface {
	io.ReadWriteCloser
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
}

// ownLine is what a line begins with that is the hub's own.
var ownLine = []byte(`{"postern":`)

// reach finds a hub and introduces the session to it. A hub that retires, or goes
// away before it answers, is looked for again, for as long as one that was just
// started may take.
func (b *bridge) reach(ctx context.Context) (*link, error) {
	over, cancel := context.WithTimeoutCause(ctx, 2*config.HubReach, &LostError{Err: os.ErrDeadlineExceeded})
	defer cancel()
	for {
		c, err := b.o.Reach(over)
		if err != nil {
			return nil, err
		}
		l, err := b.greet(over, c)
		if err == nil {
			return l, nil
		}
		c.Close()
		var refused *RemoteError
		if ctx.Err() != nil || errors.As(err, &refused) && refused.Word != wordRetiring || !pause(over, config.HubReachMost) {
			return nil, err
		}
	}
}

// greet makes a connection a link, and says what the hub has noted, once.
func (b *bridge) greet(ctx context.Context, c net.Conn) (*link, error) {
	l := &link{conn: c, lines: newLines(c, 0, longest)}
	w, err := introduce(ctx, c, l.lines.next, b.o.Hello, b.o.Lookup)
	if err != nil {
		return nil, err
	}
	l.session = w.Session
	for _, text := range w.Notes {
		if !slices.Contains(b.noted, text) { // by a hub before
			b.noted = append(b.noted, text)
			b.say(text)
		}
	}
	return l, ctx.Err()
}

// alone is a link to what serves this session, and no other, without a hub.
func (b *bridge) alone(ctx context.Context) (*link, error) {
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		inR.Close()
		inW.Close()
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { // ends when Alone does: after its input ended or ctx did
		err := b.o.Alone(ctx, inR, outW)
		inR.Close()
		ended <- err
		close(ended)
		outW.Close()
	}()
	return &link{conn: pipes{outR, inW}, lines: newLines(outR, 0, longest), alone: ended}, nil
}

// pipes are two of them as one connection.
type pipes struct{ in, out *os.File }

func (p pipes) Read(b []byte) (int, error)         { return p.in.Read(b) }
func (p pipes) Write(b []byte) (int, error)        { return p.out.Write(b) }
func (p pipes) SetReadDeadline(t time.Time) error  { return p.in.SetReadDeadline(t) }
func (p pipes) SetWriteDeadline(t time.Time) error { return p.out.SetWriteDeadline(t) }
func (p pipes) CloseWrite() error                  { return p.out.Close() }
func (p pipes) Close() error                       { return errors.Join(p.out.Close(), p.in.Close()) }

// closeWrite tells the other side that nothing more comes. What it still says is
// read on.
func (l *link) closeWrite() {
	if half, ok := l.conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // a connection that is gone is known to the reader
		return
	}
	_ = l.conn.Close()
}

// close ends the link, and waits for what was started for this session alone.
func (l *link) close() {
	if l.alone == nil {
		_ = l.conn.Close()
		return
	}
	l.closeWrite()
	timer := time.NewTimer(config.AloneEnd)
	defer timer.Stop()
	select {
	case <-l.alone:
	case <-timer.C:
	}
}

// write writes all of p, which goes on for as long as the hub lives and the agent
// wants it: a stopped hub is not a dead one. n is how much was written.
func (l *link) write(p []byte, now time.Time, gone func() bool) (n int, err error) {
	for {
		if now.After(l.armed.Add(-config.BridgeLook)) { // so that most lines set no timer
			l.armed = now.Add(2 * config.BridgeLook)
			_ = l.conn.SetWriteDeadline(l.armed) // where there is none a hang lasts as long as the hub hangs
		}
		m, err := l.conn.Write(p[n:])
		n += m
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		if gone() {
			return n, errGone
		}
		now = time.Now()
	}
}

// errGone ends a write to a hub that does not read, of an agent that is gone.
var errGone = errors.New("the agent closed its end")
