package pool

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"

	"postern/pkg/catalog"
	"postern/pkg/trust"
	"postern/pkg/upstream"
)

// Options says what every instance of a pool shares.
type Options struct {
	Owner     string         // first part of each child's POSTERN_INSTANCE; see OwnerMark
	StderrDir string         // folder for the servers' stderr logs; "" keeps none
	Catalogs  *catalog.Store // where live lists are recorded; nil records nothing
	Version   string         // what is sent upstream as clientInfo.version
	Changed   func()         // called after a server came up, and after its live list changed; must not block; may be nil
}

// Pool holds the running instances. Its methods may be called concurrently.
// Whoever made it calls Close once.
type Pool struct {
	o         Options
	name      string // differs from that of every other pool
	serial    atomic.Uint64
	mu        sync.Mutex
	closed    bool
	entries   map[string]*entry
	survivors []upstream.Teardown
	watch     sync.WaitGroup
}

// entry is one process of one key: made before the process exists, so that
// racing callers find it and wait for the same start.
type entry struct {
	ready    chan struct{} // closed when instance or err is set
	gone     chan struct{} // closed when nothing of it is left
	end      context.CancelFunc
	ending   bool // end was called; guarded by Pool.mu
	instance *Instance
	err      error
}

// over reports whether e is no use any more: it failed, its process has ended,
// or it was told to. The caller holds Pool.mu.
func (e *entry) over() bool {
	if e.ending {
		return true
	}
	select {
	case <-e.ready:
		return e.instance == nil || e.instance.ended()
	default:
		return false
	}
}

// New makes an empty pool. It starts nothing.
func New(o Options) *Pool {
	return &Pool{o: o, name: randomName(), entries: map[string]*entry{}}
}

// ErrClosed is returned by Get after Close.
var ErrClosed = errors.New("the gateway is shutting down")

// Get returns the running instance for a, starting it when there is none.
// Callers that ask while it starts wait for that one start, each no longer
// than its own ctx; the start itself is bounded by the server's start_timeout
// and goes on when its callers leave. A start that failed is forgotten: the
// next Get tries again. One that follows a process that ended waits until
// nothing of that is left (R12), so that there are never two of one key.
// Errors are *upstream.Failure, those of trust.Approved.Launch, ctx's cause,
// or ErrClosed.
func (p *Pool) Get(ctx context.Context, a *trust.Approved) (*Instance, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // nobody is there who would want it
	}
	e, err := p.entry(a)
	if err != nil {
		return nil, err
	}
	select {
	case <-e.ready:
		return e.instance, e.err
	default:
	}
	select {
	case <-e.ready:
		return e.instance, e.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// entry finds the entry of a's key or makes one and has it started.
func (p *Pool) entry(a *trust.Approved) (*entry, error) {
	key := a.Key()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	before := p.entries[key]
	if before != nil && !before.over() {
		return before, nil
	}
	life, end := context.WithCancel(context.Background())
	e := &entry{ready: make(chan struct{}), gone: make(chan struct{}), end: end}
	p.entries[key] = e
	p.watch.Add(1)
	go p.run(life, key, e, before, a) // ends when the process is gone, or at once when its start failed
	return e, nil
}

// Running returns the instance of a key when it is up, and nil otherwise. It
// starts nothing and waits for nothing.
func (p *Pool) Running(key string) *Instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entries[key]
	if e == nil || e.over() {
		return nil
	}
	select {
	case <-e.ready:
		return e.instance
	default:
		return nil
	}
}

// run is the life of one entry: wait for the one before, start, wait for the
// end, tear down, forget.
func (p *Pool) run(life context.Context, key string, e, before *entry, a *trust.Approved) {
	defer p.watch.Done()
	defer close(e.gone)
	defer e.end()
	if before != nil {
		<-before.gone // its teardown has begun and is bounded
	}
	e.instance, e.err = p.start(life, key, a)
	if e.err != nil {
		p.forget(key, e)
		close(e.ready)
		return
	}
	close(e.ready)
	p.announce()
	select {
	case <-e.instance.client.Done():
	case <-life.Done():
	}
	p.stop(e.instance.client)
	p.forget(key, e)
}

func (p *Pool) forget(key string, e *entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.entries[key] == e {
		delete(p.entries, key)
	}
}

// stop tears a process group down, waits for it, and notes what survived.
func (p *Pool) stop(c *upstream.Client) {
	t := c.Close()
	if t.Complete {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.survivors = append(p.survivors, t)
}

// Stop ends the instance of one key, if it runs or is being started, and waits
// for its teardown (R12, about six seconds at most). Whoever waits for a start
// that is given up gets its *upstream.Failure, `aborted`.
func (p *Pool) Stop(key string) {
	p.mu.Lock()
	e := p.entries[key]
	if e != nil {
		e.ending = true
		e.end()
	}
	p.mu.Unlock()
	if e != nil {
		<-e.gone
	}
}

// Close stops every instance and gives up every start, all at the same time,
// and waits until their process groups are released: at most the longest single
// teardown. It reports the groups that survived theirs, earlier ones included.
func (p *Pool) Close() []upstream.Teardown {
	p.mu.Lock()
	p.closed = true
	for _, e := range p.entries {
		e.ending = true
		e.end()
	}
	p.mu.Unlock()
	p.watch.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.survivors
}

func (p *Pool) announce() {
	if p.o.Changed != nil {
		p.o.Changed()
	}
}

// StderrLog is the file that keeps what an instance writes to standard error,
// "" when none is kept. It need not exist.
func (p *Pool) StderrLog(server, key string) string {
	if p.o.StderrDir == "" {
		return ""
	}
	return filepath.Join(p.o.StderrDir, server+"@"+key[:min(8, len(key))]+".log")
}
