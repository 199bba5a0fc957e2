package cmdmain

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"postern/pkg/hub"
)

// grace is how long a command may take to clean up after an interrupt: more
// than the ladder by which a server is stopped, less than a service manager's
// patience.
const grace = 20 * time.Second

// notify returns a context that the first interrupt cancels. A second one, or
// the end of the grace, calls exit at once. A keeper's word counts as a signal;
// beside a terminal both come for one, and the greater number of the two holds.
// Below a keeper SIGTERM counts once: at the keeper's death several come.
// stop undoes it and tells whether there was an interrupt; it may be called again.
func notify(parent context.Context, leash *hub.Leash, exit func(int)) (ctx context.Context, stop func() bool) {
	ctx, cancel := context.WithCancel(parent)
	arrived := make(chan os.Signal, 2)
	for _, s := range endSignals() {
		if !signal.Ignored(s) { // nohup and background jobs asked for that
			signal.Notify(arrived, s)
		}
	}
	ignorePipeSignal()
	var handed <-chan struct{}
	if leash != nil {
		handed = leash.Ends
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() { // ends when stop is called, or with the process
		defer close(ended)
		if interrupts(arrived, handed, done, cancel) {
			exit(int(Interrupted))
		}
	}()
	return ctx, sync.OnceValue(func() bool {
		defer cancel()
		signal.Stop(arrived)
		close(done)
		<-ended // at once
		return len(arrived) > 0 || ctx.Err() != nil
	})
}

// interrupts calls first at the first interrupt, and returns true at the second
// or after the grace; false when done is closed.
func interrupts(direct <-chan os.Signal, handed, done <-chan struct{}, first func()) bool {
	var over <-chan time.Time
	var byKeeper, byOthers int
	terminated := false
	for max(byKeeper, byOthers) < 2 {
		select {
		case s := <-direct:
			if s == syscall.SIGTERM && handed != nil && terminated {
				continue
			}
			terminated = terminated || s == syscall.SIGTERM
			byOthers++
		case <-handed:
			byKeeper++
		case <-over:
			return true
		case <-done:
			return false
		}
		if over == nil {
			first()
			over = time.After(grace)
		}
	}
	return true
}
