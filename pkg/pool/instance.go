package pool

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"postern/pkg/catalog"
	"postern/pkg/config"
	"postern/pkg/trust"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// Instance is one running server process. Its methods may be called
// concurrently, also after the process is gone: then calls fail as `closed`.
type Instance struct {
	pool     *Pool
	server   *config.Server
	client   *upstream.Client
	identity catalog.Identity
	started  time.Duration
	slots    *semaphore.Weighted
	waiting  atomic.Int64
	live     atomic.Pointer[catalog.Catalog]
	once     sync.Once
	teardown upstream.Teardown
}

// start spawns the process, shakes hands and reads its lists, all within
// start_timeout and as long as ctx lives. Nothing of it is left when that fails.
func (p *Pool) start(ctx context.Context, key string, a *trust.Approved) (*Instance, error) {
	begin := time.Now()
	srv := a.Server()
	i := &Instance{
		pool: p, server: srv, identity: catalog.IdentityOf(srv),
		slots: semaphore.NewWeighted(int64(srv.MaxConcurrency)),
	}
	ctx, cancel := context.WithTimeout(ctx, srv.StartTimeout)
	defer cancel()
	launch, err := a.Launch()
	if err != nil {
		return nil, err
	}
	if launch.File != nil {
		defer launch.File.Close() // the child has its own once it is started
	}
	notify := make(chan struct{}, 1)
	client, err := upstream.Start(ctx, upstream.Options{
		Server: srv.ID, Launch: launch, StderrLog: p.StderrLog(srv.ID, key),
		Protocol: srv.Protocol, Era: p.rememberedEra(i.identity), StartTimeout: srv.StartTimeout,
		MaxMessage: srv.MaxMessageBytes, MaxQueue: srv.MaxQueueBytes,
		Mark: p.mark(), Version: p.o.Version,
		Notify: func(m wire.Message) {
			if m.Method == "notifications/tools/list_changed" {
				select {
				case notify <- struct{}{}:
				default: // one is waiting already: it will see this change too
				}
			}
		},
	})
	if err != nil {
		p.recordFailure(ctx, i.identity, err)
		return nil, ofStart(ctx, err, srv.StartTimeout)
	}
	i.client = client
	c, err := i.list(ctx)
	if err != nil {
		client.Close()
		p.recordFailure(ctx, i.identity, err)
		return nil, ofStart(ctx, err, srv.StartTimeout)
	}
	i.live.Store(c)
	i.started = time.Since(begin)
	p.watch.Add(1)
	go i.follow(notify) // ends when the client is done
	return i, nil
}

// ofStart words a failure for those who wait for the start: nothing of a call
// of theirs was sent, and a list that ran into the start's own deadline is a
// timeout.
func ofStart(ctx context.Context, err error, limit time.Duration) error {
	var f *upstream.Failure
	if !errors.As(err, &f) {
		return err
	}
	g := *f
	g.Sent = false
	if g.Word == upstream.Aborted && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		g.Word, g.Phase, g.Limit = upstream.Timeout, "tools/list", limit
	}
	return &g
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
		// A cache that cannot be written costs a repeated discovery, nothing else (C6).
		_ = p.o.Catalogs.SetFailed(id, err.Error())
	}
}

func (p *Pool) announce() {
	if p.o.Changed != nil {
		p.o.Changed()
	}
}

// Catalog is the list the server gave at its start or at its last
// list_changed. It is never nil.
func (i *Instance) Catalog() *catalog.Catalog { return i.live.Load() }

// Started is how long spawn, handshake and first list took.
func (i *Instance) Started() time.Duration { return i.started }

// Info is what the server said of itself in its handshake.
func (i *Instance) Info() upstream.Info { return i.client.Info() }

// Do sends one call. It waits for one of the server's max_concurrency slots,
// first come first served, for at most call.Timeout (R44); when `queue` others
// wait already it fails at once with `overload`. queued is the time waited.
// Errors are *upstream.Failure.
func (i *Instance) Do(ctx context.Context, call upstream.Call) (reply upstream.Reply, queued time.Duration, err error) {
	if !i.slots.TryAcquire(1) {
		queued, err = i.wait(ctx, call.Timeout)
		if err != nil {
			return upstream.Reply{}, queued, err
		}
	}
	defer i.slots.Release(1)
	reply, err = i.client.Do(ctx, call)
	return reply, queued, err
}

func (i *Instance) wait(ctx context.Context, limit time.Duration) (time.Duration, error) {
	if i.waiting.Add(1) > int64(i.server.Queue) {
		i.waiting.Add(-1)
		return 0, &upstream.Failure{Word: upstream.Overload, Server: i.server.ID, Phase: "queue",
			Detail: "too many calls wait for this server"}
	}
	defer i.waiting.Add(-1)
	begin := time.Now()
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := i.slots.Acquire(bounded, 1); err != nil {
		f := &upstream.Failure{Word: upstream.Timeout, Server: i.server.ID, Phase: "queue", Limit: limit,
			Detail: "no slot became free"}
		if ctx.Err() != nil {
			f.Word, f.Detail = upstream.Aborted, context.Cause(ctx).Error()
		}
		return time.Since(begin), f
	}
	return time.Since(begin), nil
}

// stop tears the process group down, once, and waits for it.
func (i *Instance) stop() upstream.Teardown {
	i.once.Do(func() { i.teardown = i.client.Close() })
	return i.teardown
}
