package call

import (
	"cmp"
	"os"
	"slices"
	"time"

	"postern/pkg/calllog"
	"postern/pkg/catalog"
	"postern/pkg/pool"
)

// HostStatus is a host at one moment, without anything secret.
type HostStatus struct {
	PID      int             `json:"pid"`
	Version  string          `json:"version"`
	Since    time.Time       `json:"since"`
	Sessions []SessionStatus `json:"sessions"`               // open ones, the oldest first
	Servers  []pool.Status   `json:"servers"`                // of the pool, and those that open sessions could start
	Problems []string        `json:"problems,omitempty"`     // mistakes in configurations and trust of open sessions, and what this process does without
	Panics   uint64          `json:"panics,omitempty"`       // contained (R26)
	Dropped  uint64          `json:"dropped_rows,omitempty"` // of the call log
}

// SessionStatus is one open session.
type SessionStatus struct {
	ID      string           `json:"id"`
	Claimed *calllog.Claimed `json:"claimed,omitempty"` // what the client says of itself
	Project string           `json:"project,omitempty"`
	Via     string           `json:"via"`
	Since   time.Time        `json:"since"`
	PID     int              `json:"pid,omitempty"` // of the agent
}

// Reloaded is the answer to reload and stop.
type Reloaded struct {
	Sessions int      `json:"sessions"`           // that are open
	Problems []string `json:"problems,omitempty"` // mistakes in their configurations, whether in force or not, and trust
}

// Reload has every open session look at configuration, trust and catalogs now
// (R90), and what is not declared or trusted any more end. Values of `secrets:`,
// env_files and the places of executables are looked up anew; only servers for which
// one is another end, with their last call.
func (h *Host) Reload() {
	h.mu.Lock()
	h.secrets = nil
	h.epoch.Add(1)
	h.mu.Unlock()
	h.look()
}

// Status is the host now. Sessions of control verbs are not in it.
func (h *Host) Status() HostStatus {
	out := HostStatus{
		PID: os.Getpid(), Version: h.o.Version, Since: h.since.UTC(), Sessions: []SessionStatus{},
		Servers: h.servers(), Problems: append(h.problems(), h.without...), Panics: h.panics.Load(), Dropped: h.log.Dropped(),
	}
	for _, s := range h.others(nil) {
		one := SessionStatus{ID: s.ID, Project: s.o.Project, Via: s.o.Via, Since: s.since.UTC(), PID: s.o.ClientPID}
		if c := s.claimed.Load(); c != nil {
			one.Claimed = &calllog.Claimed{Name: h.redactor.Text(c.Name), Version: h.redactor.Text(c.Version)}
		}
		out.Sessions = append(out.Sessions, one)
	}
	return out
}

// others is the open sessions but those of control verbs, the oldest first.
func (h *Host) others(not *Session) []*Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]*Session, 0, len(h.sessions))
	for s := range h.sessions {
		if s != not && !s.ofVerb {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b *Session) int { return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.ID, b.ID)) })
	return all
}

// servers is what the pool has, and what open sessions could start.
func (h *Host) servers() []pool.Status {
	all := h.pool.Status()
	type place struct{ id, project string }
	seen := map[place]bool{}
	for _, s := range all {
		seen[place{s.Server, s.Project}] = true
	}
	for _, s := range h.others(nil) {
		v := s.view.Load()
		for _, srv := range v.Servers {
			d := srv.Declared
			at := place{d.ID, d.Project}
			if srv.Usable() && !seen[at] && !seen[place{d.ID, ""}] {
				seen[at] = true
				all = append(all, pool.Status{Server: d.ID, Scope: d.Scope, Project: d.Project, State: pool.Idle, LastError: h.noStart(v, srv)})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b pool.Status) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Project, b.Project))
	})
	return all
}

// noStart is why a server that the pool does not know could not be started or did not
// list anything, "" when nothing is known.
func (h *Host) noStart(v *View, s *Server) string {
	if why := v.Unready(s); why != "" {
		return why
	}
	failure, _ := h.catalogs.LastFailure(catalog.IdentityOf(s.Declared))
	return h.redactor.Text(failure.Why)
}

// problems is what is wrong in the configurations of open sessions, each once: what
// keeps a changed one from being in force, what one that is leaves out, and why no
// record of trust is in force. Doubts are not in it.
func (h *Host) problems() (all []string) {
	for _, s := range h.open() {
		c := s.refused.Load()
		if c == nil {
			c = s.view.Load().Config
		}
		for _, d := range c.Diagnostics {
			if text := h.redactor.Text(d.String()); !d.Warning && !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
		if _, err := h.trust.Records(s.o.Project); err != nil {
			if text := h.redactor.Text(noTrust(err)); !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
	}
	slices.Sort(all)
	return all
}
