package hub

import (
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"postern/pkg/config"
	"postern/pkg/proc"
)

// lookEvery is how often groups that were told to end are looked at.
const lookEvery = 50 * time.Millisecond

func adopt() error { return nil }

func takeName() {}

// ownDescriptors lists what this process has open.
const ownDescriptors = "/dev/fd"

func attributes(session bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: session} }

// unblock does nothing: the mask of a thread cannot be changed here.
func unblock() (back func()) { return func() {} }

func replace(from, to int) error { return unix.Dup2(from, to) }

func identify(pid int) proc.ID { return proc.ID{PID: pid} }

// below remembers the children of the command: each server leads a group of its
// own, whose id is its pid. When the command is gone its children have another
// parent, and are found by their group only. What left its group is not found.
type below struct {
	child  int
	mu     sync.Mutex
	groups map[int]time.Time // leader and its start: no member is older
}

// track follows the forks of child through a kernel queue.
func track(child int) *below {
	b := &below{child: child, groups: map[int]time.Time{}}
	queue, err := unix.Kqueue()
	if err != nil {
		return b
	}
	unix.CloseOnExec(queue)
	change := []unix.Kevent_t{{
		Ident: uint64(child), Filter: unix.EVFILT_PROC, Flags: unix.EV_ADD | unix.EV_CLEAR,
		Fflags: unix.NOTE_FORK | unix.NOTE_EXIT,
	}}
	if _, err := unix.Kevent(queue, change, nil, nil); err != nil {
		_ = unix.Close(queue)
		return b
	}
	go b.follow(queue) // ends when the child has
	return b
}

func (b *below) follow(queue int) {
	defer unix.Close(queue)
	events := make([]unix.Kevent_t, 1)
	for {
		b.note()
		n, err := unix.Kevent(queue, nil, events, nil)
		if err != nil && err != unix.EINTR || n > 0 && events[0].Fflags&unix.NOTE_EXIT != 0 {
			return
		}
	}
}

// note adds the present children of the child.
func (b *below) note() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range processes() {
		if int(p.Eproc.Ppid) == b.child {
			b.groups[int(p.Proc.P_pid)] = started(p)
		}
	}
}

func processes() []unix.KinfoProc {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.uid", os.Geteuid())
	if err != nil {
		return nil
	}
	return all
}

func started(p unix.KinfoProc) time.Time { return time.Unix(p.Proc.P_starttime.Unix()) }

// alive lists the groups that have a living member as young as their leader.
func (b *below) alive() (groups []int) {
	const zombie = 5 // SZOMB
	b.mu.Lock()
	defer b.mu.Unlock()
	found := map[int]bool{}
	for _, p := range processes() {
		group := int(p.Eproc.Pgid)
		since, known := b.groups[group]
		if known && !found[group] && p.Proc.P_stat != zombie && !started(p).Before(since) {
			found[group] = true
			groups = append(groups, group)
		}
	}
	return groups
}

// end asks the groups to end, forces them after soft, and gives up after
// KillGrace. A signal to end on hurry ends soft at once.
func (b *below) end(soft time.Duration, hurry <-chan os.Signal) (left int) {
	for _, step := range []struct {
		signal syscall.Signal
		grace  time.Duration
		hurry  <-chan os.Signal
	}{{unix.SIGTERM, soft, hurry}, {unix.SIGKILL, config.KillGrace, nil}} {
		groups := b.alive()
		for _, g := range groups {
			_ = unix.Kill(-g, step.signal)
		}
		limit := time.After(step.grace)
		for over := false; !over && len(groups) > 0; groups = b.alive() {
			select {
			case s := <-step.hurry:
				over = isEnd(s)
			case <-limit:
				over = true
			case <-time.After(lookEvery):
			}
		}
		if left = len(groups); left == 0 {
			return 0
		}
	}
	return left
}
