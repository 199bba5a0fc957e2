package call

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"postern/pkg/calllog"
	"postern/pkg/catalog"
	"postern/pkg/config"
	"postern/pkg/policy"
	"postern/pkg/pool"
	"postern/pkg/upstream"
)

// SessionOptions says who opens a session and where.
type SessionOptions struct {
	Project   string // real path of the project's root; "" for none (C21)
	Policy    string // name of a policy that narrows; "" for none (R52)
	Via       string // the `via` of its rows: direct, mcp-call
	ClientPID int    // the agent's process, 0 when unknown
	Eager     bool   // bring up and keep up its servers with `start: eager` while it is open
	Changed   func() // called after something this session sees may differ; must not block; may be nil
	Agent     Agent  // whom servers may ask and tell; nil = nobody
	Dir       string // the agent's working directory, absolute, where servers of this session alone run; "" = where shared ones do
	Only      string // the one server that this session sees, under its own names (R62); "" = all
	ID        string // of the session, one of calllog.NewID; "" makes one
	// Environ is the agent's environment as far as it was asked for ("NAME=value"
	// each): what Host.Names wants, language, time zone and terminal. nil is this
	// process's own, or nothing where that is a hub's (HostOptions.Own).
	Environ []string
}

// UnknownServerError says that the server of SessionOptions.Only is not declared.
type UnknownServerError struct{ ID string }

// Error names the server.
func (e *UnknownServerError) Error() string {
	return fmt.Sprintf("there is no server %q in the configuration", e.ID)
}

// Session is one agent's or one command's place on a host. Its methods may be
// called concurrently. Whoever opened it calls Close, which stops no server.
type Session struct {
	ID   string
	host *Host
	o    SessionOptions

	since  time.Time // when it was opened
	ofVerb bool      // it is a control verb's own

	view    atomic.Pointer[View]
	checked atomic.Int64 // when files were last looked at, UnixNano
	seen    atomic.Uint64
	mu      sync.Mutex                    // one rebuild at a time
	refused atomic.Pointer[config.Config] // the newest, when it is not in force
	looks   looks
	claimed atomic.Pointer[calllog.Claimed]
	search  discovery

	order  pool.Order // of its requests
	orders orders     // of its calls to each server

	links      links
	subs       subs
	tasks      tasks
	agentTasks agentTasks
	places     places              // for questions to the agent
	still      upstream.Standstill // while it is
}

// Open opens a session and computes its first view. It starts nothing. The
// only errors are *UnknownPolicyError, *UnknownServerError and
// *policy.PatternError; a broken configuration is a session that sees no tools.
func (h *Host) Open(o SessionOptions) (*Session, error) { return h.join(o, false) }

// basis is what a session stands on: its configuration, and who it is there.
func (h *Host) basis(o SessionOptions) (*config.Config, policy.Subject, error) {
	c := h.load(o.Project)
	who, err := subject(c, o.Policy)
	if err == nil && o.Only != "" && !c.Refused && c.Server(o.Only) == nil {
		err = &UnknownServerError{ID: o.Only}
	}
	return c, who, err
}

// join is Open, also of the session that a control verb has for itself.
func (h *Host) join(o SessionOptions, ofVerb bool) (*Session, error) {
	s := &Session{ID: cmp.Or(o.ID, calllog.NewID(time.Now())), host: h, o: o, since: time.Now(), ofVerb: ofVerb}
	c, who, err := h.basis(o)
	if err != nil {
		return nil, err
	}
	s.view.Store(h.build(s, c, h.records(o.Project), who, nil))
	s.checked.Store(time.Now().UnixNano())
	h.pool.Join(s.ID, (*peer)(s))
	h.mu.Lock()
	h.sessions[s] = true
	if o.Changed != nil {
		h.watchers[s] = o.Changed
	}
	h.mu.Unlock()
	s.wantEager(s.view.Load())
	return s, nil
}

// Close ends the session's interest in changes and in the servers it used.
func (s *Session) Close() {
	s.host.mu.Lock()
	delete(s.host.sessions, s)
	delete(s.host.watchers, s)
	s.host.mu.Unlock()
	s.host.pool.Leave(s.ID)
	s.host.redactor.Forget(s.ID)
}

// Claim records what the client says of itself; it is logged and never believed.
// The Agent's capabilities are known by then: eager servers of this session alone
// start with the first.
func (s *Session) Claim(name, version string) {
	if s.claimed.Swap(&calllog.Claimed{Name: name, Version: version}) == nil {
		s.wantEager(s.view.Load())
	}
}

// load is the configuration as its files are now, one value for all sessions of a
// project as long as none of them changes. It tells the operator what is wrong with
// it, each diagnostic once, and the call log how much is kept.
func (h *Host) load(project string) *config.Config {
	h.mu.Lock()
	c := h.loaded[project]
	h.mu.Unlock()
	if c == nil || !c.Current() {
		c = h.reload(project)
	}
	if !c.Refused { // else what was in force stays so (R90)
		h.log.Limit(c.Log.Days, c.Log.MaxFile)
	}
	return c
}

