package upstream

import (
	"time"

	"postern/pkg/config"
)

// teardownBound is what a Close waits at most (R12).
const teardownBound = config.SettleGrace + config.FlushGrace + config.EOFGrace + config.TermGrace + config.KillGrace

// How often a group is looked at once its leader is gone: at first
// and at most.
const pollFirst, pollMost = 2 * time.Millisecond, 100 * time.Millisecond

// teardown ends the whole group and closes our pipe ends whatever survives. It
// takes at most EOFGrace, TermGrace and KillGrace together, and is called once.
func (p *process) teardown() Teardown {
	t := Teardown{PGID: p.pid, BoundMS: teardownBound.Milliseconds()}
	p.stdin.Close()
	t.Complete = p.gone(config.EOFGrace)
	if !t.Complete {
		p.group.signal(false)
		t.Complete = p.gone(config.TermGrace)
	}
	if !t.Complete {
		p.group.signal(true)
		t.Complete = p.gone(config.KillGrace)
	}
	p.closePipes()
	close(p.release)
	select {
	case <-p.exited:
		<-p.reaped // the leader is a zombie: this is at once
		t.Exit = p.exit
	default: // it outlived SIGKILL; the watcher reaps it when it can
	}
	if !t.Complete {
		t.Reason = GroupSurvived
	}
	return t
}

// gone waits at most d for the leader to exit and its group to be empty.
func (p *process) gone(d time.Duration) bool {
	limit := time.NewTimer(d)
	defer limit.Stop()
	select {
	case <-p.exited:
	case <-limit.C:
		return false
	}
	for pause := pollFirst; ; pause = min(2*pause, pollMost) {
		if p.group.empty() {
			return true
		}
		tick := time.NewTimer(pause)
		select {
		case <-tick.C:
		case <-limit.C:
			tick.Stop()
			return false
		}
	}
}
