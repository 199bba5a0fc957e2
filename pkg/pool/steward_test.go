package pool

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postern/pkg/config"
	"postern/pkg/mcptest"
	"postern/pkg/trust"
	"postern/pkg/upstream"
)

// after lets time pass and everything that falls due happen.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// R21: what a session called and what then died is started again, not before
// restart_delay and not much later; for nobody it is not.
func TestRestart(t *testing.T) {
	for _, c := range []struct {
		name string
		want bool
		use  func(w *world, a *trust.Approved)
	}{
		{"called", true, func(w *world, a *trust.Approved) { w.mustAnswer("s", a) }},
		{"called by two of whom one left", true, func(w *world, a *trust.Approved) {
			w.mustAnswer("s", a)
			w.mustAnswer("t", a)
			w.pool.Leave("s")
		}},
		{"started and not called", false, func(w *world, a *trust.Approved) { w.get(a) }},
		{"called by one who left", false, func(w *world, a *trust.Approved) { w.mustAnswer("s", a); w.pool.Leave("s") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, f := fakeWorld(t)
				srv := w.server()
				srv.RestartDelay = 2 * time.Second
				a := w.approve(srv)
				c.use(w, a)
				f.last().crash()
				after(2*time.Second - 1)
				if n := f.started(); n != 1 {
					t.Fatalf("%d starts before the delay is over", n)
				}
				after(time.Second + 1)
				if n := f.started(); (n == 2) != c.want {
					t.Errorf("%d starts", n)
				}
				if (w.pool.Running(a.Key()) != nil) != c.want {
					t.Error("it runs, or does not")
				}
				after(time.Hour)
				if n := f.started(); n > 2 {
					t.Errorf("%d starts of a server that died once", n)
				}
			})
		})
	}
}

// R21, MB-161: while it does not come up the delay doubles to a minute; a call
// tries at once, whatever the delay; once it did well the delay is short again.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		srv := w.server()
		srv.RestartDelay, srv.Breaker.Failures = time.Second, 1000
		a := w.approve(srv)
		w.mustAnswer("s", a)
		f.fails(noStart)
		f.last().crash()
		after(10 * time.Minute)
		for n := 1; n < len(f.tries)-1; n++ {
			gap, least := f.tries[n+1].Sub(f.tries[n]), min(time.Second<<n, config.MaxRestartDelay/2)
			if gap < least || gap > min(2*least, config.MaxRestartDelay) {
				t.Errorf("the %dth restart came after %v, want %v or a half more", n+1, gap, least)
			}
		}
		before := f.started()
		if before < 12 || before > 30 {
			t.Errorf("%d starts in ten minutes", before)
		}
		if err := w.call("s", a); err == nil || f.started() != before+1 {
			t.Errorf("a call came to %v with %d starts", err, f.started()-before)
		}
		f.fails(nil)
		w.mustAnswer("s", a)
		f.last().crash()
		before = f.started()
		after(2 * time.Second)
		if n := f.started(); n != before+1 {
			t.Errorf("%d starts after the delay", n-before)
		}
	})
}

// R21, MB-057: the fifth death within a minute holds a server down. Calls fail
// at once, with the reason and the time of the next try, and nothing starts it
// before; then it is tried again.
func TestFlapping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		srv := w.server()
		srv.Breaker.Failures = 1000
		a := w.approve(srv)
		for n := range config.FlapDeaths {
			w.mustAnswer("s", a)
			f.last().crash()
			synctest.Wait()
			if n < config.FlapDeaths-1 {
				after(config.FlapWindow/config.FlapDeaths - time.Second)
			}
		}
		before := f.started()
		var held *HeldError
		if err := w.call("s", a); !errors.As(err, &held) {
			t.Fatalf("got %v", err)
		}
		if held.Deaths != config.FlapDeaths || held.Left != config.FlapHold || !strings.Contains(held.Error(), "exit status 3") ||
			!strings.Contains(held.Error(), "the next try is due in 5m0s") {
			t.Errorf("got %+v: %v", held, held)
		}
		after(config.FlapHold - time.Second)
		if err := w.call("s", a); !errors.As(err, &held) || held.Left != time.Second {
			t.Errorf("a second before the end: %v", err)
		}
		if f.started() != before {
			t.Fatal("it was started while held down")
		}
		after(time.Second)
		if n := f.started(); n != before+1 {
			t.Errorf("%d starts when the hold is over", n-before)
		}
		w.mustAnswer("s", a)
		f.last().crash()
		synctest.Wait()
		w.mustAnswer("s", a)
	})
}

