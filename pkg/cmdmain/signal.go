package cmdmain

import (
	"context"
	"os"
	"os/signal"
	"time"
)

// grace is how long a command may take to clean up after an interrupt: more
// than the ladder by which a server is stopped, less than a service manager's
// patience.
const grace = 20 * time.Second

// notify returns a context that the first interrupt cancels. A second one, or
// the end of the grace, calls exit at once. stop undoes it and waits for
// nothing.
func notify(parent context.Context, exit func(int)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	arrived := make(chan os.Signal, 2)
	done := make(chan struct{})
	for _, s := range endSignals() {
		if !signal.Ignored(s) { // nohup and background jobs asked for that
			signal.Notify(arrived, s)
		}
	}
	ignorePipeSignal()
	go func() { // ends when stop is called, or with the process
		select {
		case <-arrived:
			cancel()
		case <-done:
			return
		}
		select {
		case <-arrived:
		case <-time.After(grace):
		case <-done:
			return
		}
		exit(int(Interrupted))
	}()
	return ctx, func() {
		signal.Stop(arrived)
		close(done)
		cancel()
	}
}
