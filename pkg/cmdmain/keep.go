package cmdmain

import (
	"context"
	"errors"
	"fmt"
	"os"

	"postern/pkg/hub"
	"postern/pkg/proc"
)

// process is what Main knows of the process that an Env belongs to.
type process struct {
	leash   *hub.Leash // nil when it has no keeper
	release func()     // gives its signals back
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
		keeper, err := hub.Start(hub.Options{
			Args: append([]string{os.Args[0]}, e.Args...), Environ: e.Environ, Terminal: e.onTerminal(),
		})
		if err == nil {
			e.process.release()
			return e.ended(keeper.Wait())
		}
		if !errors.Is(err, errors.ErrUnsupported) {
			e.Sayf("no keeper: %v; after a kill -9 servers that left their process group may survive", err)
		}
	}
	if err := proc.BecomeSubreaper(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		e.Sayf("servers that detach from their process group may survive: %v", err)
	}
	err := do()
	if left := hub.EndDescendants(); left > 0 {
		e.Sayf("%d processes that servers started could not be ended", left)
	}
	return err
}

// ended is the kept process's end as the keeper's own.
func (e *Env) ended(end hub.End) error {
	if end.Left > 0 {
		e.Sayf("%d processes that servers started could not be ended", end.Left)
	}
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
// is started.
func (e *Env) sweep(ctx context.Context) {
	found, left := hub.Sweep(ctx)
	if found > 0 {
		e.Sayf("ended %d processes that a killed postern had left", found-left)
	}
}