// Deaths further apart do not add up.
func TestSlowDeathsAreNoFlapping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		srv := w.server()
		srv.RestartDelay = time.Second
		a := w.approve(srv)
		w.mustAnswer("s", a)
		for n := range 50 {
			f.last().crash()
			after(config.FlapWindow/(config.FlapDeaths-1) + time.Second)
			if w.pool.Running(a.Key()) == nil || f.started() != n+2 {
				t.Fatalf("after %d deaths: %d starts", n+1, f.started())
			}
			w.mustAnswer("s", a)
		}
	})
}

// R22: a server that nobody calls is stopped after idle_stop and is not started
// again for those who called it before; a call does.
func TestIdleStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		srv := w.server()
		srv.IdleStop = 10 * time.Second
		a := w.approve(srv)
		w.mustAnswer("s", a)
		for range 3 {
			after(9 * time.Second)
			w.mustAnswer("s", a)
		}
		f.last().answers(silent)
		srv.Timeout = time.Hour
		long := make(chan error, 1)
		go func() { long <- w.call("s", a) }() // ends with its timeout
		after(mcptest.Bound - 1)
		if w.pool.Running(a.Key()) == nil || f.started() != 1 {
			t.Fatal("it was stopped with a call under way, or between calls")
		}
		after(1)
		<-long
		after(10*time.Second - 1)
		if w.pool.Running(a.Key()) == nil {
			t.Fatal("it was stopped too early")
		}
		after(1)
		if w.pool.Running(a.Key()) != nil || !f.last().isClosed() {
			t.Fatal("it was not stopped")
		}
		after(time.Hour)
		if f.started() != 1 {
			t.Error("it was started again")
		}
		w.mustAnswer("s", a)
	})
}

// R21: an eager server is there without a call, comes back when it dies, stays
// when nobody calls it, and is let go with the last session that wants it.
func TestEager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		srv := w.server()
		srv.Start, srv.IdleStop, srv.RestartDelay = "eager", time.Minute, time.Second
		a := w.approve(srv)
		w.pool.Want("s", a)
		w.pool.Want("t", a)
		after(0)
		if w.pool.Running(a.Key()) == nil {
			t.Fatal("it was not started")
		}
		after(time.Hour)
		f.last().crash()
		after(2 * time.Second)
		w.pool.Leave("s")
		after(time.Hour)
		if w.pool.Running(a.Key()) == nil || f.started() != 2 {
			t.Fatalf("%d starts", f.started())
		}
		w.pool.Leave("t")
		after(0)
		if w.pool.Running(a.Key()) != nil {
			t.Error("it is idle and was not stopped")
		}
		after(time.Hour)
		if f.started() != 2 || w.berths() != 0 {
			t.Errorf("%d starts, %d keys", f.started(), w.berths())
		}
	})
}

// R25: calls under way of a removed server finish; then it is stopped and does
// not come back, unless somebody asks for it again.
func TestRetire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		a := w.approve(w.server())
		w.mustAnswer("s", a)
		f.last().answers(silent)
		long := make(chan error, 1)
		go func() { long <- w.call("s", a) }() // ends with its timeout
		synctest.Wait()
		w.pool.Retire(a.Key())
		after(mcptest.Bound - 1)
		if w.pool.Running(a.Key()) == nil || f.last().isClosed() {
			t.Fatal("it was stopped with a call under way")
		}
		after(1)
		failure(t, <-long, upstream.Timeout)
		after(config.RetireGrace)
		if w.pool.Running(a.Key()) != nil || !f.last().isClosed() {
			t.Fatal("it was not stopped after its last call")
		}
		after(time.Hour)
		if f.started() != 1 || w.berths() != 0 {
			t.Errorf("%d starts, %d keys are kept", f.started(), w.berths())
		}
		w.mustAnswer("s", a)
		w.pool.Retire(a.Key())
		w.mustAnswer("s", a)
		after(time.Minute)
		if f.started() != 2 || w.pool.Running(a.Key()) == nil {
			t.Error("a server that is wanted again was stopped")
		}
		w.pool.Retire("no such key")
	})
}

