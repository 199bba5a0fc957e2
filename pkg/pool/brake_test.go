package pool

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"postern/pkg/catalog"
	"postern/pkg/upstream"
)

// killed wants err to say that the server is kept down.
func killed(t testing.TB, err error) {
	t.Helper()
	var e *KilledError
	if !errors.As(err, &e) || e.Server != "fake" {
		t.Errorf("got %v, want the server killed", err)
	}
}

// R23: a killed server is stopped and kept stopped, whoever wants it, until it is
// started, which connects at once.
func TestKillBrake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		w.join("s")
		a, other := w.approve(w.server()), w.approve(w.server("other"))
		w.mustAnswer("s", a)
		w.mustAnswer("s", other)
		early := w.server("eager")
		early.Start = "eager"
		w.pool.Want("s", w.approve(early))
		after(0)
		held, err := w.pool.Get(t.Context(), a)
		if err != nil || f.started() != 3 {
			t.Fatal(err, f.started())
		}
		if n, err := w.pool.Kill("fake"); n != 3 || err != nil {
			t.Errorf("%d processes were ended", n)
		}
		if n, err := w.pool.Kill("fake"); n != 0 || err != nil {
			t.Errorf("%d processes were ended again", n)
		}
		killed(t, w.call("s", a))
		_, _, err = held.Do(t.Context(), "s", toolCall("echo", "{}"))
		killed(t, err)
		_, err = w.pool.Get(t.Context(), w.approve(w.server("a key to come")))
		killed(t, err)
		_, err = w.pool.Restart(t.Context(), "fake")
		killed(t, err)
		w.pool.Want("s", w.approve(early))
		w.pool.Update(w.approve(w.server()))
		time.Sleep(24 * time.Hour)
		if f.started() != 3 {
			t.Fatalf("%d starts of a killed server", f.started()-3)
		}
		for _, s := range w.pool.Status() {
			if s.State != Killed || s.PID != 0 {
				t.Errorf("%+v", s)
			}
		}
		if n, err := w.pool.Start(t.Context(), "fake"); n != 3 || err != nil { // those that s wanted
			t.Errorf("%d run: %v", n, err)
		}
		after(time.Second)
		if f.started() != 6 {
			t.Errorf("%d starts", f.started()-3)
		}
		w.mustAnswer("s", a)
	})
}

// The brake is there for servers that nobody has used yet, and outlives all that
// is known of their keys.
func TestKillOfWhatWasNeverStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		if n, err := w.pool.Kill("fake"); n != 0 || err != nil {
			t.Errorf("%d processes were ended", n)
		}
		killed(t, w.call("s", w.approve(w.server())))
		time.Sleep(time.Hour)
		if all := w.pool.Status(); len(all) != 1 || all[0].Server != "fake" || all[0].State != Killed {
			t.Errorf("%+v", all)
		}
		if n, err := w.pool.Start(t.Context(), "fake", w.approve(w.server())); n != 1 || err != nil || f.started() != 1 {
			t.Errorf("%d run of %d: %v", n, f.started(), err)
		}
		if all := w.pool.Status(); len(all) != 1 || all[0].State != Ready {
			t.Errorf("%+v", all)
		}
	})
}

// Whoever waits for a start that is killed is told so.
func TestKillDuringAStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		f.takes = 10 * time.Second
		waits := make(chan error)
		go func() { waits <- w.call("s", w.approve(w.server())) }()
		synctest.Wait()
		if all := w.pool.Status(); len(all) != 1 || all[0].State != Starting {
			t.Errorf("%+v", all)
		}
		if n, err := w.pool.Kill("fake"); n != 1 || err != nil {
			t.Errorf("%d processes were ended", n)
		}
		killed(t, <-waits)
		if s := w.pool.Status()[0]; s.LastError != "" {
			t.Errorf("it failed by itself: %s", s.LastError)
		}
	})
}

// R42: whoever waits for a start that somebody ended is told that, and not how the
// one who did it goes about it.
func TestRestartDuringAStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		f.takes = 10 * time.Second
		a := w.approve(w.server())
		waits := make(chan error)
		go func() { waits <- w.call("s", a) }()
		synctest.Wait()
		if n, err := w.pool.Restart(t.Context(), "fake"); n != 1 || err != nil {
			t.Errorf("%d run: %v", n, err)
		}
		if f := failure(t, <-waits, upstream.Aborted); f.Sent || f.Phase != "start" || strings.Contains(f.Error(), "context") {
			t.Errorf("%+v", f)
		}
		w.mustAnswer("s", a)
		if s := w.pool.Status()[0]; s.LastError != "" {
			t.Errorf("it failed by itself: %s", s.LastError)
		}
	})
}

