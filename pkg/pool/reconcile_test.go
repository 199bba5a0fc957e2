package pool

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"postern/pkg/config"
)

func words(text string) []string { return strings.Fields(text) }

// R25: what is to be done about one key follows from what is wanted and what
// runs, and from nothing else.
func TestReconcileOneKey(t *testing.T) {
	now := time.Unix(1000, 0)
	in := func(d time.Duration) time.Time { return now.Add(d) }
	const minute = time.Minute
	for _, c := range []struct {
		name string
		s    standing
		want verb
		next time.Time
	}{
		{"died, wanted", standing{wanted: true}, start, time.Time{}},
		{"died, wanted, delay runs", standing{wanted: true, retry: in(3)}, wait, in(3)},
		{"died, wanted, delay is over", standing{wanted: true, retry: in(-3)}, start, time.Time{}},
		{"died, wanted, held down", standing{wanted: true, retry: in(3), held: in(minute)}, wait, in(minute)},
		{"died, wanted, held shorter than the delay", standing{wanted: true, retry: in(minute), held: in(3)}, wait, in(minute)},
		{"died, nobody wants it", standing{retry: in(3)}, forget, time.Time{}},
		{"died, nobody wants it, remembered", standing{memory: in(minute)}, wait, in(minute)},
		{"died, wanted, removed meanwhile (MB-166)", standing{wanted: true, retired: true}, forget, time.Time{}},
		{"died, held down, removed meanwhile", standing{wanted: true, retired: true, held: in(1), memory: in(1)}, wait, in(1)},

		{"down, killed, wanted (R23)", standing{wanted: true, killed: true}, wait, time.Time{}},
		{"down, killed, wanted, its delay is over", standing{wanted: true, killed: true, retry: in(-3), memory: in(-3)}, wait, time.Time{}},
		{"down, killed, nobody wants it", standing{killed: true}, forget, time.Time{}},
		{"down, killed, wanted, removed", standing{wanted: true, killed: true, retired: true}, forget, time.Time{}},

		{"up, a call runs", standing{running: up, calls: 1, idleStop: minute, used: in(-2 * minute)}, wait, time.Time{}},
		{"up, a call runs, removed", standing{running: up, calls: 1, retired: true, used: in(-minute)}, wait, time.Time{}},
		{"up, removed", standing{running: up, retired: true, used: in(-minute)}, remove, time.Time{}},
		{"up, removed, used just now", standing{running: up, retired: true, used: now}, wait, in(config.RetireGrace)},
		{"up, removed, eager", standing{running: up, retired: true, eager: true, wanted: true, used: in(-minute)}, remove, time.Time{}},
		{"up, idle", standing{running: up, wanted: true, idleStop: minute, used: in(-minute)}, rest, time.Time{}},
		{"up, not idle for long enough", standing{running: up, idleStop: minute, used: in(-minute + 1)}, wait, in(1)},
		{"up, idle, never stopped for that", standing{running: up, used: in(-99 * time.Hour)}, wait, time.Time{}},
		{"up, idle, eager", standing{running: up, eager: true, wanted: true, idleStop: minute, used: in(-99 * time.Hour)}, wait, time.Time{}},

		{"up, idle, subscribed to (R22)", standing{running: up, wanted: true, subscribed: true, idleStop: minute, used: in(-99 * time.Hour)}, wait, time.Time{}},
		{"up, idle, with a task (R22)", standing{running: up, wanted: true, tasks: in(3), idleStop: minute, used: in(-99 * time.Hour)}, wait, in(3)},
		{"up, idle, with a task for too long", standing{running: up, wanted: true, tasks: now, idleStop: minute, used: in(-minute)}, rest, time.Time{}},
		{"up, not idle for long enough, task or not", standing{running: up, tasks: in(1), idleStop: minute, used: in(-minute + 3)}, wait, in(3)},
		{"up, removed, subscribed to, with a task", standing{running: up, retired: true, subscribed: true, tasks: in(minute), used: in(-minute)}, remove, time.Time{}},
		{"down, nobody wants it, subscribed to", standing{subscribed: true}, wait, time.Time{}},
		{"down, nobody wants it, with a task", standing{tasks: in(3)}, wait, in(3)},

		{"dead and unnoticed", standing{running: dead, calls: 1, wanted: true}, bury, time.Time{}},
		{"on its way", standing{running: starting, retired: true}, wait, time.Time{}},
		{"on its way for nobody", standing{running: owned, wanted: true}, wait, time.Time{}},
		{"going", standing{running: leaving, wanted: true}, wait, time.Time{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.s.key = "k"
			steps, next := reconcile(now, []standing{c.s})
			if c.want == wait && len(steps) != 0 || c.want != wait && !slices.Equal(steps, []action{{"k", c.want}}) {
				t.Errorf("steps %v, want %v", steps, c.want)
			}
			if !next.Equal(c.next) {
				t.Errorf("next at %v, want %v", next.Sub(now), c.next.Sub(now))
			}
		})
	}
}

