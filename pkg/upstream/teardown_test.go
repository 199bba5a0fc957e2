package upstream

import (
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"postern/pkg/config"
)

// fakeProcess is a process without pipes that matter, around a fake group.
func fakeProcess(g *fakeGroup) *process {
	p := &process{
		pid: 4711, group: g,
		exited: make(chan struct{}), release: make(chan struct{}), reaped: make(chan struct{}),
		stdin: os.NewFile(^uintptr(0), "none"), // nil: closing it only fails
	}
	g.p = p
	return p
}

// R12: the ladder, its times, and what is reported, on a clock of its own.
func TestLadder(t *testing.T) {
	const eof, term, kill = config.EOFGrace, config.TermGrace, config.KillGrace
	for _, tc := range []struct {
		name     string
		group    fakeGroup
		exits    time.Duration // after the end of stdin; 0 = only by signal
		signals  []string
		took     time.Duration // at least, and at most one poll more
		complete bool
		exit     string
	}{
		{"ends with stdin", fakeGroup{}, 100 * time.Millisecond, nil, 100 * time.Millisecond, true, "exit status 0"},
		{"ends when asked", fakeGroup{onSoft: true}, 0, []string{"soft"}, eof, true, "signal: soft"},
		{"has to be killed", fakeGroup{onHard: true}, 0, []string{"soft", "hard"}, eof + term, true, "signal: hard"},
		{"leaves a child that must be killed", fakeGroup{onHard: true, members: 1}, 100 * time.Millisecond, []string{"soft", "hard"}, eof + term, true, "exit status 0"},
		{"cannot be killed", fakeGroup{}, 0, []string{"soft", "hard"}, eof + term + kill, false, ""},
		{"leaves a child that cannot be killed", fakeGroup{members: 1}, 100 * time.Millisecond, []string{"soft", "hard"}, eof + term + kill, false, "exit status 0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := tc.group
				p := fakeProcess(&g)
				if tc.exits > 0 {
					time.AfterFunc(tc.exits, func() { g.end("exit status 0") })
				}
				begin := time.Now()
				got := p.teardown()
				took := time.Since(begin)
				if took < tc.took || took > tc.took+pollMost {
					t.Errorf("took %v, want %v", took, tc.took)
				}
				if !slices.Equal(g.signals, tc.signals) {
					t.Errorf("signals %v, want %v", g.signals, tc.signals)
				}
				want := Teardown{Complete: tc.complete, PGID: 4711, BoundMS: 5850, Exit: tc.exit}
				if !tc.complete {
					want.Reason = "group-survived-sigkill"
				}
				if got != want {
					t.Errorf("got  %+v\nwant %+v", got, want)
				}
				select {
				case <-p.release:
				default:
					t.Error("the watcher was not let go")
				}
			})
		})
	}
}
