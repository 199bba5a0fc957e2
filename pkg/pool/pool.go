package pool

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"postern/pkg/catalog"
	"postern/pkg/config"
	"postern/pkg/secret"
	"postern/pkg/trust"
	"postern/pkg/upstream"
)

// Options says what every instance of a pool shares.
type Options struct {
	Owner     string         // first part of each child's POSTERN_INSTANCE; see OwnerMark
	StderrDir string         // folder for the servers' stderr logs; "" keeps none
	Catalogs  *catalog.Store // where live lists are recorded; nil records nothing
	Version   string         // what is sent upstream as clientInfo.version
	// Redactor knows the values that servers were given, which no failure and no
	// stderr log holds; nil knows none.
	Redactor *secret.Redactor
	Changed  func() // called after a server came up, and after its live list changed; must not block; may be nil
	// First is called once, before the first server is started, which waits for
	// it, as others do meanwhile. Its ctx ends with the pool. May be nil.
	First func(context.Context)
	// Look is called every config.ReconcileEvery while there is anything in the
	// pool, and before the pool starts a server that nobody waits for: the
	// moment to Retire or Stop what is not to run any more. May be nil.
	Look func()
	// Panicked is told of a panic that was contained (R26): where, what it said
	// and the stack. It must not panic. nil lets panics end the process.
	Panicked func(where string, value any, stack []byte)
}

// Pool holds the running instances. Its methods may be called concurrently.
// Whoever made it calls Close once.
type Pool struct {
	o         Options
	name      string // differs from that of every other pool
	serial    atomic.Uint64
	connect   func(context.Context, upstream.Options) (connection, error)
	poke      chan struct{} // one token: the steward has something to look at
	done      chan struct{} // closed by Close
	first     sync.Once
	begun     chan struct{} // closed when that is done
	tidied    time.Time     // when the folder of stderr logs was; for the steward alone
	watch     sync.WaitGroup
	mu        sync.Mutex
	closed    bool
	stewarded bool              // the steward runs
	alarm     time.Time         // when it looks next by itself
	berths    map[string]*berth // by key
	peers     map[string]Peer   // by session
	killed    map[string]bool   // by server id
	joined    bool              // some session ever was
	survivors []upstream.Teardown
}

// New makes an empty pool. It starts nothing.
func New(o Options) *Pool {
	return &Pool{
		o: o, name: randomName(), connect: dial, berths: map[string]*berth{}, peers: map[string]Peer{}, killed: map[string]bool{},
		poke: make(chan struct{}, 1), done: make(chan struct{}), begun: make(chan struct{}),
	}
}

// Get returns the running instance for a, starting it when there is none.
// Callers that ask while it starts wait for that one start, each no longer
// than its own ctx; the start itself is bounded by the server's start_timeout
// and goes on when its callers leave. A start that failed is forgotten: the
// next Get tries again, until the breaker opens. One that follows a process
// that ended waits until nothing of that is left (R12), so that there are never
// two of one key. Settings of a that lie outside the key hold from now on.
// Errors are *upstream.Failure, *OpenError, *HeldError, *KilledError, those of
// trust.Approved.Launch, ctx's cause, ErrLeft or ErrClosed.
func (p *Pool) Get(ctx context.Context, a *trust.Approved) (*Instance, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // nobody is there who would want it
	}
	e, err := p.enter(a)
	if err != nil {
		return nil, err
	}
	if e.started() {
		return e.instance, e.err
	}
	select {
	case <-e.ready:
		return e.instance, e.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// enter finds the process of a's key or makes one and has it started.
func (p *Pool) enter(a *trust.Approved) (*entry, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	if !p.here(a.Session()) {
		return nil, ErrLeft
	}
	b := p.berth(a)
	if err := p.brake(b); err != nil {
		return nil, err
	}
	b.used = time.Now()
	if b.entry != nil && !b.entry.over() {
		return b.entry, nil
	}
	p.bury(b, b.entry)
	if err := b.heldDown(b.used); err != nil {
		return nil, err
	}
	if b.breaker.left(b.used) > 0 {
		return nil, b.circuitOpen(b.used)
	}
	return p.launch(b, false), nil
}

// berth is the place of a's key, with a as its newest declaration. The caller
// holds mu, here and below where a berth is given.
func (p *Pool) berth(a *trust.Approved) *berth {
	b := p.berths[a.Key()]
	if b == nil {
		b = newBerth(a.Key())
		p.berths[b.key] = b
		p.tend()
	}
	if b.approved != a || b.retired {
		b.adopt(a)
	}
	return b
}

// launch begins one more process of b.
func (p *Pool) launch(b *berth, own bool) *entry {
	life, end := context.WithCancel(context.Background())
	e := &entry{ready: make(chan struct{}), gone: make(chan struct{}), end: end, own: own}
	before := b.entry
	b.entry = e
	if b.tries > 0 {
		b.restarts++
	}
	p.watch.Add(1)
	go p.run(life, b, e, before, b.approved) // ends when the process is gone, or at once when its start failed
	return e
}

// Running returns the instance of a key when it is up, and nil otherwise. It
// starts nothing and waits for nothing.
func (p *Pool) Running(key string) *Instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.berths[key]; b != nil {
		return b.up()
	}
	return nil
}