// reload is load that reads the files.
func (h *Host) reload(project string) *config.Config {
	c := config.Load(config.LoadOptions{Dirs: h.o.Dirs, Project: project})
	for _, d := range c.Diagnostics {
		h.warnOnce(d.String(), d.String())
	}
	if c.Project == project { // else it could not be opened, of which no file tells
		h.mu.Lock()
		if len(h.loaded) >= config.KeptConfigs {
			clear(h.loaded)
		}
		h.loaded[project] = c
		h.mu.Unlock()
	}
	return c
}

// UserConfig is the configuration outside of any project, as its files are now; it
// may be refused. A hub asks for it every few seconds, with or without a session, so
// that the call log follows it.
func (h *Host) UserConfig() *config.Config { return h.load("") }

// View is the session's present view. It looks at trust.json each time (one
// stat) and at configuration and catalogs at most once a second (R90). A new
// configuration that refuses itself leaves the one before in force.
func (s *Session) View() *View {
	v := s.view.Load()
	due := time.Now().UnixNano()-s.checked.Load() >= int64(config.ConfigCheckEvery)
	if !due && s.host.generation.Load() == s.seen.Load() && s.host.records(s.o.Project) == v.records {
		return v
	}
	return s.renew()
}

// renew looks at everything now, and is the view that follows from it.
func (s *Session) renew() *View {
	generation := s.host.generation.Load()
	s.mu.Lock()
	old := s.view.Load()
	next := s.next(old)
	s.view.Store(next)
	s.checked.Store(time.Now().UnixNano())
	s.seen.Store(generation)
	s.mu.Unlock()
	if next != old {
		s.host.moved(old, next)
		s.wantEager(next)
		if s.o.Changed != nil {
			s.o.Changed()
		}
	}
	return next
}

// next is v when nothing it was computed from has changed, else a new view. The
// caller holds s.mu.
func (s *Session) next(v *View) *View {
	c, who := v.Config, v.subject
	if refused := s.refused.Load(); !c.Current() && (refused == nil || !refused.Current()) {
		s.refused.Store(nil)
		fresh := s.host.load(s.o.Project)
		changed, err := subject(fresh, s.o.Policy)
		if err == nil && !fresh.Refused {
			c, who = fresh, changed
		} else {
			s.refused.Store(fresh)
			s.host.warnOnce("kept "+fresh.Hash, "the changed configuration is refused; the one before stays in force")
		}
	}
	records := s.host.records(s.o.Project)
	if c == v.Config && records == v.records && s.host.epoch.Load() == v.epoch && s.same(v) {
		return v
	}
	return s.host.build(s, c, records, who, v)
}

// start brings one server up and returns its live list.
func (s *Session) start(ctx context.Context, v *View, srv *Server) (*catalog.Catalog, error) {
	a, err := srv.approve(v)
	if err != nil {
		return nil, refusalOf(srv, "", err)
	}
	i, err := s.host.pool.Get(ctx, a)
	if err != nil {
		return nil, refusalOf(srv, "", err)
	}
	return i.Catalog(), nil
}

// Find resolves one tool by server id and the server's own name, starting the
// server when it was never listed (R40). It writes no row and sends nothing.
func (s *Session) Find(ctx context.Context, server, tool string) (*Tool, *Refusal) {
	return s.FindFor(ctx, server, tool, func(*Refusal) bool { return false })
}

// FindFor is Find for a call that is about to be made. Where ends says that it is not
// made after a refusal, that has its row.
func (s *Session) FindFor(ctx context.Context, server, tool string, ends func(*Refusal) bool) (*Tool, *Refusal) {
	c := s.begin(Request{Server: server, Tool: tool})
	r := resolve(ctx, c)
	if r == nil {
		return c.tool, nil
	}
	if r = s.host.cleaned(r.at(StepResolve)); ends(r) {
		s.end(c, r, func(Answer) {})
	}
	return nil, r
}

// Tools lists the tools of one server that this session may call, starting
// the server when it was never listed. The error is a *Refusal.
func (s *Session) Tools(ctx context.Context, server string) ([]*Tool, error) {
	c := s.begin(Request{Server: server})
	srv := c.view.Server(server)
	if srv == nil {
		return nil, c.unknown(nil, server).at(StepResolve)
	}
	if r := c.view.refuse(srv, ""); r != nil {
		return nil, r.at(StepResolve)
	}
	if srv.Catalog == nil {
		if r := c.list(ctx, srv, ""); r != nil {
			return nil, s.host.cleaned(r.at(StepResolve))
		}
		if srv = c.view.Server(server); srv == nil {
			return nil, c.unknown(nil, server).at(StepResolve)
		}
	}
	var out []*Tool
	for _, t := range srv.Tools {
		if t.Visible() {
			out = append(out, t)
		}
	}
	return out, nil
}
