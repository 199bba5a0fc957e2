package pool

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"postern/pkg/config"
)

// State is what a server is doing, in one word of a closed list.
type State string

// The states of a server.
const (
	Idle     State = "idle"     // not running; it starts when it is called
	Starting State = "starting" // on its way
	Ready    State = "ready"    // running
	Closing  State = "closing"  // being taken down, or found dead
	Held     State = "held"     // not running, and kept down for a while: it died too often
	Killed   State = "killed"   // not running, and kept down until it is started (R23)
)

// Status is one server of the pool at one moment, without anything secret.
// Counters of a process begin with it.
type Status struct {
	Server      string       `json:"server"`
	Key         string       `json:"key,omitempty"` // the first 8 digits
	Scope       config.Scope `json:"scope,omitempty"`
	Project     string       `json:"project,omitempty"` // that declares it, "" for the user's own
	State       State        `json:"state"`
	PID         int          `json:"pid,omitempty"`
	Since       *time.Time   `json:"since,omitempty"`        // when the process was up
	Restarts    int          `json:"restarts"`               // after deaths and failed starts
	HeldS       float64      `json:"held_s,omitempty"`       // seconds until it may start again
	BreakerS    float64      `json:"breaker_s,omitempty"`    // seconds until a call is let through again
	BreakerOpen bool         `json:"breaker_open,omitempty"` // calls are refused, or one is trying
	Calls       int          `json:"calls"`                  // under way or waiting
	Noise       uint64       `json:"noise,omitempty"`        // lines of the process that were no protocol
	Declined    uint64       `json:"declined,omitempty"`     // its questions that nobody was asked
	Dropped     uint64       `json:"dropped,omitempty"`      // its notifications that reached nobody
	Tasks       int          `json:"tasks,omitempty"`        // open ones, which keep it from being stopped
	LastError   string       `json:"last_error,omitempty"`   // how it ended last, or why it did not start
	Sessions    []string     `json:"sessions,omitempty"`     // that want it up or call it, in order
}

// Status is all servers that the pool knows, by id, project and key: those that
// run, and those that ran and may again. An id that was killed and has no key yet
// is there by its id alone.
func (p *Pool) Status() []Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	all := make([]Status, 0, len(p.berths))
	rest := maps.Clone(p.killed)
	for _, b := range p.berths {
		s := p.status(b, now)
		if p.killed[s.Server] && s.State != Closing {
			s.State = Killed
		}
		delete(rest, s.Server)
		all = append(all, s)
	}
	for id := range rest {
		all = append(all, Status{Server: id, State: Killed})
	}
	slices.SortFunc(all, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Project, b.Project), cmp.Compare(a.Key, b.Key))
	})
	return all
}

// status is b without regard to the brake. The caller holds mu.
func (p *Pool) status(b *berth, now time.Time) Status {
	srv := b.server()
	s := Status{
		Server: srv.ID, Key: b.key[:min(8, len(b.key))], Scope: srv.Scope, Project: srv.Project, State: Idle,
		Restarts: b.restarts, Calls: b.calls, LastError: b.lastError(),
		BreakerOpen: b.breaker.open, BreakerS: b.breaker.left(now).Seconds(),
	}
	switch p.standing(b).running {
	case down:
		if left := b.held.Sub(now); left > 0 {
			s.State, s.HeldS = Held, left.Seconds()
		}
	case starting, owned:
		s.State = Starting
	case up:
		s.State = Ready
	default:
		s.State = Closing
	}
	if b.entry != nil && b.entry.started() && b.entry.instance != nil {
		b.entry.instance.describe(&s)
	}
	for _, until := range b.tasks {
		if until.After(now) {
			s.Tasks++
		}
	}
	for session, u := range b.users {
		if u.wants || u.calls > 0 {
			s.Sessions = append(s.Sessions, session)
		}
	}
	for session := range b.eager {
		if u := b.users[session]; u == nil || !u.wants && u.calls == 0 {
			s.Sessions = append(s.Sessions, session)
		}
	}
	slices.Sort(s.Sessions)
	return s
}

func (i *Instance) describe(s *Status) {
	info := i.Info()
	since := i.since.UTC()
	s.PID, s.Since = info.PID, &since
	s.Noise, s.Declined, s.Dropped = info.Noise, info.Declined, info.Dropped
}

// lastError is why its last start came to nothing, or how its last process died,
// whichever was later.
func (b *berth) lastError() string {
	if b.noStart != "" || b.last == nil {
		return b.noStart
	}
	return b.last.ending(true)
}