// MB-021: however many are to be started by the pool, few are on their way at
// once, those that have waited longest first.
func TestReconcileBoundsStarts(t *testing.T) {
	now := time.Unix(1000, 0)
	var all []standing
	for n := range 10 {
		all = append(all, standing{key: fmt.Sprint(n), wanted: true, retry: now.Add(-time.Duration(n))})
	}
	keys := func(steps []action) (keys []string) {
		for _, s := range steps {
			if s.verb != start {
				t.Errorf("step %v", s)
			}
			keys = append(keys, s.key)
		}
		return keys
	}
	steps, _ := reconcile(now, all)
	if got := keys(steps); !slices.Equal(got, words("9 8 7 6")) {
		t.Errorf("started %v", got)
	}
	all[9].running, all[8].running = owned, owned
	all[7].running, all[6].running = starting, up // somebody waits for this one; this one has come up
	steps, _ = reconcile(now, all)
	if got := keys(steps); !slices.Equal(got, words("5 4")) {
		t.Errorf("then started %v", got)
	}
	all[7].running, all[6].running = owned, owned
	if steps, _ := reconcile(now, all); len(steps) != 0 {
		t.Errorf("then started %v", keys(steps))
	}
}

// The soonest of all that falls due is when to look again; nothing changes what
// was asked about.
func TestReconcileNext(t *testing.T) {
	now := time.Unix(1000, 0)
	all := []standing{
		{key: "a", running: up, idleStop: time.Minute, used: now},
		{key: "b", wanted: true, retry: now.Add(time.Second)},
		{key: "c", running: up, calls: 3},
		{key: "d"},
	}
	before := slices.Clone(all)
	steps, next := reconcile(now, all)
	if !slices.Equal(steps, []action{{"d", forget}}) || next.Sub(now) != time.Second {
		t.Errorf("%v, next in %v", steps, next.Sub(now))
	}
	if !slices.Equal(all, before) {
		t.Error("the question was changed")
	}
	if steps, next := reconcile(now, nil); steps != nil || !next.IsZero() {
		t.Errorf("of nothing: %v, %v", steps, next)
	}
}

// R21: the wait doubles up to its bound, starts at restart_delay, and is spread.
func TestPause(t *testing.T) {
	const most = config.MaxRestartDelay
	for _, c := range []struct {
		first         time.Duration
		n             int
		least, longer time.Duration
	}{
		{time.Second, 0, time.Second, time.Second + time.Second/2},
		{time.Second, 1, time.Second, time.Second + time.Second/2},
		{time.Second, 2, 2 * time.Second, 3 * time.Second},
		{time.Second, 5, 16 * time.Second, 24 * time.Second},
		{time.Second, 7, most / 2, most},
		{time.Second, 1e9, most / 2, most},
		{most, 1, most / 2, most},
		{0, 9, 0, 0},
	} {
		if got := pause(c.first, c.n, 0); got != c.least {
			t.Errorf("%v, try %d: at least %v, want %v", c.first, c.n, got, c.least)
		}
		if got := pause(c.first, c.n, 1); got != c.longer {
			t.Errorf("%v, try %d: at most %v, want %v", c.first, c.n, got, c.longer)
		}
	}
}
