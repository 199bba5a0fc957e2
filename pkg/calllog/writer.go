package calllog

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"postern/pkg/config"
)

// Options of Open. Days and MaxFile come from the configuration.
type Options struct {
	Days    int              // days kept besides today; 0 keeps all
	MaxFile int64            // bytes after which a day goes on in a next file; 0 = no limit
	Now     func() time.Time // nil is time.Now
}

// Writer appends rows to the log from a goroutine of its own. Its methods may
// be called concurrently, and a nil *Writer takes every row and does nothing, so
// that a gateway without a writable home works on (C6).
type Writer struct {
	now   func() time.Time
	wake  chan struct{} // holds one token when there is something to do
	ended chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex
	queue   []entry
	busy    int // rows the goroutine has taken and not yet dealt with
	closed  bool
	dropped uint64 // all that were lost

	// For the goroutine alone.
	out     appender
	id      string
	written uint64
	told    uint64 // of dropped, how many a written row has told
	err     error  // of closing the file
}

// keepRows is how many rows' memory an idle queue keeps.
const keepRows = 256

type entry struct {
	row  Row
	done chan<- bool // nil = nobody waits; has room for one value
}

// Open begins the log in dir, making it and today's file when absent. An error
// means that nothing can be written there; a caller goes on with a nil *Writer
// then (C6). Otherwise it calls Close.
func Open(dir string, o Options) (*Writer, error) {
	now := o.Now
	if now == nil {
		now = time.Now
	}
	w := &Writer{
		now: now, wake: make(chan struct{}, 1), ended: make(chan struct{}),
		out: appender{dir: dir, days: o.Days, maxFile: o.MaxFile}, id: NewID(now()),
	}
	if _, err := w.out.open(dayFile{day: dayOf(now())}); err != nil {
		return nil, err
	}
	go w.run() // ends when Close was called and the queue is empty
	return w, nil
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
	return w.dropped
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
		w.dropped++
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
				w.err = w.out.close()
				return
			}
			<-w.wake
			continue
		}
		for i := range batch {
			w.write(&batch[i])
		}
		clear(batch) // drop what the rows point to
		if cap(batch) > keepRows {
			batch = nil // a burst is over; its memory is not kept
		}
	}
}

// write gives one row its number and writes it.
func (w *Writer) write(e *entry) {
	w.mu.Lock()
	dropped := w.dropped
	w.mu.Unlock()
	r, now := &e.row, w.now()
	r.V, r.Writer, r.Dropped = Version, w.id, dropped-w.told
	r.Seq = w.written + dropped + 1 // lost rows have numbers too
	if r.TS.IsZero() {
		r.TS = now
	}
	if r.ID == "" {
		r.ID = NewID(now)
	}
	line, err := r.line()
	if err == nil && len(line) > config.LogRowBytes {
		err = errors.New("row too long")
	}
	if err == nil {
		err = w.out.write(line, now)
	}
	w.mu.Lock()
	w.busy--
	if err != nil {
		w.dropped++
	}
	w.mu.Unlock()
	if err == nil {
		w.written++
		w.told = dropped
	}
	if e.done != nil {
		e.done <- err == nil
	}
}
