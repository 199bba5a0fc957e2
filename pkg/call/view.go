package call

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"postern/pkg/catalog"
	"postern/pkg/config"
	"postern/pkg/policy"
	"postern/pkg/trust"
)

// View is what one session may see and call, computed once from
// configuration, trust records and catalogs. It never changes; a change of
// any of them makes a new View. It may be used concurrently.
type View struct {
	Config  *config.Config
	Servers []*Server // enabled and disabled, in the order of the configuration
	records *trust.Records
	subject policy.Subject
	environ *trust.Environ
	epoch   uint64 // of the host, when environ was made
	routes  map[string]*Tool
	items   items
	byID    map[string]*Server
	only    string // the one server of this session; "" = all (R62)
	modern  *View  // of requests of the modern era; the view itself where they see the same
}

// Server is one declaration as this session sees it.
type Server struct {
	Declared   *config.Server
	Status     trust.Status
	Provenance catalog.Provenance
	Catalog    *catalog.Catalog // nil when it was never listed
	Tools      []*Tool          // in the server's order, those hidden by policy included

	prompts, resources, templates []*Item // likewise

	changed  error      // what differs from the approval, see look
	mu       sync.Mutex // one approval at a time: it may have to run a command for a secret
	approved atomic.Pointer[trust.Approved]
}

// Tool is one tool of a server as this session sees it.
type Tool struct {
	Server   *Server
	Def      *catalog.Tool
	Exposed  string // name shown to the agent (R60)
	Decision policy.Decision
	Shadowed bool // another tool took the exposed name first; not callable by it
}

// Visible reports whether the tool is listed: not denied, not shadowed, its
// server usable (R54).
func (t *Tool) Visible() bool {
	return t.Decision.Verdict != policy.Deny && !t.Shadowed && t.Server.Usable()
}

// needsTask reports whether the tool is called as a task of the legacy era alone,
// which no request of the modern one can (R73).
func (t *Tool) needsTask() bool { return t.Def.TaskOnly && !t.Server.modern() }

// Modern is the view of a request of the modern era: without the tools that only
// the legacy one can call.
func (v *View) Modern() *View { return v.modern }

// Shows reports whether the tool is there for the agent: visible, and callable in
// the era of the view (R54).
func (v *View) Shows(t *Tool) bool { return t.Visible() && !v.lacks(t) }

// lacks reports whether the era of the view cannot call the tool.
func (v *View) lacks(t *Tool) bool { return v.modern == v && t.needsTask() }

// Usable reports whether calls to the server can be made at all.
func (s *Server) Usable() bool {
	return s.Declared.Enabled && s.Status == trust.Trusted && s.changed == nil
}

// VisibleTools is the effective set in server order, then upstream order.
func (v *View) VisibleTools() []*Tool {
	var out []*Tool
	for _, s := range v.Servers {
		for _, t := range s.Tools {
			if v.Shows(t) {
				out = append(out, t)
			}
		}
	}
	return out
}

// Server finds a declaration by its id; nil when there is none.
func (v *View) Server(id string) *Server { return v.byID[id] }

// missing lists the trusted servers that were never listed and whose last
// attempt is not remembered as failed (R66).
func (v *View) missing(catalogs *catalog.Store) []*Server {
	var out []*Server
	for _, s := range v.Servers {
		if s.Usable() && s.Catalog == nil && v.Serves(s) {
			if _, failed := catalogs.Failed(catalog.IdentityOf(s.Declared)); !failed {
				out = append(out, s)
			}
		}
	}
	return out
}

// byName finds a tool by the server's own name for it.
func (s *Server) byName(name string) *Tool {
	for _, t := range s.Tools {
		if t.Def.Name == name {
			return t
		}
	}
	return nil
}

