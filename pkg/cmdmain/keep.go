package cmdmain

import (
	"context"
	"errors"
	"fmt"
	"os"

	"postern/pkg/hub"
	"postern/pkg/proc"
	"postern/pkg/state"
)

// process is what Main knows of the process that an Env belongs to.
type process struct {
	leash   *hub.Leash  // nil when it has no keeper
	release func() bool // gives its signals back, and tells whether one came
}

// Keep runs the part of a command that may start servers. As a process it first
// becomes the keeper of another that is started with the same command line and
// runs do there (see package hub): call it before anything is opened, read or
// changed. The result is do's, or how the kept process ended. Where no keeper is
// possible, and in tests within one process, do is run here.
func (e *Env) Keep(do func() error) error {
	if e.process == nil {
		return do()
	}
	if e.process.leash == nil {
		if err := e.Ctx.Err(); err != nil {
			return err
		}
		keeper, err := hub.StartKeeper(hub.KeeperOptions{
			Args: append([]string{os.Args[0]}, e.Args...), Environ: e.Environ, Terminal: e.onTerminal(),
		})
		if err == nil {
			return e.ended(keeper.Wait(e.process.release()))
		}
		if !errors.Is(err, errors.ErrUnsupported) {
			e.Sayf("no keeper: %v; after a kill -9 servers that left their process group may survive", err)
		}
	}
	if err := proc.BecomeSubreaper(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		e.Sayf("servers that detach from their process group may survive: %v", err)
	}
	ctx, done := context.WithCancel(context.Background())
	go hub.Tend(ctx) // ends with do
	err := do()
	done()
	e.survived(hub.EndDescendants())
	return err
}

// Kept tells whether this process is below its keeper already: what comes before
// Keep was done there.
func (e *Env) Kept() bool { return e.process != nil && e.process.leash != nil }

// survived tells of processes that no signal ends.
func (e *Env) survived(n int) {
	if n > 0 {
		e.Sayf("processes that servers started and that SIGKILL does not end: %d", n)
	}
}

// ended is the kept process's end as the keeper's own.
func (e *Env) ended(end hub.End) error {
	e.survived(end.Left)
	switch {
	case end.Signal != 0:
		return &Error{Err: fmt.Errorf("was ended by a signal: %s", end.Signal), Word: "killed", Exit: Exit(end.Status)}
	case end.Status != 0:
		return &Error{Exit: Exit(end.Status)}
	}
	return nil
}

func (e *Env) onTerminal() bool {
	return e.IsTerminal(e.Stdin) || e.IsTerminal(e.Stdout) || e.IsTerminal(e.Stderr)
}

// ParentPID is the pid of whoever started this command.
func (e *Env) ParentPID() int {
	if e.process != nil && e.process.leash != nil {
		return e.process.leash.Parent
	}
	return os.Getppid()
}

// sweep ends what killed processes of postern have left, before the first server
// is started. It is no news for whoever runs this command: it is kept in
// state/hub.log.
func (e *Env) sweep(ctx context.Context, dirs state.Dirs) {
	found, left := hub.Sweep(ctx)
	e.survived(left)
	if found == 0 {
		return
	}
	keep, done, _ := e.openHubLog(dirs) // a home that cannot be written has been told of
	defer done()
	keep(fmt.Sprintf("ended what a killed process of postern had left: %d processes", found-left))
}
