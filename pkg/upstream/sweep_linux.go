package upstream

import (
	"os"

	"golang.org/x/sys/unix"

	"postern/pkg/proc"
)

// signal reaches the group by its id, which is ours as long as the leader is not
// reaped, and strays one by one.
func (c *child) signal(hard bool) {
	sig := unix.SIGTERM
	if hard {
		sig = unix.SIGKILL
	}
	unix.Kill(-c.id, sig)
	_, strays := c.look()
	for _, s := range strays {
		s.Signal(sig)
	}
}

// empty looks twice, as a process may fork behind the first look's back.
func (c *child) empty() bool {
	for range 2 {
		if members, strays := c.look(); members > 0 || len(strays) > 0 {
			return false
		}
	}
	return true
}

// look counts the members of the group that are left but the leader, lists the
// living strays, and reaps what ended and is our child.
func (c *child) look() (members int, strays []proc.Stat) {
	self := os.Getpid()
	for _, pid := range proc.All() {
		if pid == c.id || pid == self {
			continue
		}
		s, err := proc.Look(pid)
		if err != nil || s.Start < c.start {
			continue
		}
		seen, known := c.seen[pid]
		known = known && seen == s.Start
		switch {
		case s.Ended():
			if s.Parent == self && (s.Group == c.id || known) && !proc.Reaped(pid) {
				members++
			}
		case s.Group == c.id:
			members++
		case known || c.carriesMark(pid):
			c.seen[pid] = s.Start
			strays = append(strays, s)
		}
	}
	return members, strays
}

// carriesMark is whether the process was started with our mark in its
// environment. One we may not look at is not ours.
func (c *child) carriesMark(pid int) bool {
	mark, ok := proc.Variable(pid, MarkName)
	return ok && c.mark != "" && mark == c.mark
}
