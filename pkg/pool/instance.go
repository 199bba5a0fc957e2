package pool

import (
	"context"
	"errors"
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
	values   secrets
}

// start spawns the process, shakes hands and reads its lists, all within
// start_timeout and as long as ctx lives. Nothing of it is left when that fails.
func (p *Pool) start(ctx context.Context, key string, a *trust.Approved) (*Instance, error) {
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
		pool: p, server: srv, identity: catalog.IdentityOf(srv),
		slots: semaphore.NewWeighted(int64(srv.MaxConcurrency)), values: secretsOf(srv, launch),
	}
	ctx, cancel := context.WithTimeout(ctx, srv.StartTimeout)
	defer cancel()
	notify := make(chan struct{}, 1)
	if err := i.connect(ctx, p.options(key, i, launch, notify)); err != nil {
		err = i.ofStart(err)
		p.recordFailure(ctx, i.identity, err)
		return nil, err
	}
	i.started = time.Since(begin)
	p.watch.Add(1)
	go i.follow(notify) // ends when the client is done
	return i, nil
}

func (p *Pool) options(key string, i *Instance, launch trust.Launch, notify chan<- struct{}) upstream.Options {
	srv := i.server
	return upstream.Options{
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
	}
}

// connect starts the client and reads the first list, which is recorded.
func (i *Instance) connect(ctx context.Context, o upstream.Options) error {
	client, err := upstream.Start(ctx, o)
	if err != nil {
		return err
	}
	i.client = client
	c, err := i.list(ctx)
	if err != nil {
		i.pool.stop(client)
		return err
	}
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
	f = i.values.hideIn(f)
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
		// A cache that cannot be written costs a repeated discovery, nothing else (C6).
		_ = p.o.Catalogs.SetFailed(id, err.Error())
	}
}

// Catalog is the list the server gave at its start or at its last
// list_changed. It is never nil.
func (i *Instance) Catalog() *catalog.Catalog { return i.live.Load() }

// Started is how long spawn, handshake and first list took.
func (i *Instance) Started() time.Duration { return i.started }

// Info is what the server said of itself in its handshake.
func (i *Instance) Info() upstream.Info { return i.client.Info() }

// ended reports whether the connection is over. Err tells it before Done does,
// and before any call that the end took with it returns.
func (i *Instance) ended() bool { return i.client.Err() != nil }

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
	var f *upstream.Failure
	if errors.As(err, &f) {
		err = i.values.hideIn(f)
	}
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
			Detail: "no slot became free within " + limit.String()}
		if ctx.Err() != nil {
			f.Word, f.Detail = upstream.Aborted, context.Cause(ctx).Error()
		}
		return time.Since(begin), f
	}
	return time.Since(begin), nil
}
