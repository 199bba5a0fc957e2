package pool

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"postern/pkg/catalog"
	"postern/pkg/config"
	"postern/pkg/trust"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// connection is what the pool needs of an upstream.Client.
type connection interface {
	Do(context.Context, upstream.Call) (upstream.Reply, error)
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
	since    time.Time // when it was up
	started  time.Duration
	queue    *queue
	counted  bool // its end was counted by the breaker; guarded by Pool.mu
	live     atomic.Pointer[catalog.Catalog]
}

// start spawns the process, shakes hands and reads its lists, all within
// start_timeout and as long as ctx lives. Nothing of it is left when that fails.
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
	i := &Instance{
		pool: p, berth: b, server: srv, identity: catalog.IdentityOf(srv),
		queue: newQueue(srv.MaxConcurrency, srv.Queue),
	}
	ctx, cancel := context.WithTimeout(ctx, srv.StartTimeout)
	defer cancel()
	notify := make(chan struct{}, 1)
	if err := i.connect(ctx, p.options(b.key, i, launch, notify)); err != nil {
		err = i.ofStart(err)
		p.recordFailure(ctx, i.identity, err)
		return nil, err
	}
	i.since = time.Now()
	i.started = i.since.Sub(begin)
	p.watch.Add(1)
	go i.follow(notify) // ends when the client is done
	return i, nil
}

func (p *Pool) options(key string, i *Instance, launch trust.Launch, notify chan<- struct{}) upstream.Options {
	srv := i.server
	return upstream.Options{
		Server: srv.ID, Launch: launch, StderrLog: p.StderrLog(srv.ID, key), Redactor: p.o.Redactor,
		Protocol: srv.Protocol, Era: p.rememberedEra(i.identity), StartTimeout: srv.StartTimeout,
		MaxMessage: srv.MaxMessageBytes, MaxQueue: srv.MaxQueueBytes,
		Mark: p.mark(), Version: p.o.Version, Panicked: p.o.Panicked,
		Notify: func(m wire.Message) {
			if m.Method == "notifications/tools/list_changed" {
				select {
				case notify <- struct{}{}:
				default: // one is waiting already: it will see this change too
				}
			}
		},
	}
}

// connect starts the client and reads the first list, which is recorded.
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
	c, err := i.list(ctx)
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
// given up says nothing about the server.
func (p *Pool) recordFailure(ctx context.Context, id catalog.Identity, err error) {
	if p.o.Catalogs != nil && !errors.Is(ctx.Err(), context.Canceled) {
		why := err.Error()
		var f *upstream.Failure
		if errors.As(err, &f) {
			why = f.Explained()
		}
		// A cache that cannot be written costs a repeated discovery, nothing else (C6).
		_ = p.o.Catalogs.SetFailed(id, why)
	}
}

// Catalog is the list the server gave at its start or at its last
// list_changed. It is never nil.
func (i *Instance) Catalog() *catalog.Catalog { return i.live.Load() }

// Started is how long spawn, handshake and first list took.
func (i *Instance) Started() time.Duration { return i.started }

// Info is what the server said of itself in its handshake.
func (i *Instance) Info() upstream.Info { return i.client.Info() }

// ended reports whether the connection is over, or its process has exited:
// that is looked at, so that no call is sent to a process that is gone. Err
// tells it before Done does, and before any call that the end took with it
// returns.
func (i *Instance) ended() bool { return i.client.Err() != nil || i.client.Exited() }

// ending says how it ended, without what is secret.
func (i *Instance) ending() string {
	if f := i.client.Err(); f != nil {
		return i.pool.clean(f).Explained()
	}
	return "its process ended"
}

// Do sends one call of a session. It waits for one of the server's
// max_concurrency slots for at most call.Timeout (R44), sessions taking turns;
// when `queue` others wait already it fails at once with `overload`, and while
// the breaker is open with an *OpenError. queued is the time waited. Other
// errors are *upstream.Failure.
func (i *Instance) Do(ctx context.Context, session string, call upstream.Call) (reply upstream.Reply, queued time.Duration, err error) {
	if err := i.begin(session); err != nil {
		return upstream.Reply{}, 0, err
	}
	defer i.end()
	if queued, err = i.queue.enter(ctx, session, call.Timeout); err != nil {
		return upstream.Reply{}, queued, i.notSent(err, call.Timeout)
	}
	defer i.queue.leave()
	probe, err := i.admit()
	if err != nil {
		return upstream.Reply{}, queued, err
	}
	settled := false
	defer func() {
		if !settled { // a panic on its way: the next call decides
			i.settle(probe, nil, false)
		}
	}()
	reply, err = i.client.Do(ctx, call)
	var f *upstream.Failure
	if errors.As(err, &f) {
		err = i.pool.clean(f)
	}
	settled = true
	i.settle(probe, f, err == nil)
	return reply, queued, err
}
