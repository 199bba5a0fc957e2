package hub

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"postern/pkg/proc"
)

// How often processes that are to end are looked at, at first and at most.
const lookFirst, lookMost = 2 * time.Millisecond, 100 * time.Millisecond

// quarry lists the living processes that are to end. none is certain to be the
// end of it.
type quarry func() (living []proc.Stat, none bool)

// finish asks what q finds to end, SIGKILLs what is left after soft, and gives
// up after hard. A signal to end on hurry ends soft at once. It returns how many
// are left.
func finish(q quarry, soft, hard time.Duration, hurry <-chan os.Signal) int {
	asked := map[proc.ID]bool{}
	left := chase(q, soft, hurry, func(s proc.Stat) {
		if !asked[s.ID] {
			asked[s.ID] = true
			s.Signal(unix.SIGTERM)
		}
	})
	if left > 0 {
		left = chase(q, hard, nil, func(s proc.Stat) { s.Signal(unix.SIGKILL) })
	}
	return left
}

func chase(q quarry, limit time.Duration, hurry <-chan os.Signal, signal func(proc.Stat)) (left int) {
	end := time.Now().Add(limit)
	for pause := lookFirst; ; pause = min(2*pause, lookMost) {
		living, none := q()
		if none {
			return 0
		}
		for _, s := range living {
			signal(s)
		}
		if !time.Now().Before(end) {
			return max(len(living), 1)
		}
		select {
		case s := <-hurry:
			if isEnd(s) {
				return max(len(living), 1)
			}
		case <-time.After(min(pause, time.Until(end))):
		}
	}
}

// descendants are those of this process. What ended and is our child is waited
// for, one by one.
func descendants() (living []proc.Stat, none bool) {
	if childless() {
		return nil, true
	}
	self := os.Getpid()
	for _, s := range proc.Below(self) {
		if !s.Ended() || s.Parent == self && !proc.Reaped(s.PID) {
			living = append(living, s)
		}
	}
	return living, childless()
}

// childless is certain: who has no child has no descendant either.
func childless() bool {
	for {
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == unix.ECHILD
		}
	}
}
