package pool

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	Changed   func()         // called after a live list differs from the one before; must not block; may be nil
}

// Pool holds the running instances. Its methods may be called concurrently.
// Whoever made it calls Close once.
type Pool struct {
	o       Options
	serial  atomic.Uint64
	mu      sync.Mutex
	closed  bool
	entries map[string]*entry
	watch   sync.WaitGroup
}

// entry is one key's place: made before the process exists, so that racing
// callers find it and wait for the same start.
type entry struct {
	ready    chan struct{}      // closed when instance or err is set
	giveUp   context.CancelFunc // ends a start that is under way; later it does nothing
	instance *Instance
	err      error
}

// New makes an empty pool. It starts nothing.
func New(o Options) *Pool {
	return &Pool{o: o, entries: map[string]*entry{}}
}

// ErrClosed is returned by Get after Close.
var ErrClosed = fmt.Errorf("the gateway is shutting down")

// Get returns the running instance for a, starting it when there is none.
// Callers that ask while it starts wait for that one start, each no longer
// than its own ctx; the start itself is bounded by the server's start_timeout
// and goes on when its callers leave. A start that failed is forgotten: the
// next Get tries again. Errors are *upstream.Failure, ctx's cause, or ErrClosed.
func (p *Pool) Get(ctx context.Context, a *trust.Approved) (*Instance, error) {
	key := a.Key()
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, ErrClosed
	}
	e := p.entries[key]
	if e == nil {
		starting, giveUp := context.WithCancel(context.Background())
		e = &entry{ready: make(chan struct{}), giveUp: giveUp}
		p.entries[key] = e
		p.watch.Add(1)
		go p.run(starting, key, e, a) // ends when the instance is gone, or at once when its start failed
	}
	p.mu.Unlock()
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

// Running returns the instance of a when it is up, and nil otherwise. It
// starts nothing and waits for nothing.
func (p *Pool) Running(key string) *Instance {
	p.mu.Lock()
	e := p.entries[key]
	p.mu.Unlock()
	if e == nil {
		return nil
	}
	select {
	case <-e.ready:
		return e.instance
	default:
		return nil
	}
}

// run is the life of one key: start, wait for the end, tear down, forget.
func (p *Pool) run(starting context.Context, key string, e *entry, a *trust.Approved) {
	defer p.watch.Done()
	defer e.giveUp()
	e.instance, e.err = p.start(starting, key, a)
	if e.err != nil {
		p.forget(key, e)
		close(e.ready)
		return
	}
	close(e.ready)
	p.announce()
	<-e.instance.client.Done()
	p.forget(key, e)
	e.instance.stop()
}

func (p *Pool) forget(key string, e *entry) {
	p.mu.Lock()
	if p.entries[key] == e {
		delete(p.entries, key)
	}
	p.mu.Unlock()
}

// Stop ends the instance of one key, if it runs or is being started, and waits
// for its teardown (R12, about six seconds at most). Whoever waits for a start
// that is given up gets its *upstream.Failure, `aborted`.
func (p *Pool) Stop(key string) {
	p.mu.Lock()
	e := p.entries[key]
	p.mu.Unlock()
	if e == nil {
		return
	}
	e.giveUp()
	<-e.ready // soon: a start that is given up tears its process down
	if e.instance != nil {
		e.instance.stop()
	}
}

// Close stops every instance and gives up every start, all at the same time,
// and waits until their process groups are released: at most the longest single
// teardown. It reports the groups that survived.
func (p *Pool) Close() []upstream.Teardown {
	p.mu.Lock()
	p.closed = true
	entries := make([]*entry, 0, len(p.entries))
	for _, e := range p.entries {
		entries = append(entries, e)
	}
	p.mu.Unlock()
	var mu sync.Mutex
	var survivors []upstream.Teardown
	var wg sync.WaitGroup
	for _, e := range entries {
		wg.Go(func() { // ends when the entry's start and teardown are over, both bounded
			e.giveUp()
			<-e.ready
			if e.instance == nil {
				return
			}
			if t := e.instance.stop(); !t.Complete {
				mu.Lock()
				survivors = append(survivors, t)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	p.watch.Wait()
	return survivors
}

// OwnerMark is the first part of POSTERN_INSTANCE for this process: pid and
// start time, so that a later process with the same pid is not taken for it.
func OwnerMark() string {
	return fmt.Sprintf("%d.%s", os.Getpid(), startTime(os.Getpid()))
}

// startTime is field 22 of /proc/PID/stat, "0" where there is no such file.
func startTime(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "0"
	}
	// The command name may hold blanks and parentheses; fields count from its last ')'.
	text := string(data)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 20 {
		return "0"
	}
	return fields[19]
}

// StderrLog is the file that keeps what an instance writes to standard error,
// "" when none is kept. It need not exist.
func (p *Pool) StderrLog(server, key string) string {
	if p.o.StderrDir == "" {
		return ""
	}
	return filepath.Join(p.o.StderrDir, server+"@"+key[:min(8, len(key))]+".log")
}

// mark names one instance of this owner.
func (p *Pool) mark() string {
	return fmt.Sprintf("%s.%d", p.o.Owner, p.serial.Add(1))
}
