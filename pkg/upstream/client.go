package upstream

import (
	"context"
	"errors"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"postern/pkg/config"
	"postern/pkg/wire"
)

// life is where a client is in its one life.
type life uint8

const (
	starting life = iota
	ready
	closing // Close was called, or is about to be answered
	failed
	closed
)

// Client is one connection to one server process. All methods may be called
// concurrently.
type Client struct {
	o     Options
	proc  *process
	w     *wire.Writer
	log   *stderrLog
	epoch time.Time
	meta  *reserved // what requests to a modern server say of us; nil for a legacy one

	modern atomic.Bool // the same, for the reader: a modern handshake was done

	noise, dropped, declined atomic.Uint64

	answered atomic.Bool // a call of a caller was

	down     chan struct{} // closed with the first cause
	readEnd  chan struct{} // closed when stdout has ended
	writeEnd chan struct{} // closed when stdin broke
	released chan struct{} // closed when the process group is let go

	mu       sync.Mutex
	state    life
	cause    *Failure
	info     Info
	calls    map[uint64]*pending
	next     uint64
	free     []*pending // to be used again
	teardown Teardown

	questions map[string]*Question // open ones, by the key of their id
}

// Start spawns the server and shakes hands with it, both within StartTimeout; a
// failed handshake adds the teardown. The child's life is not tied to ctx, which
// bounds the start only. Launch.File is closed when Start returns. The error is
// a *Failure, and then nothing is left running. The caller ends the client with
// Close.
func Start(ctx context.Context, o Options) (*Client, error) {
	defer closeAll(o.Launch.File)
	ctx, cancel := context.WithTimeout(ctx, o.StartTimeout)
	defer cancel()
	c, err := begin(ctx, o)
	var f *Failure
	if o.modernFirst() && errors.As(err, &f) && f.Word == Closed {
		// A server that dies of the modern question is older, or older again than
		// it was: another process, asked the old way.
		o.Era, o.Prefer = "", ""
		c, err = begin(ctx, o)
	}
	return c, err
}

// begin makes one attempt with one process.
func begin(ctx context.Context, o Options) (*Client, error) {
	p, err := start(ctx, o.Launch, o.Mark)
	if err != nil {
		return nil, spawnFailure(ctx, o, err)
	}
	c := connect(o, p)
	if err := c.handshake(ctx); err != nil {
		c.Close()
		return nil, err
	}
	c.mu.Lock()
	cause := c.cause
	if cause == nil {
		c.state = ready
	}
	c.mu.Unlock()
	if cause != nil {
		c.Close()
		return nil, cause.of("initialize", true)
	}
	return c, nil
}

func spawnFailure(ctx context.Context, o Options, err error) *Failure {
	f := &Failure{Word: Spawn, Server: o.Server, Phase: "spawn", Detail: err.Error()}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		f.Word, f.Limit = Timeout, o.StartTimeout
	case ctx.Err() != nil:
		f.Word = Aborted
	}
	return f
}

// connect joins a process with a client's goroutines.
func connect(o Options, p *process) *Client {
	c := &Client{
		o: o, proc: p, epoch: time.Now(), calls: map[uint64]*pending{},
		down: make(chan struct{}), readEnd: make(chan struct{}),
		writeEnd: make(chan struct{}), released: make(chan struct{}),
	}
	c.info.PID = p.pid
	c.log = newStderrLog(o.StderrLog, o.Redactor)
	c.log.note("started " + o.Server + ", pid " + itoa(p.pid))
	c.w = wire.NewWriter(p.stdin, wire.WriterOptions{
		MaxMessage: o.MaxMessage, MaxQueue: o.MaxQueue,
		WriteTimeout: config.StdinTimeout, OnError: c.writeFailed,
	})
	go c.guard(func() { c.log.drain(p.stderr) }) // ends when stderr ends, or teardown closes it
	go c.guard(func() { c.read(p.stdout) })      // ends when stdout ends, or teardown closes it
	go c.guard(c.supervise)                      // ends with the teardown it does
	return c
}