// MB-166: between death and restart the pool's owner finds the server gone from
// the configuration; it does not come back.
func TestRemovedWhileWaitingForRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		srv := w.server()
		srv.RestartDelay = time.Second // sooner than the owner is asked without a reason
		a := w.approve(srv)
		looks := 0
		w.pool.o.Look = func() { looks++; w.pool.Retire(a.Key()) }
		w.mustAnswer("s", a)
		f.last().crash()
		after(time.Hour)
		if f.started() != 1 || looks == 0 {
			t.Errorf("%d starts, the owner was asked %d times", f.started(), looks)
		}
	})
}

// R21: every 30 s it is looked, and nothing is sent. A server that refuses ping is as
// healthy as any (MB-099), and no check can fail that would stop one (MB-101).
func TestReconcileSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		looks := 0
		w.pool.o.Look = func() { looks++ }
		srv := w.server()
		srv.IdleStop = 0
		w.get(w.approve(srv))
		after(10*config.ReconcileEvery + 1)
		if looks != 10 || f.last().received() != 0 {
			t.Errorf("looked %d times, sent %d requests", looks, f.last().received())
		}
	})
}

// MB-021: after the machine slept, a process is found gone that no connection
// has told of. It is noticed by the next call, which gets another.
func TestUnnoticedDeath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		a := w.approve(w.server())
		w.mustAnswer("s", a)
		old := f.last()
		old.mu.Lock()
		old.exited = true
		old.mu.Unlock()
		if w.pool.Running(a.Key()) != nil {
			t.Error("status says that it runs")
		}
		got := make(chan error, 1)
		go func() { got <- w.call("s", a) }() // ends with the call
		synctest.Wait()
		old.crash() // its teardown has to come before the next start
		if err := <-got; err != nil {
			t.Fatal(err)
		}
		if f.started() != 2 || old.received() != 1 {
			t.Errorf("%d starts; the dead one got %d calls", f.started(), old.received())
		}
		if why := w.pool.berths[a.Key()].last.ending(true); !strings.Contains(why, "exit status 3") {
			t.Errorf("what is known of its end is %q", why) // it was not known yet when it was noticed
		}
	})
}

// MB-021: servers that died together do not start together: few at a time, and
// spread over some time.
func TestManyDeaths(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		f.takes = 50 * time.Millisecond
		const n = 20
		for k := range n {
			srv := w.server()
			srv.ID, srv.Digest, srv.RestartDelay = fmt.Sprint("s", k), fmt.Sprint("sha256:", k), time.Second
			w.mustAnswer("s", w.approve(srv))
		}
		for _, life := range f.lives {
			life.crash()
		}
		f.mu.Lock()
		f.most = 0
		f.mu.Unlock()
		after(5 * time.Second)
		if f.started() != 2*n {
			t.Fatalf("%d starts", f.started())
		}
		if f.most > config.RestartJobs {
			t.Errorf("%d starts at the same time", f.most)
		}
		moments := map[time.Time]bool{}
		for _, at := range f.tries[n:] {
			moments[at] = true
		}
		if len(moments) < n/2 {
			t.Errorf("%d starts in %d moments", n, len(moments))
		}
	})
}

// MB-045: a process that could not be made is tried again later, by itself for
// whoever wants the server up; the others do not notice.
func TestMB045SpawnFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		healthy := w.approve(w.server("-ttl", "1"))
		w.mustAnswer("s", healthy)
		f.fails(func(n int) error {
			if n < 4 {
				return &upstream.Failure{Word: upstream.Spawn, Server: "fake", Phase: "spawn", Detail: "the limit of processes is reached"}
			}
			return nil
		})
		srv := w.server()
		srv.Start, srv.RestartDelay = "eager", time.Second
		a := w.approve(srv)
		w.pool.Want("s", a)
		after(0)
		f1 := failure(t, w.call("s", a), upstream.Spawn)
		if f1.Sent || !strings.Contains(f1.Error(), "limit of processes") {
			t.Errorf("got %+v", f1)
		}
		w.mustAnswer("s", healthy)
		after(10 * time.Second)
		if w.pool.Running(a.Key()) == nil || f.started() != 5 {
			t.Errorf("%d starts", f.started())
		}
	})
}