// R23: a Kill beside Restarts is not taken back by one of them.
func TestKillBesideRestarts(t *testing.T) {
	w := newWorld(t)
	var others sync.WaitGroup
	over := make(chan struct{})
	for range 8 {
		others.Go(func() { // ends with over
			for {
				select {
				case <-over:
					return
				default:
					_, _ = w.pool.Restart(t.Context(), "fake")
				}
			}
		})
	}
	defer others.Wait()
	defer close(over)
	for n := range 300 {
		w.pool.Kill("fake")
		runtime.Gosched()
		if s := w.pool.Status(); len(s) != 1 || s[0].State != Killed {
			t.Fatalf("taken back after %d times: %+v", n, s)
		}
		if _, err := w.pool.Start(t.Context(), "fake"); err != nil {
			t.Fatal(err)
		}
	}
}

// Start brings up what flapping or the breaker holds down: a person has looked.
func TestStartForgivesFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		a := w.approve(w.server())
		f.fails(noStart)
		for range 5 {
			failure(t, w.call("s", a), upstream.Closed)
		}
		open(t, w.call("s", a), 30*time.Second)
		s := w.pool.Status()[0]
		if s.State != Idle || !s.BreakerOpen || s.BreakerS != 30 || s.LastError == "" {
			t.Errorf("%+v", s)
		}
		n, err := w.pool.Start(t.Context(), "fake")
		if failure(t, err, upstream.Closed); n != 0 {
			t.Errorf("%d run", n)
		}
		f.fails(nil)
		if n, err := w.pool.Start(t.Context(), "fake"); n != 1 || err != nil {
			t.Errorf("%d run: %v", n, err)
		}
		for range 4 {
			f.last().crash()
			synctest.Wait()
			if _, err := w.pool.Get(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		}
		f.last().crash()
		synctest.Wait()
		if s := w.pool.Status()[0]; s.State != Held || s.HeldS <= 0 || s.Restarts == 0 || s.LastError == "" {
			t.Errorf("%+v", s)
		}
		if n, err := w.pool.Start(t.Context(), "fake"); n != 1 || err != nil {
			t.Errorf("%d run: %v", n, err)
		}
	})
}

// R12, R23: Restart ends the process before the next one starts; a call under way
// fails, later ones do not.
func TestRestartByTheUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.approve(w.server())
	i := w.get(a)
	underway := begin(t, i, "s", "slow", `{"ms":60000}`)
	until(t, "the call is with the server", func() bool { return len(w.received("tools/call")) > 0 })
	n, err := w.pool.Restart(t.Context(), "fake")
	if n != 1 || err != nil || w.starts() != 2 {
		t.Fatalf("%d run of %d: %v", n, w.starts(), err)
	}
	if f := failure(t, await(t, underway).err, upstream.Aborted); !f.Sent {
		t.Error("it was sent")
	}
	if s := w.pool.Status()[0]; s.State != Ready || s.PID == i.Info().PID || s.Restarts != 0 {
		t.Errorf("%+v", s)
	}
	w.mustCall(w.get(a), "echo", "{}")
}

// What is known of a server is told, and of whom it is used by.
func TestStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := time.Now().Add(-time.Millisecond)
	w.join("b")
	w.join("a")
	a := w.approve(w.server("-fault", "noise=2"))
	w.mustAnswer("b", a)
	w.mustAnswer("a", a)
	all := w.pool.Status()
	if len(all) != 1 {
		t.Fatalf("%+v", all)
	}
	s := all[0]
	if s.Server != "fake" || s.Key != a.Key()[:8] || s.Scope != "user" || s.State != Ready || s.PID != w.get(a).Info().PID ||
		s.Since == nil || s.Since.Before(before) || s.Calls != 0 || !slices.Equal(s.Sessions, []string{"a", "b"}) {
		t.Errorf("%+v", s)
	}
	w.pool.Leave("a")
	if s := w.pool.Status()[0]; !slices.Equal(s.Sessions, []string{"b"}) || s.State != Ready {
		t.Errorf("%+v", s)
	}
	w.pool.Close()
	until(t, "it is down", func() bool { return w.pool.Status()[0].State == Idle })
}

// Relist asks a running server for all its lists, though it announced nothing.
func TestRelist(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	srv := w.server()
	a := w.approve(srv)
	i := w.get(a)
	w.mustCall(i, "change", `{"tools":[`+tool("one", "")+`],"silent":true}`)
	if err := i.Relist(t.Context()); err != nil || !slices.Equal(names(i.Catalog()), []string{"one"}) {
		t.Errorf("%v: %v", names(i.Catalog()), err)
	}
	if c, _ := w.catalogs.Read(catalog.IdentityOf(srv)); !slices.Equal(names(c), []string{"one"}) {
		t.Errorf("recorded are %v", names(c))
	}
	if n := w.lists(); n != 2 {
		t.Errorf("%d lists", n)
	}
	w.pool.Stop(a.Key())
	if err := i.Relist(t.Context()); err == nil {
		t.Error("a server that is gone was listed")
	}
}
