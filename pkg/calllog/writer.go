package calllog

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"postern/pkg/config"
	"postern/pkg/state"
)

// Options of Open. Days and MaxFile come from the configuration, which Limit follows.
type Options struct {
	Days    int                   // days kept besides today; 0 keeps all
	MaxFile int64                 // bytes after which a day goes on in a next file; 0 = no limit
	Now     func() time.Time      // nil is time.Now
	Network func(dir string) bool // whether dir is on a network file system; nil asks the system
	// Finish is called with each row just before it is written, on the writer's
	// own goroutine: for what must not cost a call time, such as taking secrets
	// out of its arguments. It must not panic. nil leaves rows as they are.
	Finish func(*Row)
}

// Writer appends rows to the log from a goroutine of its own, as many at a time
// as are waiting and one write takes. Its methods may
// be called concurrently, and a nil *Writer takes every row and does nothing, so
// that a gateway without a writable home works on (C6).
type Writer struct {
	now    func() time.Time
	finish func(*Row)    // may be nil
	wake   chan struct{} // holds one token when there is something to do
	ended  chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex
	queue   []entry
	busy    int // rows the goroutine has taken and not yet dealt with
	closed  bool
	days    int // see Options
	maxFile int64
	refused uint64 // rows that found no place in the queue
	failed  uint64 // rows that could not be written

	// For the goroutine alone.
	out   appender
	id    string
	taken uint64 // rows that left the queue
	told  uint64 // of the lost ones, how many a written row has told
	lines []byte // of one write
	ends  []int  // of the rows in it
	err   error  // of closing the file

	tornTold uint64 // what told is once mend succeeds
}

// keepRows is how many rows' memory an idle queue keeps.
const keepRows = 256

type entry struct {
	row  Row
	done chan<- bool // nil = nobody waits; has room for one value

	finished bool
}

// Open begins the log in dir, making it and today's file when absent. An error
// means that nothing can be written there; a caller goes on with a nil *Writer
// then (C6). Otherwise it calls Close.
func Open(dir string, o Options) (*Writer, error) {
	now := o.Now
	if now == nil {
		now = time.Now
	}
	if err := state.EnsureDir(dir); err != nil {
		return nil, err
	}
	w := &Writer{
		now: now, finish: o.Finish, wake: make(chan struct{}, 1), ended: make(chan struct{}),
		out: appender{dir: dir, days: o.Days, maxFile: o.MaxFile}, id: NewID(now()), days: o.Days, maxFile: o.MaxFile,
	}
	if o.Network == nil {
		o.Network = onNetwork
	}
	if o.Network(dir) {
		// There appending is not one step: two writers would overwrite each other.
		host, _ := os.Hostname() // without one the process id must do
		w.out.owner = ownerOf(host, os.Getpid())
	}
	if _, _, err := w.out.seek(now(), 0); err != nil {
		return nil, err
	}
	go w.run() // ends when Close was called and the queue is empty
	return w, nil
}

// Limit sets Days and MaxFile of Options from the next row on (R90). Days hold when
// the next day's file is begun, or at once where nobody knew them when this one was.
func (w *Writer) Limit(days int, maxFile int64) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.days, w.maxFile = days, maxFile
}

// Append queues r and never waits. When the queue is full, or after Close, the
// row counts as dropped.
func (w *Writer) Append(r Row) {
	if w != nil {
		w.push(entry{row: r}, config.LogQueue)
	}
}

// AppendWait queues r and waits until it is written, for at most max; it reports
// whether it was. A refusal is answered only after its row (C81). Rows that
// somebody waits for have room in a queue that is full for others.
func (w *Writer) AppendWait(r Row, max time.Duration) bool {
	if w == nil {
		return true
	}
	done := make(chan bool, 1)
	if !w.push(entry{row: r, done: done}, 2*config.LogQueue) {
		return false
	}
	late := time.NewTimer(max)
	defer late.Stop()
	select {
	case ok := <-done:
		return ok
	case <-late.C:
		return false
	}
}

