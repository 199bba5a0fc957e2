package call

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"postern/pkg/catalog"
	"postern/pkg/config"
	"postern/pkg/trust"
)

// Killed is the answer to kill.
type Killed struct {
	Server string `json:"server"`
	Ended  int    `json:"ended"` // processes
}

// Handled is the answer to start, restart and release.
type Handled struct {
	Server string `json:"server"`
	Up     int    `json:"up"` // processes that run now
}

// Relisted is the answer to refresh.
type Relisted struct {
	Server string    `json:"server"`
	Lists  []OneList `json:"lists"`
}

// OneList is what one declaration of a server lists now, and what became of its
// tools since they were recorded before.
type OneList struct {
	Project   string   `json:"project,omitempty"` // that declares it, "" for the user's own
	Tools     int      `json:"tools"`
	Prompts   int      `json:"prompts"`
	Resources int      `json:"resources"`
	Templates int      `json:"resource_templates"`
	Added     []string `json:"added,omitempty"`
	Removed   []string `json:"removed,omitempty"`
	Changed   []string `json:"changed,omitempty"`
}

// reasonUnknown is the reason of a refusal about a server that nobody has.
const reasonUnknown = "unknown_server"

// candidate is one process that a server's id may mean.
type candidate struct {
	server   *Server
	approved *trust.Approved
}

// manage does a verb about the servers of one id.
func (s *Session) manage(verb, name string) (any, *Refusal) {
	h := s.host
	if verb == VerbKill && s.knows(name) { // whatever files may say, and whether they can be looked at
		return h.kill(name)
	}
	h.look() // what is not declared or trusted any more is not started
	all, refusal := s.candidates(name)
	switch {
	case verb == VerbKill && (refusal == nil || refusal.Reason != reasonUnknown):
		return h.kill(name)
	case refusal != nil:
		return nil, refusal
	case verb == VerbRelease:
		return Handled{Server: name, Up: h.pool.Release(name)}, nil
	}
	limit, approved := time.Duration(0), make([]*trust.Approved, len(all))
	for n, c := range all {
		approved[n] = c.approved
		limit = max(limit, c.server.Declared.StartTimeout)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit+config.EOFGrace+config.TermGrace+config.KillGrace)
	defer cancel()
	var up int
	var err error
	switch verb {
	case VerbRefresh:
		return s.relist(ctx, name, all)
	case VerbStart:
		up, err = h.pool.Start(ctx, name, approved...)
	case VerbRestart:
		up, err = h.pool.Restart(ctx, name, approved...)
	}
	if err != nil {
		return nil, failed(ctx, all[0].server, "", err)
	}
	return Handled{name, up}, nil
}

// kill puts the brake on (R23).
func (h *Host) kill(name string) (any, *Refusal) {
	ended, err := h.pool.Kill(name)
	if err != nil {
		return nil, notGone(name, err)
	}
	return Killed{name, ended}, nil
}

// notGone is the answer to a kill where something hangs: the brake is on all the
// same.
func notGone(name string, err error) *Refusal {
	r := refusalOf(&Server{Declared: &config.Server{ID: name}}, "", err)
	r.Message = "server " + name + " is kept stopped from now on, but something of it is still there: " + r.Message
	return r
}

// knows reports whether an id is that of a server of some session, as it saw things
// last, or of one that runs.
func (s *Session) knows(name string) bool {
	return slices.ContainsFunc(append(s.host.others(s), s), func(o *Session) bool { return o.view.Load().Server(name) != nil }) ||
		slices.ContainsFunc(s.host.pool.Approved(), func(a *trust.Approved) bool { return a.Server().ID == name })
}

