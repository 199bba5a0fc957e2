package call

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"postern/pkg/calllog"
	"postern/pkg/catalog"
	"postern/pkg/config"
	"postern/pkg/pool"
	"postern/pkg/secret"
	"postern/pkg/state"
	"postern/pkg/trust"
)

// HostOptions says where things are and what this process is.
type HostOptions struct {
	Dirs    state.Dirs
	Environ []string     // environment of this process
	Depth   int          // POSTERN_DEPTH this process was started with
	Self    []string     // real paths of postern's own commands (C23)
	Version string       // of this build
	Warn    func(string) // one line for the operator; never a secret; may be called concurrently
	NoLog   bool         // write no rows: for commands that make no call
	// Own says that Environ is this process's alone, no agent's: all of it counts
	// as the hub's, and a session's agent has what SessionOptions.Environ says.
	Own bool
	// Sweep is called once, before the first server is started, which waits for
	// it. May be nil.
	Sweep func(context.Context)
}

// Host is what all sessions of one process share: the pool of running servers,
// the trust store, the catalogs and the call log. Its methods may be called
// concurrently. Whoever opened it calls Close.
type Host struct {
	o          HostOptions
	since      time.Time
	trust      *trust.Store
	catalogs   *catalog.Store
	pool       *pool.Pool
	log        *calllog.Writer
	generation atomic.Uint64 // counts changes of live lists
	epoch      atomic.Uint64 // counts reloads: values and places are looked up anew with each
	mu         sync.Mutex
	panics     atomic.Uint64 // contained, see Panicked
	sessions   map[*Session]bool
	watchers   map[*Session]func()
	loaded     map[string]*config.Config // by project, see load
	distrust   map[string]*trust.Records // by project: none, as long as trust.json cannot be believed
	without    []string                  // what could not be opened, for the operator; fixed once open
	redactor   *secret.Redactor
	key        func() []byte // of this installation; nil when there is none
	secrets    *secret.Store
	spec       map[string]string
	warned     warnings
	remarked   warnings                      // by tool, see remark
	looks      looks                         // of lookAtRest
	attempts   map[catalog.Identity]*attempt // discoveries under way

	closing sync.Once
}

// OpenHost prepares a host. It starts no server and creates only the
// directories it writes to; where those cannot be written it says so through
// Warn and works without log and cache (C6).
func OpenHost(o HostOptions, log config.Log) *Host {
	h := &Host{o: o, since: time.Now(), trust: trust.NewStore(o.Dirs), redactor: &secret.Redactor{}, sessions: map[*Session]bool{}, watchers: map[*Session]func(){}, loaded: map[string]*config.Config{}, distrust: map[string]*trust.Records{}, attempts: map[catalog.Identity]*attempt{}}
	h.key = h.keyOf()
	h.catalogs = catalog.NewStore(filepath.Join(o.Dirs.Cache, "catalogs"), nil)
	if err := state.EnsureDir(filepath.Join(o.Dirs.Cache, "catalogs")); err != nil {
		h.lacks("no catalog cache: " + err.Error())
	}
	stderr := filepath.Join(o.Dirs.State, "stderr")
	if err := state.EnsureDir(stderr); err != nil {
		stderr = ""
	}
	if !o.NoLog {
		w, err := calllog.Open(filepath.Join(o.Dirs.State, "calls"), calllog.Options{Days: log.Days, MaxFile: log.MaxFile, Finish: h.finishRow})
		if err != nil {
			h.lacks("calls are not logged: " + err.Error())
		}
		if h.log = w; log.Args == "hash" {
			h.key() // making it takes a moment, and no call waits for it
		}
	}
	h.pool = pool.New(pool.Options{
		Owner: pool.OwnerMark(), StderrDir: stderr, Catalogs: h.catalogs, Version: o.Version, Changed: h.changed,
		First: o.Sweep, Look: h.look, Panicked: h.Panicked, Redactor: h.redactor,
	})
	return h
}

// lacks says what this process does without from its start on.
func (h *Host) lacks(text string) {
	h.without = append(h.without, text)
	h.Warn(text)
}

// Pool is the host's pool of running servers.
func (h *Host) Pool() *pool.Pool { return h.pool }

// Catalogs is the host's cache of recorded lists.
func (h *Host) Catalogs() *catalog.Store { return h.catalogs }

// Trust is the host's trust store.
func (h *Host) Trust() *trust.Store { return h.trust }

// Close stops all servers, waits for their teardown (R12, config.ServerEnd) and for the log's
// queue (at most LogFlush). Calls still running fail as closed. It may be called
// again.
func (h *Host) Close() { h.closing.Do(h.end) }

func (h *Host) end() {
	survivors, err := h.pool.Close()
	for _, t := range survivors {
		h.Warn("a server's process group survived: " + t.Reason)
	}
	if err != nil {
		h.Warn(err.Error())
	}
	if err := h.log.Close(config.LogFlush); err != nil {
		h.Warn("the last rows of the call log were not written: " + err.Error())
	}
	if n := h.log.Dropped(); n > 0 {
		h.Warn("rows of the call log were dropped")
	}
}

// changed tells every session that a live list differs.
func (h *Host) changed() {
	h.generation.Add(1)
	h.mu.Lock()
	notify := make([]func(), 0, len(h.watchers))
	for _, f := range h.watchers {
		notify = append(notify, f)
	}
	h.mu.Unlock()
	for _, f := range notify {
		f()
	}
}

// records are the trust records in force. With a trust.json that cannot be
// believed there are none, always the same none, and nothing of a project is
// trusted (C50).
func (h *Host) records(project string) *trust.Records {
	r, err := h.trust.Records(project)
	if err == nil {
		return r
	}
	h.warnOnce("trust "+err.Error(), noTrust(err))
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.distrust[project] == nil {
		h.distrust[project] = r
	}
	return h.distrust[project]
}

// store returns the secrets of a configuration, one Store as long as the
// `secrets:` part stays the same, so that each value is fetched once.
func (h *Host) store(spec map[string]string) *secret.Store {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.secrets == nil || !maps.Equal(spec, h.spec) {
		h.secrets, h.spec = secret.NewStore(spec), maps.Clone(spec)
	}
	return h.secrets
}

// environ is what trust.Check may use for a session of this host.
func (h *Host) environ(c *config.Config, s *Session) *trust.Environ {
	hub, agent := h.environment()
	if s.o.Environ != nil {
		agent = s.o.Environ
	}
	return &trust.Environ{
		Session: s.ID, Dir: s.o.Dir, Hub: hub, Agent: agent,
		Secrets: h.store(c.Secrets), Path: c.Path, Self: h.o.Self, Depth: h.o.Depth,
		Redactor: h.redactor,
	}
}

// environment is whose what this process was started with is: without a shared
// process the reduced list counts as the hub's and the rest as the agent's (C30).
func (h *Host) environment() (hub, agent []string) {
	if h.o.Own {
		return h.o.Environ, nil
	}
	return secret.ReducedEnvironment(h.o.Environ), h.o.Environ
}

// SelfPaths returns the real paths of the commands installed beside this
// executable, this one included.
func SelfPaths(names []string) []string {
	exe, err := os.Executable()
	if err != nil {
		return nil
	}
	if real, err := filepath.EvalSymlinks(exe); err == nil {
		exe = real
	}
	paths := []string{exe}
	for _, n := range names {
		paths = append(paths, filepath.Join(filepath.Dir(exe), n))
	}
	return paths
}

// Dirs are the directories of this host.
func (h *Host) Dirs() state.Dirs { return h.o.Dirs }