// Dropped is how many rows were lost since Open.
func (w *Writer) Dropped() uint64 {
	if w == nil {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refused + w.failed
}

// Close takes no more rows and waits, for at most max, until the queued ones are
// written and the file is closed. It may be called again.
func (w *Writer) Close(max time.Duration) error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.signal()
	late := time.NewTimer(max)
	defer late.Stop()
	select {
	case <-w.ended:
		return w.err
	case <-late.C:
		w.mu.Lock()
		defer w.mu.Unlock()
		return fmt.Errorf("call log: %d rows were not written within %s", len(w.queue)+w.busy, max)
	}
}

func (w *Writer) push(e entry, limit int) bool {
	w.mu.Lock()
	ok := !w.closed && len(w.queue)+w.busy < limit
	if ok {
		w.queue = append(w.queue, e)
	} else {
		w.refused++
	}
	w.mu.Unlock()
	if ok {
		w.signal()
	}
	return ok
}

func (w *Writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default: // one token is enough: the goroutine takes all there is
	}
}

func (w *Writer) run() {
	defer close(w.ended)
	var batch []entry
	for {
		w.mu.Lock()
		batch, w.queue = w.queue, batch[:0]
		w.busy = len(batch)
		closed := w.closed
		w.mu.Unlock()
		if len(batch) == 0 {
			if closed {
				w.mend()
				w.err = w.out.close()
				return
			}
			<-w.wake
			continue
		}
		for done := 0; done < len(batch); {
			done += w.write(batch[done:])
		}
		clear(batch) // drop what the rows point to
		if cap(batch) > keepRows {
			batch = nil // a burst is over; its memory is not kept
		}
	}
}

// write numbers as many rows as one write takes, at least one, writes them and
// returns how many these were.
func (w *Writer) write(batch []entry) int {
	w.mend()
	w.mu.Lock()
	refused, lost := w.refused, w.refused+w.failed
	w.out.days, w.out.maxFile = w.days, w.maxFile
	w.mu.Unlock()
	now := w.now()
	w.lines, w.ends = append(w.lines[:0], '\n'), w.ends[:0]
	for i := range batch {
		r := &batch[i].row
		r.V, r.Writer, r.Seq, r.Dropped = Version, w.id, w.taken+uint64(i)+refused+1, 0
		if i == 0 {
			r.Dropped = lost - w.told
		}
		if r.TS.IsZero() {
			r.TS = now
		}
		if r.ID == "" {
			r.ID = NewID(now)
		}
		if w.finish != nil && !batch[i].finished {
			w.finish(r)
			batch[i].finished = true // it may have to wait for the next write
		}
		longer := r.appendLine(w.lines)
		if i > 0 && len(longer) > config.LogRowBytes {
			break
		}
		w.lines, w.ends = longer, append(w.ends, len(longer)-1)
	}
	n := len(w.ends)
	w.taken += uint64(n)
	written := 0
	if w.out.rest == nil { // else the disk is full: a row waits for its other half
		// Whatever the error is, the rows behind what was written are lost.
		if written, _ = w.out.write(w.lines, now); w.out.rest != nil {
			w.tornTold = lost
		}
	}
	whole, _ := slices.BinarySearch(w.ends, written+1)
	if whole > 0 {
		w.told = lost
	}
	w.mu.Lock()
	w.busy -= n
	w.failed += uint64(n - whole)
	w.mu.Unlock()
	for i := range batch[:n] {
		if done := batch[i].done; done != nil {
			done <- i < whole
		}
	}
	return n
}

// mend writes the other half of a row that an earlier write broke off in, once
// there is room again. Until then nothing else is written.
func (w *Writer) mend() {
	if w.out.rest == nil || !w.out.resume() {
		return
	}
	w.told = w.tornTold
	w.mu.Lock()
	w.failed-- // so long it counted as lost
	w.mu.Unlock()
}
