package pool

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"postern/pkg/trust"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// open wants err to say that the breaker is open, for so long.
func open(t testing.TB, err error, left time.Duration) {
	t.Helper()
	var e *OpenError
	if !errors.As(err, &e) || e.Left != left || e.Server != "fake" {
		t.Errorf("got %v, want the breaker open for %v", err, left)
	}
}

// slowly makes a call whose timeout is a second.
func (w *world) slowly(a *trust.Approved) error { return w.within(time.Second, a) }

func (w *world) within(timeout time.Duration, a *trust.Approved) error {
	i := w.get(a)
	call := toolCall("echo", "{}")
	call.Timeout = timeout
	_, _, err := i.Do(w.t.Context(), "s", call)
	return err
}

// R24: five timeouts open the breaker, the sixth call is refused without
// reaching the server; after the cooldown one call decides.
func TestTimeoutsOpenTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		a := w.approve(w.server())
		w.get(a)
		life := f.last()
		life.answers(silent)
		for range 5 {
			failure(t, w.slowly(a), upstream.Timeout)
		}
		begin := time.Now()
		open(t, w.slowly(a), 30*time.Second)
		time.Sleep(10*time.Second + 1)
		open(t, w.slowly(a), 20*time.Second)
		if life.received() != 5 || time.Since(begin) > 10*time.Second+1 {
			t.Fatalf("%d calls reached the server, and the refusals took %v", life.received(), time.Since(begin))
		}
		time.Sleep(20 * time.Second)
		failure(t, w.slowly(a), upstream.Timeout) // the probe
		open(t, w.slowly(a), 30*time.Second)
		time.Sleep(30 * time.Second)
		life.answers(nil)
		for range 7 {
			if err := w.slowly(a); err != nil {
				t.Fatal(err)
			}
		}
		if f.started() != 1 {
			t.Error("a server that does not answer was restarted: busy is not dead")
		}
	})
}

// R24: while one call is tried the others fail at once, and those that waited
// for a slot when the breaker opened do not wait on.
func TestOneProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		srv := w.server()
		srv.Breaker.Failures, srv.MaxConcurrency = 1, 1
		a := w.approve(srv)
		w.get(a)
		f.last().answers(silent)
		errs := make(chan error, 9)
		go func() { errs <- w.slowly(a) }() // ends with its call
		synctest.Wait()
		for range 8 {
			go func() { errs <- w.within(time.Minute, a) }() // ends when the breaker opens
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if len(errs) != 9 {
			t.Fatalf("%d calls have ended", len(errs))
		}
		refused := 0
		for range 9 {
			var e *OpenError
			if errors.As(<-errs, &e) {
				refused++
			}
		}
		if refused != 8 || f.last().received() != 1 {
			t.Fatalf("%d were refused, %d calls were sent", refused, f.last().received())
		}
		time.Sleep(30 * time.Second)
		go func() { errs <- w.slowly(a) }() // ends with its call
		synctest.Wait()
		open(t, w.slowly(a), time.Second)
		failure(t, <-errs, upstream.Timeout)
		if f.last().received() != 2 {
			t.Errorf("%d calls were sent", f.last().received())
		}
	})
}

// A probe that its caller gives up decides nothing: the next call is one.
func TestProbeGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		srv := w.server()
		srv.Breaker.Failures = 1
		a := w.approve(srv)
		i := w.get(a)
		f.last().answers(silent)
		failure(t, w.slowly(a), upstream.Timeout)
		time.Sleep(30 * time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, _, err := i.Do(ctx, "s", toolCall("echo", ""))
		failure(t, err, upstream.Aborted)
		f.last().answers(nil)
		w.mustAnswer("s", a)
	})
}

// R24, MB-158: whatever the server answers closes the breaker, its errors
// included; what never reached it does not count.
func TestWhatCounts(t *testing.T) {
	reply := func(raw string) func(context.Context, upstream.Call) (upstream.Reply, error) {
		return func(context.Context, upstream.Call) (upstream.Reply, error) {
			m, err := wire.Parse([]byte(raw))
			return upstream.Reply{Message: m}, err
		}
	}
	fails := func(f upstream.Failure) func(context.Context, upstream.Call) (upstream.Reply, error) {
		return func(context.Context, upstream.Call) (upstream.Reply, error) { g := f; return upstream.Reply{}, &g }
	}
	for _, c := range []struct {
		name   string
		answer func(context.Context, upstream.Call) (upstream.Reply, error)
		counts bool
	}{
		{"a tool's error", reply(`{"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":[]}}`), false},
		{"invalid arguments", reply(`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}`), false},
		{"any error it answers", reply(`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}`), false},
		{"timeout", fails(upstream.Failure{Word: upstream.Timeout, Sent: true}), true},
		{"timeout before it was written", fails(upstream.Failure{Word: upstream.Timeout}), false},
		{"cancelled by the caller", fails(upstream.Failure{Word: upstream.Aborted, Sent: true}), false},
		{"one answer that breaks the protocol", fails(upstream.Failure{Word: upstream.Protocol, Sent: true}), true},
		{"a message that is too long", fails(upstream.Failure{Word: upstream.Overload}), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, f := fakeWorld(t)
				a := w.approve(w.server())
				w.get(a)
				f.last().answers(c.answer)
				for range 20 {
					_ = w.call("s", a)
				}
				f.last().answers(nil)
				if err := w.call("s", a); (err != nil) != c.counts {
					t.Errorf("then a call came to %v", err)
				}
			})
		})
	}
}