// owner guesses which server an exposed name without a route belongs to:
// the longest id that it begins with (R60).
func (v *View) owner(exposed string) (s *Server, tool string) {
	if v.only != "" {
		return v.byID[v.only], exposed
	}
	for _, candidate := range v.Servers {
		prefix := candidate.Declared.ID + "__"
		if strings.HasPrefix(exposed, prefix) && (s == nil || len(candidate.Declared.ID) > len(s.Declared.ID)) {
			s, tool = candidate, exposed[len(prefix):]
		}
	}
	return s, tool
}

// approve returns the server's approval, made at the first call of this view.
// A failure is not kept: a variable or an executable may turn up.
func (s *Server) approve(v *View) (*trust.Approved, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.approved.Load(); a != nil {
		return a, nil
	}
	a, err := trust.Check(v.records, s.Declared, v.environ)
	if err != nil {
		return nil, err
	}
	s.approved.Store(a)
	return a, nil
}

// running reports the key under which the pool would hold this server, "" as
// long as nothing was approved in this view.
func (s *Server) running() string {
	if a := s.approved.Load(); a != nil {
		return a.Key()
	}
	return ""
}

// build computes a view. old, when given, lends its approvals for servers
// whose declaration and record are the same, so that a running instance is
// found again. Records say nothing about the user's own servers.
func (h *Host) build(session *Session, c *config.Config, records *trust.Records, subject policy.Subject, old *View) *View {
	epoch := h.epoch.Load() // before what is looked up
	v := &View{
		epoch: epoch, Config: c, records: records, subject: subject, environ: h.environ(c, session),
		items: newItems(), byID: map[string]*Server{}, only: session.o.Only,
	}
	for _, d := range c.Servers {
		if v.only != "" && d.ID != v.only {
			continue
		}
		if d.Scope == config.User && d.Enabled && (old == nil || old.Config != c || old.epoch != epoch) {
			trust.Learn(d, v.environ, c.Project)
		}
		s := &Server{Declared: d}
		s.Status, _ = records.Status(d)
		h.lend(s, old, v)
		v.Servers = append(v.Servers, s)
		v.byID[d.ID] = s
	}
	h.readAll(v)
	v.modern, v.routes = v, make(map[string]*Tool, listed(v.Servers))
	for _, s := range v.Servers {
		v.expose(s, h)
	}
	if slices.ContainsFunc(v.Servers, func(s *Server) bool { return slices.ContainsFunc(s.Tools, (*Tool).needsTask) }) {
		other := *v
		other.modern = &other
		v.modern = &other
	}
	return v
}

// listed counts the tools of servers.
func listed(servers []*Server) (n int) {
	for _, s := range servers {
		if s.Catalog != nil {
			n += len(s.Catalog.Parsed())
		}
	}
	return n
}

// lend hands an approval of the view before on to the same declaration in v. With
// another configuration, and after a reload, it is made anew, so that what runs is found again and
// keeps running (R25).
func (h *Host) lend(s *Server, old, v *View) {
	if old == nil {
		return
	}
	before := old.byID[s.Declared.ID]
	if before == nil || before.running() == "" {
		return
	}
	switch {
	case old.epoch == v.epoch && old.Config == v.Config && (old.records == v.records || s.Declared.Scope == config.User):
		s.approved.Store(before.approved.Load())
	case sameDeclaration(before.Declared, s.Declared):
		_, _ = s.approve(v) // without it, it is approved again when it is next called
	}
}

// readAll looks at the files of all servers at once: with hundreds of recorded
// tools that is most of what an agent waits for at the start.
func (h *Host) readAll(v *View) {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, s := range v.Servers {
		g.Go(func() error { // ends with the files of one server
			s.changed = s.look(v)
			s.Catalog, s.Provenance = h.known(s)
			return nil
		})
	}
	_ = g.Wait() // what cannot be read is in the server
}

// Warm reads what is recorded of the user's servers, which a first session would
// wait for. It may be called concurrently with everything else.
func (h *Host) Warm() {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, d := range h.load("").Servers {
		g.Go(func() error { // ends with the file of one server
			h.catalogs.Read(catalog.IdentityOf(d))
			return nil
		})
	}
	_ = g.Wait() // what cannot be read is told by who needs it
}