// Approved is the newest declaration of every key that is not retired.
func (p *Pool) Approved() []*trust.Approved {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]*trust.Approved, 0, len(p.berths))
	for _, b := range p.berths {
		if !b.retired {
			all = append(all, b.approved)
		}
	}
	return all
}

// Want says that a session that is open wants a server up without a call
// (`start: eager`): it is started now, and again whenever it dies, until the
// session leaves.
func (p *Pool) Want(session string, a *trust.Approved) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed && p.here(a.Session()) {
		p.berth(a).eager[session] = true
		p.nudge()
	}
}

// Update takes a newer declaration of a server whose key stayed the same: its
// concurrency, queue, idle_stop, breaker, delay and start hold at once (R20).
func (p *Pool) Update(a *trust.Approved) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.berths[a.Key()] != nil {
		p.berth(a)
		p.nudge()
	}
}

// Retire says that a key is not declared any more. Calls under way finish
// within their own deadlines (R25), then it is stopped; it is not restarted.
// Whoever asks for the key again takes that back.
func (p *Pool) Retire(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.berths[key]; b != nil {
		b.retired = true
		b.letGo()
		p.nudge()
	}
}

// Stop ends the instance of one key at once, if it runs or is being started,
// and waits for its teardown (R12), for config.ServerEnd at most: the error is a
// *StuckError. Nothing restarts it but the next Get or Want. Whoever waits for a
// start that is given up gets its *upstream.Failure, `aborted`.
func (p *Pool) Stop(key string) error {
	var id string
	var going []*entry
	p.mu.Lock()
	if b := p.berths[key]; b != nil {
		if id = b.server().ID; b.entry != nil {
			going = append(going, b.entry)
		}
		b.finish()
	}
	p.mu.Unlock()
	return gone(id, going)
}

// Close stops every instance and gives up every start, all at the same time,
// and waits until their process groups are released: at most the longest single
// teardown. It reports the groups that survived theirs, earlier ones included. What
// hangs elsewhere is waited for no longer than config.ServerEnd: the error is a
// *StuckError.
func (p *Pool) Close() (survivors []upstream.Teardown, err error) {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.done)
	}
	for _, b := range p.berths {
		b.finish()
	}
	p.mu.Unlock()
	over := make(chan struct{})
	go func() { // ends with all there is; what hangs ends with the process
		p.watch.Wait()
		close(over)
	}()
	limit := time.NewTimer(config.ServerEnd)
	defer limit.Stop()
	select {
	case <-over:
	case <-limit.C:
		err = &StuckError{Servers: p.present()}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.survivors), err
}

// present is the ids of all servers of which something is there.
func (p *Pool) present() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	ids := map[string]bool{}
	for _, b := range p.berths {
		if b.entry != nil {
			ids[b.server().ID] = true
		}
	}
	return slices.Sorted(maps.Keys(ids))
}

// attend counts one more goroutine that Close waits for; false once it is called.
func (p *Pool) attend() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.watch.Add(1)
	}
	return !p.closed
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

// NewestStderr is, of the files in dir in which pools of any process keep what
// instances of a server write to standard error, the one that was written last; ""
// when there is none, or nothing in it.
func NewestStderr(dir, server string) (newest string) {
	found, _ := filepath.Glob(filepath.Join(dir, server+"@*.log")) // ids have no pattern in them
	var last time.Time
	for _, path := range found {
		if info, err := os.Stat(path); err == nil && info.Size() > 0 && info.ModTime().After(last) {
			newest, last = path, info.ModTime()
		}
	}
	return newest
}
