package upstream

import (
	"context"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// child is the leader of a session and group of its own. Descendants that left
// the group are not found here.
type child struct{ id int }

// spawn starts s. The kernel has no parent-death signal and no execution by
// descriptor: Path is executed.
func spawn(ctx context.Context, s spec) (leader, error) {
	defer closeAll(s.stdio[:]...)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	fds := make([]uintptr, len(s.stdio))
	for i, f := range s.stdio {
		fds[i] = f.Fd()
	}
	pid, err := syscall.ForkExec(s.path, append([]string{s.path}, s.args...), &syscall.ProcAttr{
		Dir: s.dir, Env: s.env, Files: fds, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return nil, err
	}
	return &child{id: pid}, nil
}

func (c *child) pid() int { return c.id }

// await sees the exit through a kernel queue, which leaves a zombie, so that the
// group id cannot change hands.
func (c *child) await() string {
	queue, err := unix.Kqueue()
	if err != nil {
		return "exit status unknown"
	}
	defer unix.Close(queue)
	change := unix.Kevent_t{
		Ident: uint64(c.id), Filter: unix.EVFILT_PROC,
		Flags: unix.EV_ADD | unix.EV_ONESHOT, Fflags: unix.NOTE_EXIT | unix.NOTE_EXITSTATUS,
	}
	events := make([]unix.Kevent_t, 1)
	for {
		n, err := unix.Kevent(queue, []unix.Kevent_t{change}, events, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 || events[0].Flags&unix.EV_ERROR != 0 {
			return "exit status unknown" // it was gone before the question
		}
		return exitText(syscall.WaitStatus(events[0].Data))
	}
}

// ended is left to the kernel queue, which await reads.
func (c *child) ended() bool { return false }

func exitText(s syscall.WaitStatus) string {
	if s.Signaled() {
		return fmt.Sprintf("signal: %s", s.Signal())
	}
	return fmt.Sprintf("exit status %d", s.ExitStatus())
}

func (c *child) reap() {
	for {
		if _, err := syscall.Wait4(c.id, nil, 0, nil); err != syscall.EINTR {
			return
		}
	}
}

func (c *child) signal(hard bool) {
	if hard {
		unix.Kill(-c.id, unix.SIGKILL)
		return
	}
	unix.Kill(-c.id, unix.SIGTERM)
}

// empty relies on this kernel not counting zombies when a group is signalled.
func (c *child) empty() bool { return unix.Kill(-c.id, 0) != nil }
