package pool

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"postern/pkg/config"
	"postern/pkg/trust"
	"postern/pkg/upstream"
)

// stuck is a world in which a start of "fake" hangs, whatever its context says, as
// on a disk that does not answer, until free is called.
func stuck(t *testing.T) (w *world, f *fakes, free func()) {
	w, f = fakeWorld(t)
	f.takes = time.Second // a start whose context is over comes to nothing
	answers := make(chan struct{})
	w.pool.connect = func(ctx context.Context, o upstream.Options) (connection, error) {
		<-answers
		return f.connect(ctx, o)
	}
	_, a := w.eager()
	w.pool.Want("s", a)
	synctest.Wait()
	return w, f, func() {
		close(answers)
		synctest.Wait()
	}
}

// eager is a server that is wanted up without a call.
func (w *world) eager() (key string, a *trust.Approved) {
	srv := w.server()
	srv.Start = "eager"
	a = w.approve(srv)
	return a.Key(), a
}

func (w *world) isStuck(err error, began time.Time) {
	w.t.Helper()
	var s *StuckError
	if !errors.As(err, &s) || !slices.Equal(s.Servers, []string{"fake"}) {
		w.t.Errorf("got %v, want what is not gone", err)
	}
	if took := time.Since(began); took != config.ServerEnd {
		w.t.Errorf("it was waited for %s", took)
	}
}

// R12, R23: what hangs before there is a process is not waited for without a bound.
// The brake is in force meanwhile and afterwards, and nothing is executed once the
// disk answers.
func TestKillOfAStartThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f, free := stuck(t)
		key, a := w.eager()
		begin := time.Now()
		over := make(chan error)
		go func() { // ends with the bound
			_, err := w.pool.Kill("fake")
			over <- err
		}()
		synctest.Wait()
		killed(t, w.call("s", a))
		killed(t, w.call("s", w.approve(w.server("another key"))))
		w.isStuck(<-over, begin)
		begin = time.Now()
		w.isStuck(w.pool.Stop(key), begin)
		free()
		if n, err := w.pool.Kill("fake"); n != 0 || err != nil {
			t.Errorf("%d were there, %v", n, err)
		}
		if len(f.lives) != 0 {
			t.Error("something came up")
		}
	})
}

func TestCloseWhileAStartHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f, free := stuck(t)
		begin := time.Now()
		for range 2 { // again says the same
			survivors, err := w.pool.Close()
			w.isStuck(err, begin)
			if len(survivors) != 0 {
				t.Errorf("%+v", survivors)
			}
			begin = time.Now()
		}
		free()
		if _, err := w.pool.Close(); err != nil || len(f.lives) != 0 {
			t.Errorf("%v, %d came up", err, len(f.lives))
		}
	})
}