// known is the best list there is: the live one of a running instance, else
// the recorded one.
func (h *Host) known(s *Server) (*catalog.Catalog, catalog.Provenance) {
	if key := s.running(); key != "" {
		if i := h.pool.Running(key); i != nil {
			return i.Catalog(), catalog.Live
		}
	}
	return h.catalogs.Read(catalog.IdentityOf(s.Declared))
}

func (v *View) expose(s *Server, h *Host) {
	if s.Catalog == nil {
		return
	}
	defs := s.Catalog.Parsed()
	tools := make([]Tool, len(defs))
	s.Tools = make([]*Tool, 0, len(defs))
	asked := policyServer(v, s, policy.ToolKind)
	for i := range defs {
		t := &tools[i]
		t.Server, t.Def = s, &defs[i]
		v.name(&asked, t.Def.Name)
		asked.ReadOnly = t.Def.ReadOnly
		t.Exposed, t.Decision = asked.Exposed, policy.Decide(v.subject, asked)
		if v.only != "" {
			t.Exposed = t.Def.Name
		}
		if first := v.routes[t.Exposed]; first != nil {
			t.Shadowed = true
			h.warnOnce("shadow "+t.Exposed, s.Declared.ID+"/"+t.Def.Name+" is not exposed: its name "+t.Exposed+
				" is taken by "+first.Server.Declared.ID+"/"+first.Def.Name)
		} else {
			v.routes[t.Exposed] = t
		}
		s.Tools = append(s.Tools, t)
	}
	v.exposeItems(s, h)
}

// decide asks the policy about one tool definition.
func (v *View) decide(s *Server, def *catalog.Tool) policy.Decision {
	t := policyTool(v, s, policy.ToolKind, def.Name)
	t.ReadOnly = def.ReadOnly
	return policy.Decide(v.subject, t)
}

// policyTool is what the policy is asked about.
func policyTool(v *View, s *Server, k policy.Kind, name string) policy.Tool {
	t := policyServer(v, s, k)
	v.name(&t, name)
	return t
}

// policyServer is policyTool without what differs between the tools of a server.
func policyServer(v *View, s *Server, k policy.Kind) policy.Tool {
	d := s.Declared
	return policy.Tool{
		Kind: k, Server: d.ID, Exec: d.CommandLine(), Class: v.class(s),
		ReadTools: d.ReadTools, WriteTools: d.WriteTools, ExecuteTools: d.ExecuteTools,
	}
}

// name gives a tool its name. Its exposed name is the one it has among other
// servers' in any case, so that a pattern on that holds with R62 too.
func (v *View) name(t *policy.Tool, name string) {
	t.Name = name
	if name != "" && t.Kind != policy.ResourceKind {
		t.Exposed = catalog.Exposed(t.Server, name, v.Config.NamesMax)
	}
}

// class is the declaration's for the user's servers and the record's for a
// project's: a repository does not say how far it is to be believed.
func (v *View) class(s *Server) config.Class {
	if s.Declared.Scope == config.User {
		return s.Declared.Class
	}
	if _, r := v.records.Status(s.Declared); r != nil && r.Class != "" {
		return r.Class
	}
	return config.ClassUnknown
}

// asError finds a typed error in a chain.
func asError[T error](err error) (T, bool) {
	var target T
	ok := errors.As(err, &target)
	return target, ok
}

// Approve makes the approval of one server of this view without calling it:
// for discovery, refresh and the commands that show what would run.
func (v *View) Approve(_ context.Context, s *Server) (*trust.Approved, error) { return s.approve(v) }

// Exposed finds a tool by the name that agents see; nil when there is none.
func (v *View) Exposed(name string) *Tool { return v.routes[name] }

// Serves reports whether the caller's policies name the server at all and do
// not deny it as a whole.
func (v *View) Serves(s *Server) bool {
	_, refused := policy.RefusedByName(v.subject, policyTool(v, s, policy.ToolKind, ""))
	return !refused
}
