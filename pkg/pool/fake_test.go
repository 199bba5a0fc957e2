package pool

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"postern/pkg/trust"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// fakes are connections without processes, for tests under a fake clock.
type fakes struct {
	mu    sync.Mutex
	takes time.Duration // of a start
	fail  func(n int) error
	info  upstream.Info // of those to come; the zero value is a plain legacy server
	lives []*fake
	tries []time.Time // when starts began
	now   int         // on their way
	most  int         // on their way at the same time
}

// fake is one connection.
type fake struct {
	mu     sync.Mutex
	answer func(ctx context.Context, call upstream.Call) (upstream.Reply, error) // nil answers at once
	calls  int
	exited bool // as the system knows it, before the connection does
	err    *upstream.Failure
	done   chan struct{}
	closed bool

	o    upstream.Options
	info upstream.Info
}

// says is a notification of the server's.
func (c *fake) says(method, params string) {
	m, err := wire.Parse(wire.NotificationLine(method, []byte(params)))
	if err != nil {
		panic(err)
	}
	c.o.Notify(m)
}

// fakeWorld is a world whose servers are fakes. It belongs into a bubble.
func fakeWorld(t testing.TB) (*world, *fakes) {
	w, f := newWorld(t), &fakes{}
	w.pool.connect = f.connect
	return w, f
}

func (f *fakes) connect(ctx context.Context, o upstream.Options) (connection, error) {
	f.mu.Lock()
	n := len(f.tries)
	f.tries = append(f.tries, time.Now())
	f.now++
	f.most = max(f.most, f.now)
	f.mu.Unlock()
	defer func() { f.mu.Lock(); defer f.mu.Unlock(); f.now-- }()
	select {
	case <-time.After(f.takes):
	case <-ctx.Done():
		return nil, &upstream.Failure{Word: upstream.Aborted, Server: o.Server, Phase: "spawn", Detail: ctx.Err().Error()}
	}
	f.mu.Lock()
	fail := f.fail
	f.mu.Unlock()
	if fail != nil {
		if err := fail(n); err != nil {
			return nil, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &fake{done: make(chan struct{}), o: o, info: f.info}
	if c.info.Era == "" {
		c.info.Era, c.info.Protocol = upstream.EraLegacy, "2025-11-25"
	}
	f.lives = append(f.lives, c)
	return c, nil
}

// fails sets what starts come to; nil lets them come up.
func (f *fakes) fails(fail func(n int) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = fail
}

// answers sets what calls come to; nil answers at once.
func (c *fake) answers(answer func(context.Context, upstream.Call) (upstream.Reply, error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = answer
}

// received is how many calls came.
func (c *fake) received() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

func (c *fake) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// noStart is a start that comes to nothing.
func noStart(int) error {
	return &upstream.Failure{Word: upstream.Closed, Server: "fake", Phase: "initialize", Detail: "the server ended: exit status 3"}
}

// started is how many starts began.
func (f *fakes) started() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.tries)
}

// last is the newest connection.
func (f *fakes) last() *fake {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lives[len(f.lives)-1]
}

func (c *fake) Do(ctx context.Context, call upstream.Call) (upstream.Reply, error) {
	c.mu.Lock()
	err, answer := c.err, c.answer
	c.calls++
	c.mu.Unlock()
	if err != nil {
		return upstream.Reply{}, err
	}
	if answer != nil {
		return answer(ctx, call)
	}
	return upstream.Reply{Message: wire.Message{Kind: wire.Response}}, nil
}

func (c *fake) Notify(string, []byte) error { return nil }

func (c *fake) List(_ context.Context, method, _ string) ([]json.RawMessage, bool, int64, error) {
	if method != "tools/list" {
		return nil, false, 0, nil
	}
	return []json.RawMessage{json.RawMessage(tool("echo", ""))}, false, 0, nil
}

func (c *fake) Info() upstream.Info   { return c.info }
func (c *fake) Done() <-chan struct{} { return c.done }

func (c *fake) Err() *upstream.Failure {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *fake) Exited() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.exited
}

func (c *fake) Close() upstream.Teardown {
	c.die(upstream.Aborted, "closed by us")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	return upstream.Teardown{Complete: true}
}

// die ends the connection.
func (c *fake) die(word upstream.Word, detail string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = &upstream.Failure{Word: word, Server: "fake", Detail: detail}
		c.exited = true
		close(c.done)
	}
}

func (c *fake) crash() { c.die(upstream.Closed, "the server ended: exit status 3") }

// silent never answers; the call's own timeout ends it.
func silent(ctx context.Context, call upstream.Call) (upstream.Reply, error) {
	select {
	case <-ctx.Done():
		return upstream.Reply{}, &upstream.Failure{Word: upstream.Aborted, Server: "fake", Sent: true}
	case <-time.After(call.Timeout):
		return upstream.Reply{}, &upstream.Failure{Word: upstream.Timeout, Server: "fake", Sent: true, Limit: call.Timeout}
	}
}

// call makes a call of a session through Get, as the line does.
func (w *world) call(session string, a *trust.Approved) error {
	w.t.Helper()
	i, err := w.pool.Get(w.t.Context(), a)
	if err == nil {
		_, _, err = i.Do(w.t.Context(), session, toolCall("echo", "{}"))
	}
	return err
}

func (w *world) mustAnswer(session string, a *trust.Approved) {
	w.t.Helper()
	if err := w.call(session, a); err != nil {
		w.t.Fatal(err)
	}
}