// candidates is what an id means in any open session that has looked, each process
// once; where it means nothing there, what runs under it. Without any the refusal says why: it is
// the first of those that the sessions would give.
func (s *Session) candidates(name string) (all []candidate, first *Refusal) {
	seen := map[string]bool{}
	for _, other := range append(s.host.others(s), s) {
		v := other.view.Load()
		srv := v.Server(name)
		if srv == nil || other.looks.hang() {
			continue
		}
		a, refusal := other.candidate(v, srv, other == s)
		if refusal != nil {
			first = firstOf(first, refusal)
			continue
		}
		if !seen[a.Key()] {
			seen[a.Key()] = true
			all = append(all, candidate{srv, a})
		}
	}
	if len(all) == 0 && first == nil {
		all = s.host.resting(name)
	}
	switch {
	case len(all) > 0:
		return all, nil
	case first == nil:
		first = unknownServer(name, s.View().Config.Refused)
	}
	return nil, first
}

// resting is what runs under an id, or may run again, without a session that knows
// it: its project has none, or the changed configuration is refused, and leaves what
// came of the one before as it is (R90). The host has looked at the rest by now.
func (h *Host) resting(name string) (all []candidate) {
	for _, a := range h.pool.Approved() {
		if srv := a.Server(); srv.ID == name && a.Session() == "" {
			all = append(all, candidate{&Server{Declared: srv, Status: trust.Trusted}, a})
		}
	}
	return all
}

// unknownServer refuses an id that nobody has, as far as a configuration that is
// refused lets anybody know.
func unknownServer(name string, refused bool) *Refusal {
	name = clip(name)
	if refused {
		return &Refusal{Step: StepResolve, Word: Unavailable, Reason: "configuration", Server: name, Remedy: "mcp-catalog servers --check",
			Message: fmt.Sprintf("server %q does not run, and the configuration is not in force until it is mended", name)}
	}
	return &Refusal{Step: StepResolve, Word: InvalidArguments, Reason: reasonUnknown, Server: name,
		Message: fmt.Sprintf("no server %q is declared by the user, nor by a project with an open session", name)}
}

// candidate approves a server of one session. asking is whether that is the
// session of the verb itself, which no server is started for alone.
func (s *Session) candidate(v *View, srv *Server, asking bool) (*trust.Approved, *Refusal) {
	if r := v.refuse(srv, ""); r != nil {
		return nil, r
	}
	if asking && !srv.Declared.Shared {
		return nil, &Refusal{Step: StepDispatch, Word: Unavailable, Server: srv.Declared.ID,
			Message: "server " + srv.Declared.ID + " is not shared, and no session that could use it is open"}
	}
	a, err := srv.approve(v)
	if err != nil {
		return nil, refusalOf(srv, "", err)
	}
	return a, nil
}

func firstOf(a, b *Refusal) *Refusal {
	if a != nil {
		return a
	}
	return b
}

// relist has each candidate list again, or started where it does not run, and
// recorded.
func (s *Session) relist(ctx context.Context, name string, all []candidate) (any, *Refusal) {
	out, seen := Relisted{Server: name}, map[string]bool{}
	for _, c := range all {
		d := c.server.Declared
		if seen[d.Project+"\x00"+d.Source] { // other values list the same
			continue
		}
		seen[d.Project+"\x00"+d.Source] = true
		old, _ := s.host.catalogs.Read(catalog.IdentityOf(d))
		up := s.host.pool.Running(c.approved.Key())
		i, err := s.host.pool.Get(ctx, c.approved)
		if err == nil && i == up {
			err = i.Relist(ctx)
		}
		if err != nil {
			return nil, failed(ctx, c.server, "", err)
		}
		fresh := i.Catalog()
		if err := s.host.catalogs.Write(fresh); err != nil { // the record is what was asked for
			return nil, &Refusal{Step: StepDispatch, Word: Unavailable, Server: d.ID, Message: fmt.Sprintf("the list of server %s cannot be recorded: %v", d.ID, err)}
		}
		change := catalog.Compare(old, fresh)
		list := OneList{Tools: len(fresh.Tools), Prompts: len(fresh.Prompts), Resources: len(fresh.Resources), Templates: len(fresh.ResourceTemplates),
			Added: change.Added, Removed: change.Removed, Changed: change.Changed}
		if d.Scope == config.Project {
			list.Project = d.Project
		}
		out.Lists = append(out.Lists, list)
	}
	slices.SortFunc(out.Lists, func(a, b OneList) int { return cmp.Compare(a.Project, b.Project) })
	return out, nil
}
