package hub

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"postern/pkg/proc"
)

// tendEvery is how often a command looks for ended orphans.
const tendEvery = 30 * time.Second

// Tend waits for orphans that ended below this process, until ctx ends: what
// detached itself from its server, and whose end nobody else is told of
// (MB-030). It takes those alone that were there at two looks in a row: a child
// of ours is waited for at once when it ends, and a server's leader within its
// teardown.
func Tend(ctx context.Context) {
	look := time.NewTicker(tendEvery)
	defer look.Stop()
	for last := map[proc.ID]bool{}; ; {
		select {
		case <-look.C:
			last = reapStrays(last)
		case <-ctx.Done():
			return
		}
	}
}

// reapStrays waits for the ended children that are in last, and returns the
// others.
func reapStrays(last map[proc.ID]bool) map[proc.ID]bool {
	now := map[proc.ID]bool{}
	var ended unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &ended, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	if err != nil || ended.Signo == 0 {
		return now // the usual case, without a look at all processes
	}
	self := os.Getpid()
	for _, pid := range proc.All() {
		s, err := proc.Look(pid)
		if err != nil || s.Parent != self || !s.Ended() {
			continue
		}
		if !last[s.ID] || !proc.Reaped(pid) {
			now[s.ID] = true
		}
	}
	return now
}