// guard is what the client's goroutines run under: a panic in one of them ends
// the connection and no more (R26).
func (c *Client) guard(run func()) {
	defer func() {
		if c.o.Panicked == nil {
			return
		}
		if v := recover(); v != nil {
			c.o.Panicked("server "+c.o.Server, v, debug.Stack())
			c.fail(Failure{Word: Aborted, Detail: "an internal error of postern"})
		}
	}()
	run()
}

// supervise waits for the first sign of an end and takes the process down.
func (c *Client) supervise() {
	var t Teardown
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.teardown, c.state = t, closed
		close(c.released)
	}()
	select {
	case <-c.down:
	case <-c.proc.exited:
	case <-c.readEnd:
	case <-c.writeEnd:
	}
	c.settle()
	c.fail(Failure{Word: Closed, Detail: c.ending()})
	c.w.Close(config.FlushGrace) // what was still queued is no use to anyone if it fails
	t = c.proc.teardown()
	c.log.finish(t)
}

// settle gives exit status, last answers and last stderr a moment to arrive,
// unless the cause is known already.
func (c *Client) settle() {
	limit := time.NewTimer(config.SettleGrace)
	defer limit.Stop()
	for _, end := range []<-chan struct{}{c.proc.exited, c.readEnd, c.log.ended} {
		select {
		case <-end:
		case <-c.down:
			return
		case <-limit.C:
			return
		}
	}
}

// ending says how the child left, for people.
func (c *Client) ending() string {
	select {
	case <-c.proc.exited:
		return "the server ended: " + c.proc.exit
	default:
		return "the server closed its end of the connection"
	}
}

// writeFailed is told of the writer's first error, from the writer's goroutine.
func (c *Client) writeFailed(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.fail(Failure{
			Word: Overload, Limit: config.StdinTimeout,
			Detail: "the server does not read its input: nothing was taken for " + config.StdinTimeout.String(),
		})
		return
	}
	close(c.writeEnd)
}

// lastWords is the tail of stderr for a failure, as long as no caller's call was
// answered: after that it may be about somebody else's (R42).
func (c *Client) lastWords() string {
	if c.answered.Load() {
		return ""
	}
	return c.log.tail()
}

// fail notes the first cause and ends everything in flight with it. Only the
// first call does anything.
func (c *Client) fail(f Failure) {
	f.Server, f.Stderr = c.o.Server, c.lastWords()
	select {
	case <-c.proc.exited:
		f.Exit = c.proc.exit
	default:
	}
	for _, q := range c.end(&f) {
		q.end(&f)
	}
}

// end is fail's part under the lock; the questions are to be ended without it,
// since that runs code of their owners.
func (c *Client) end(f *Failure) (open []*Question) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		return nil
	}
	c.cause = f
	if c.state != closing {
		c.state = failed
	}
	for _, p := range c.calls {
		p.done <- outcome{failure: f}
	}
	c.calls = map[uint64]*pending{}
	open = slices.Collect(maps.Values(c.questions))
	close(c.down)
	return open
}

// Info is what the handshake told. It is complete once Start returned.
func (c *Client) Info() Info {
	c.mu.Lock()
	defer c.mu.Unlock()
	info := c.info
	info.Noise, info.Dropped, info.Declined = c.noise.Load(), c.dropped.Load(), c.declined.Load()
	return info
}

// Done is closed when the connection failed, the child ended, or Close began.
func (c *Client) Done() <-chan struct{} { return c.down }

// Err is the first cause of the end; nil before it.
func (c *Client) Err() *Failure {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// Exited reports whether the child's process has exited. It asks the system,
// so that it is true at once, before Err and Done tell (MB-021).
func (c *Client) Exited() bool {
	select {
	case <-c.proc.exited:
		return true
	default:
		return c.proc.ended()
	}
}

// Close ends calls in flight as aborted, closes the child's stdin, and waits
// until the process group is released, which the ladder of R12 bounds to about 6
// seconds. It may be called again, and then waits and answers alike.
func (c *Client) Close() Teardown {
	c.mu.Lock()
	if c.cause == nil {
		c.state = closing
	}
	c.mu.Unlock()
	c.fail(Failure{Word: Aborted, Detail: "the connection was closed by postern"})
	<-c.released
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.teardown
}
