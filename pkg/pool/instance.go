package pool

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"postern/pkg/catalog"
	"postern/pkg/config"
	"postern/pkg/secret"
	"postern/pkg/trust"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// connection is what the pool needs of an upstream.Client.
type connection interface {
	Do(context.Context, upstream.Call) (upstream.Reply, error)
	Notify(method string, params []byte) error
	List(ctx context.Context, method, member string) (items []json.RawMessage, truncated bool, ttlMS int64, err error)
	Info() upstream.Info
	Done() <-chan struct{}
	Err() *upstream.Failure
	Exited() bool
	Close() upstream.Teardown
}

func dial(ctx context.Context, o upstream.Options) (connection, error) { return upstream.Start(ctx, o) }

// Instance is one running server process. Its methods may be called
// concurrently, also after the process is gone: then calls fail as `closed`.
type Instance struct {
	pool     *Pool
	berth    *berth
	server   *config.Server // as it was when it started
	client   connection
	identity catalog.Identity
	session  string    // whose alone it is; "" = shared
	since    time.Time // when it was up
	started  time.Duration
	queue    *queue
	counted  bool // its end was counted by the breaker; guarded by Pool.mu, as is
	callers  callers
	live     atomic.Pointer[catalog.Catalog]
	known    [lists]known   // for whoever reads lists: the start, then follow
	stale    atomic.Uint32  // lists that changed, a bit each
	relists  chan struct{}  // one token: some did
	modern   atomic.Bool    // the era of the server
	logs     bool           // it takes logging/setLevel
	level    level          // that it was told
	tuning   gate           // held while it is told
	listens  listens        // of a modern one
	left     [2]givenUp     // the last calls of two sessions that were given up; guarded by Pool.mu
	dropped  atomic.Uint64  // notifications that were for nobody
	early    []wire.Message // of them, about tasks that nobody had yet, the newest at the end; guarded by Pool.mu

	asks chan chan<- error // of who waits for all lists to be read again
}

// start looks at the files, spawns the process, shakes hands and reads its lists,
// the latter within start_timeout, and only as long as ctx lives. Nothing of it is
// left when that fails.
func (p *Pool) start(ctx context.Context, b *berth, a *trust.Approved) (*Instance, error) {
	begin := time.Now()
	srv := a.Server()
	launch, err := a.Launch()
	if err != nil {
		return nil, err
	}
	if launch.File != nil {
		defer launch.File.Close() // the child has its own once it is started
	}
	if ctx.Err() != nil { // the disk took its time
		return nil, unwanted(srv.ID, false)
	}
	i := &Instance{
		pool: p, berth: b, server: srv, identity: catalog.IdentityOf(srv), session: a.Session(),
		queue: newQueue(srv.MaxConcurrency, srv.Queue), relists: make(chan struct{}, 1), asks: make(chan chan<- error), tuning: newGate(),
	}
	ctx, cancel := context.WithTimeout(ctx, srv.StartTimeout)
	defer cancel()
	if err := i.connect(ctx, p.options(b.key, i, launch)); err != nil {
		err = i.ofStart(err)
		p.recordFailure(ctx, a, err)
		return nil, err
	}
	i.since = time.Now()
	i.started = i.since.Sub(begin)
	p.watch.Add(2)
	go i.follow()          // ends when the client is done
	go i.restore(i.uris()) // ends when everything was sent, or with the connection
	return i, nil
}

func (p *Pool) options(key string, i *Instance, launch trust.Launch) upstream.Options {
	srv := i.server
	capabilities, prefer := p.declared(i)
	return upstream.Options{
		Server: srv.ID, Launch: launch, StderrLog: p.StderrLog(srv.ID, key), Redactor: p.o.Redactor,
		Protocol: srv.Protocol, Era: p.rememberedEra(i.identity), Prefer: prefer, Capabilities: capabilities,
		StartTimeout: srv.StartTimeout, MaxMessage: srv.MaxMessageBytes, MaxQueue: srv.MaxQueueBytes,
		Mark: p.mark(), Version: p.o.Version, Panicked: p.o.Panicked,
		Notify: i.note, Ask: i.ask,
	}
}

// connect starts the client and reads its lists, which are recorded.
func (i *Instance) connect(ctx context.Context, o upstream.Options) error {
	client, err := i.pool.connect(ctx, o)
	if err != nil {
		return err
	}
	i.client = client
	ready := false
	defer func() {
		if !ready { // its list was no use, or a panic is on its way
			i.pool.stop(client)
		}
	}()
	info := client.Info()
	i.modern.Store(info.Era == upstream.EraModern)
	i.logs = info.Era == upstream.EraLegacy && declares(info.Capabilities, "logging", false)
	if err := i.readAll(ctx); err != nil {
		return err
	}
	c, err := i.build()
	if err != nil {
		return err
	}
	ready = true
	i.record(c)
	i.live.Store(c)
	return nil
}

// ofStart words a failure for those who wait for the start: nothing of a call
// of theirs was sent.
func (i *Instance) ofStart(err error) error {
	var f *upstream.Failure
	if !errors.As(err, &f) {
		return err
	}
	f = i.pool.clean(f)
	f.Sent = false
	return f
}

