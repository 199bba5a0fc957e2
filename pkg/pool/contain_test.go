package pool

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"postern/pkg/upstream"
)

// panics collects what is reported.
type panics struct {
	mu  sync.Mutex
	all []string
}

func (p *panics) report(where string, value any, stack []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s, ok := value.(string); ok && len(stack) > 0 {
		p.all = append(p.all, where+": "+s)
	}
}

func (p *panics) want(t *testing.T, all ...string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if got, want := strings.Join(p.all, "; "), strings.Join(all, "; "); got != want {
		t.Errorf("reported %q, want %q", got, want)
	}
	p.all = nil
}

// R26: a panic while a server starts is a start that failed; it is reported, it
// reaches nobody else, and its text nobody at all.
func TestPanicInStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		var p panics
		w.pool.o.Panicked = p.report
		other := w.server("-ttl", "1")
		w.mustAnswer("s", w.approve(other))
		f.fails(func(int) error { panic("boom") })
		a := w.approve(w.server())
		err := w.call("s", a)
		if failure(t, err, upstream.Aborted); strings.Contains(err.Error(), "boom") {
			t.Errorf("the caller is told %v", err)
		}
		p.want(t, "server fake: boom")
		f.fails(nil)
		w.mustAnswer("s", a)
		w.mustAnswer("s", w.approve(other))
		if f.started() != 3 {
			t.Errorf("%d starts", f.started())
		}
	})
}

// R26: a panic while a server is listed leaves no process behind.
func TestPanicInList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		var p panics
		w.pool.o.Panicked = p.report
		connect := w.pool.connect
		w.pool.connect = func(ctx context.Context, o upstream.Options) (connection, error) {
			c, err := connect(ctx, o)
			return unlisted{c.(*fake)}, err
		}
		failure(t, w.call("s", w.approve(w.server())), upstream.Aborted)
		p.want(t, "server fake: no list")
		if !f.last().isClosed() {
			t.Error("the process was left running")
		}
	})
}

// unlisted is a connection whose list is a panic.
type unlisted struct{ *fake }

func (unlisted) Info() upstream.Info { panic("no list") }

// R26: a panic of what is told of changes, and of what looks after the
// configuration, ends neither the server nor the pool's own care for it.
func TestPanicInCallbacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		var p panics
		w.pool.o.Panicked = p.report
		w.pool.o.Changed = func() { panic("changed") }
		w.pool.o.Look = func() { panic("look") }
		a := w.approve(w.server())
		w.mustAnswer("s", a)
		synctest.Wait()
		p.want(t, "server fake: changed")
		f.last().crash()
		after(2 * a.Server().RestartDelay)
		if f.started() != 2 {
			t.Errorf("%d starts", f.started())
		}
		w.mustAnswer("s", a)
	})
}

// A panic under a call leaves no slot taken and no probe open.
func TestPanicUnderACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		srv := w.server()
		srv.MaxConcurrency, srv.Breaker.Failures = 1, 1
		a := w.approve(srv)
		i := w.get(a)
		f.last().answers(silent)
		failure(t, w.slowly(a), upstream.Timeout)
		after(srv.Breaker.Cooldown)
		f.last().answers(func(context.Context, upstream.Call) (upstream.Reply, error) { panic("mid-call") })
		func() {
			defer func() { _ = recover() }()
			_ = w.slowly(a)
		}()
		f.last().answers(nil)
		w.mustAnswer("s", a)
		if i.queue.busy != 0 || i.berth.calls != 0 {
			t.Errorf("%d slots, %d calls are left", i.queue.busy, i.berth.calls)
		}
	})
}
