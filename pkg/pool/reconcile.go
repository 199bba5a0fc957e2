package pool

import (
	"cmp"
	"slices"
	"time"

	"postern/pkg/config"
)

// running is what one key has at the moment.
type running uint8

const (
	down     running = iota // no process
	starting                // one is on its way, for somebody who waits
	owned                   // one is on its way, for nobody: the pool began it
	up                      // one is there
	dead                    // one is there and has ended, which nobody noticed yet
	leaving                 // one is being taken down
)

// standing is all that reconcile looks at.
type standing struct {
	key      string
	running  running
	wanted   bool          // a session that called it is open, or it is eager
	eager    bool          // an open session wants it up without a call
	retired  bool          // no longer declared
	killed   bool          // kept down until somebody starts it
	calls    int           // under way or waiting
	used     time.Time     // when it was last used
	idleStop time.Duration // 0 = never
	retry    time.Time     // earliest next start by the pool
	held     time.Time     // until then nothing starts
	memory   time.Time     // until then its failures are remembered

	subscribed bool      // some session is subscribed to a resource of it
	tasks      time.Time // until then open tasks keep it from resting
}

// verb is what is done about one key.
type verb uint8

const (
	wait   verb = iota // nothing, until a certain time
	start              // start it
	bury               // see to its end
	rest               // stop it: nobody used it for long
	remove             // stop it: it is not declared any more
	forget             // nothing of it is worth keeping
)

// action is one step of the pool.
type action struct {
	key  string
	verb verb
}

// reconcile compares what is wanted with what runs (R25): the steps to take
// now, and when to look again, zero when nothing is due by time. At most
// config.RestartJobs starts that nobody waits for are under way at once; those
// that were due first go first.
func reconcile(now time.Time, all []standing) (steps []action, next time.Time) {
	jobs := config.RestartJobs
	due := make([]standing, 0, len(all))
	for _, s := range all {
		if s.running == owned {
			jobs--
		}
		v, at := s.step(now)
		switch {
		case v == start:
			due = append(due, s)
		case v != wait:
			steps = append(steps, action{s.key, v})
		case !at.IsZero() && (next.IsZero() || at.Before(next)):
			next = at
		}
	}
	slices.SortFunc(due, func(a, b standing) int {
		return cmp.Or(a.retry.Compare(b.retry), cmp.Compare(a.key, b.key))
	})
	for _, s := range due[:min(len(due), max(0, jobs))] { // the others follow when one of these is done
		steps = append(steps, action{s.key, start})
	}
	return steps, next
}

// step is what is to be done about one key now, or when to ask again.
func (s standing) step(now time.Time) (verb, time.Time) {
	switch s.running {
	case dead:
		return bury, time.Time{}
	case up:
		return s.keep(now)
	case down:
		return s.revive(now)
	}
	return wait, time.Time{} // what is on its way tells when it has arrived
}

// keep decides about a server that is up.
func (s standing) keep(now time.Time) (verb, time.Time) {
	stop, after := rest, s.idleStop
	switch {
	case s.calls > 0:
		return wait, time.Time{} // the end of the last one tells
	case s.retired:
		stop, after = remove, config.RetireGrace
	case s.eager || s.idleStop == 0 || s.subscribed:
		return wait, time.Time{}
	}
	at := s.used.Add(after)
	if stop == rest && s.tasks.After(at) {
		at = s.tasks
	}
	if now.Before(at) {
		return wait, at
	}
	return stop, time.Time{}
}

// revive decides about a server that is down.
func (s standing) revive(now time.Time) (verb, time.Time) {
	at, then := s.retry, start
	if s.held.After(at) {
		at = s.held
	}
	if s.killed && s.wanted && !s.retired {
		return wait, time.Time{} // Start tells, or the end of who wants it
	}
	if !s.wanted || s.retired {
		if at, then = s.memory, forget; s.tasks.After(at) {
			at = s.tasks
		}
		if s.subscribed {
			return wait, time.Time{} // its session's end tells
		}
	}
	if now.Before(at) {
		return wait, at
	}
	return then, time.Time{}
}