func (p *Pool) rememberedEra(id catalog.Identity) string {
	if p.o.Catalogs == nil {
		return ""
	}
	if c, _ := p.o.Catalogs.Read(id); c != nil {
		return c.Era
	}
	return ""
}

// recordFailure remembers that a server could not be started. A start that was
// given up says nothing about the server, and one with a value of an agent's nothing
// about other agents'.
func (p *Pool) recordFailure(ctx context.Context, a *trust.Approved, err error) {
	if p.o.Catalogs == nil || errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	for _, from := range a.SecretOrigins() {
		if from == secret.FromAgent {
			return
		}
	}
	// A cache that cannot be written costs a repeated discovery, nothing else (C6).
	_ = p.o.Catalogs.SetFailed(catalog.IdentityOf(a.Server()), explained(err))
}

// Catalog is the lists the server gave at its start or at their last
// list_changed. It is never nil.
func (i *Instance) Catalog() *catalog.Catalog { return i.live.Load() }

// Started is how long spawn, handshake and first list took.
func (i *Instance) Started() time.Duration { return i.started }

// Info is what the server said of itself in its handshake. Dropped counts the
// notifications that were for no session as well.
func (i *Instance) Info() upstream.Info {
	info := i.client.Info()
	info.Dropped += i.dropped.Load()
	return info
}

// Notify sends the server a notification. It waits for nothing; an error, a
// *upstream.Failure, means that it was not queued.
func (i *Instance) Notify(method string, params []byte) error {
	err := i.client.Notify(method, params)
	if err != nil {
		_, err = i.failed(err)
	}
	return err
}

// ended reports whether the connection is over, or its process has exited:
// that is looked at, so that no call is sent to a process that is gone. Err
// tells it before Done does, and before any call that the end took with it
// returns.
func (i *Instance) ended() bool { return i.client.Err() != nil || i.client.Exited() }

// ending says how it ended, without what is secret; with the last it wrote only to
// its user, or where no call can be behind that (R42).
func (i *Instance) ending(user bool) string {
	f := i.client.Err()
	if f == nil {
		return "its process ended"
	}
	if f = i.pool.clean(f); !user && i.callers.some && i.session == "" {
		f.Stderr = ""
	}
	return f.Explained()
}

// callers is whose calls a process was given.
type callers struct {
	some    bool
	first   string // session
	several bool
}

func (c *callers) add(session string) {
	c.several = c.several || c.some && c.first != session
	if !c.some {
		c.some, c.first = true, session
	}
}

// ownWords reports whether all calls that it may have written about are the
// session's.
func (i *Instance) ownWords(session string) bool {
	i.pool.mu.Lock()
	defer i.pool.mu.Unlock()
	return i.session != "" || !i.callers.some || !i.callers.several && i.callers.first == session
}

// Do sends one call of a session. It waits for one of the server's
// max_concurrency slots for at most call.Timeout (R44), sessions taking turns;
// when `queue` others wait already it fails at once with `overload`, and while
// the breaker is open with an *OpenError. The log level that the session wants
// is seen to before. As long as the call is with the server, what that asks and
// says goes to the session, if no other has one there (R72). queued is the time
// waited. Other errors are *upstream.Failure.
func (i *Instance) Do(ctx context.Context, session string, call upstream.Call) (reply upstream.Reply, queued time.Duration, err error) {
	return i.DoInTurn(ctx, session, call, nil)
}

// DoInTurn is Do for a call that is sent behind those that came before it: t is
// over as soon as it stands among what is written to the server. Before that it
// waits until all before it are as far.
func (i *Instance) DoInTurn(ctx context.Context, session string, call upstream.Call, t *Ticket) (reply upstream.Reply, queued time.Duration, err error) {
	defer t.Over()
	t.await(ctx, inLine)
	u, err := i.begin(session)
	if err != nil {
		return upstream.Reply{}, 0, err
	}
	if queued, err = i.queue.enter(ctx, session, call.Timeout, t); err != nil {
		i.end(u, verdict{})
		return upstream.Reply{}, queued, i.notSent(err, call.Timeout)
	}
	defer i.queue.leave()
	var v verdict // as it is when a panic is on its way: the next call decides
	defer func() { i.end(u, v) }()
	t.Turn(ctx) // those before it have their slots too, for a session's are given in order
	i.tune(ctx, u, &call)
	if t != nil {
		call.Place = t
	}
	if v.probe, err = i.admit(u); err != nil {
		return upstream.Reply{}, queued, err
	}
	v.admitted = true
	reply, err = i.client.Do(ctx, call)
	v.answered = err == nil
	if err != nil {
		if v.failure, err = i.failed(err); v.failure != nil && !i.ownWords(session) {
			v.failure.Stderr = "" // err is the same
		}
	} else if refused := reply.Message.ErrorBytes(); refused != nil {
		i.rememberError(session, refused)
	}
	return reply, queued, err
}

// failed is err without what is secret, twice where it is a *upstream.Failure.
func (i *Instance) failed(err error) (*upstream.Failure, error) {
	var f *upstream.Failure
	if !errors.As(err, &f) {
		return nil, err
	}
	f = i.pool.clean(f)
	return f, f
}