// R24: a start that failed counts once, not once for each call that waited, and
// five of them open the breaker: the sixth call starts nothing.
func TestFailedStartCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		f.takes = 100 * time.Millisecond
		f.fails(noStart)
		a := w.approve(w.server())
		for n := range 5 {
			var wg sync.WaitGroup
			for range 50 {
				wg.Go(func() { failure(t, w.call("s", a), upstream.Closed) })
			}
			wg.Wait()
			synctest.Wait()
			if f.started() != n+1 {
				t.Fatalf("%d starts after %d rounds", f.started(), n+1)
			}
		}
		open(t, w.call("s", a), 30*time.Second)
		if f.started() != 5 {
			t.Error("a call that was refused started the server")
		}
		time.Sleep(30 * time.Second)
		f.fails(nil)
		w.mustAnswer("s", a)
	})
}

// A start that we gave up says nothing about the server.
func TestGivenUpStartsDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		f.takes = time.Second
		a := w.approve(w.server())
		for range 9 {
			got := make(chan error, 1)
			go func() { got <- w.call("s", a) }() // ends with the start
			synctest.Wait()
			w.pool.Stop(a.Key())
			failure(t, <-got, upstream.Aborted)
		}
		w.mustAnswer("s", a)
		if f.started() != 10 {
			t.Errorf("%d starts", f.started())
		}
	})
}

// The end of a connection counts once for all calls that ended with it.
func TestDeathCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		srv := w.server()
		srv.Breaker.Failures = 2
		a := w.approve(srv)
		for n := range 2 {
			w.get(a)
			life := f.last()
			life.answers(func(context.Context, upstream.Call) (upstream.Reply, error) {
				<-life.done
				return upstream.Reply{}, life.Err()
			})
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() { failure(t, w.call("s", a), upstream.Closed) })
			}
			synctest.Wait()
			life.crash()
			wg.Wait()
			synctest.Wait()
			if f.started() != n+1 {
				t.Fatalf("%d starts", f.started())
			}
		}
		open(t, w.call("s", a), 30*time.Second)
	})
}

// MB-161: the breaker that failed starts have opened closes when the pool's own
// restart brings the server up; nobody waits for the cooldown of what is over.
func TestRestartClosesTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		srv := w.server()
		srv.Breaker.Failures, srv.Breaker.Cooldown, srv.RestartDelay = 2, time.Hour, time.Second
		a := w.approve(srv)
		w.mustAnswer("s", a)
		f.fails(noStart)
		f.last().crash()
		time.Sleep(5 * time.Second)
		var e *OpenError
		if err := w.call("s", a); !errors.As(err, &e) {
			t.Fatalf("got %v", err)
		}
		f.fails(nil)
		time.Sleep(10 * time.Second)
		w.mustAnswer("s", a)
	})
}

// R20: settings outside the key hold at once: for calls that wait, for an idle
// server, for the breaker, for what is eager.
func TestSettingsHoldAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		srv := w.server()
		srv.MaxConcurrency, srv.Queue, srv.IdleStop = 1, 9, 0
		a := w.approve(srv)
		i := w.get(a)
		f.last().answers(silent)
		errs := make(chan error, 4)
		for range 4 {
			go func() { errs <- w.slowly(a) }() // ends with its call
		}
		synctest.Wait()
		changed := *srv
		changed.MaxConcurrency, changed.IdleStop, changed.Breaker.Failures = 4, time.Minute, 4
		b := w.approve(&changed)
		if a.Key() != b.Key() {
			t.Fatal("the key is another")
		}
		w.pool.Update(b)
		synctest.Wait()
		if f.last().received() != 4 || w.get(b) != i {
			t.Errorf("%d calls are with the server", f.last().received())
		}
		for range 4 {
			failure(t, <-errs, upstream.Timeout)
		}
		open(t, w.slowly(b), 30*time.Second)
		time.Sleep(time.Minute)
		synctest.Wait()
		if w.pool.Running(b.Key()) != nil {
			t.Error("it is idle and was not stopped")
		}
		w.pool.Update(b) // of what does not run
		eager := changed
		eager.Start = "eager"
		c := w.approve(&eager)
		w.pool.Want("s", c)
		synctest.Wait()
		if w.pool.Running(c.Key()) == nil {
			t.Error("it is eager and does not run")
		}
		w.pool.Update(b)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if w.pool.Running(b.Key()) != nil {
			t.Error("it is eager no more and was not stopped")
		}
	})
}
