package wire

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"time"
)

// Errors of Writer.Send.
var (
	// ErrOverload: the other side does not read as fast as lines are sent.
	ErrOverload = errors.New("the write queue is full")
	// ErrLineTooLong: this one line is over the cap; the connection is fine.
	ErrLineTooLong = errors.New("the message is over the size limit")
	// ErrLineBreak: the bytes hold a newline and would be read as two messages.
	ErrLineBreak = errors.New("a line break inside a message")
	// ErrWriterClosed: Close has been called.
	ErrWriterClosed = errors.New("the connection is closed for writing")
)

// writeChunk is how much is written under one deadline: a slow reader is not one
// that stopped reading.
const writeChunk = 64 << 10

// WriterOptions bounds a Writer.
type WriterOptions struct {
	MaxMessage   int           // bytes of one line without newline; at least 1
	MaxQueue     int           // bytes of all lines not yet written (R6)
	WriteTimeout time.Duration // for every 64 KiB of a line, where w has SetWriteDeadline; 0 = none
	OnError      func(error)   // called once, from the writer's goroutine, when a write failed; not after Close
}

// Writer writes lines from a bounded queue, in the order they were sent (R6). A
// line that nothing waits before is written by whoever sends it, as far as that
// blocks nobody; the rest is written from one goroutine. Its methods may be called
// from any goroutine, Close from OnError and begin excepted.
type Writer struct {
	w        io.Writer
	deadline interface{ SetWriteDeadline(time.Time) error } // nil when w has none
	opt      WriterOptions
	wake     chan struct{} // one token: something was queued, or closing began
	done     chan struct{} // closed when the goroutine writes no more
	scratch  []byte        // of who writes
	prompt   *prompt       // writes without waiting; nil where w cannot

	mu      sync.Mutex
	queue   queue
	busy    bool    // a sender is writing
	rooms   []*room // who waits for room
	dropped uint64
	closing bool  // nothing more is taken
	aborted bool  // nothing more is written
	err     error // the first write error
}

// NewWriter starts the goroutine that writes to w. Close ends it; it also ends
// by itself after a failed write.
func NewWriter(w io.Writer, o WriterOptions) *Writer {
	wr := &Writer{w: w, opt: o, wake: make(chan struct{}, 1), done: make(chan struct{})}
	wr.queue.limit = o.MaxQueue
	wr.deadline, _ = w.(interface{ SetWriteDeadline(time.Time) error })
	wr.prompt = newPrompt(w)
	go wr.run() // ends after Close, or when a write fails; a write that blocks for ever ends when w is closed
	return wr
}

// Send queues a line, which must not be modified afterwards; the newline is
// added. begin, if not nil, is called just before the first byte of the line is
// written, by Send itself or from the writer's goroutine, and by returning false
// drops the line unwritten; it must not block. Send never blocks. Errors: ErrOverload,
// ErrLineTooLong, ErrLineBreak, ErrWriterClosed, or the write error that ended
// the connection. An error means that begin is not called.
func (w *Writer) Send(line []byte, begin func() bool) error {
	if len(line) > w.opt.MaxMessage {
		return ErrLineTooLong
	}
	if bytes.IndexByte(line, '\n') >= 0 {
		return ErrLineBreak
	}
	e := entry{line: line, begin: begin}
	w.mu.Lock()
	if w.seize(e) {
		w.mu.Unlock()
		w.writePromptly(e)
		return nil
	}
	defer w.mu.Unlock()
	return w.push(e)
}

// seize makes the sender the one who writes, with mu held, where e is all that
// there is to write.
func (w *Writer) seize(e entry) bool {
	if w.prompt == nil || w.queue.bytes != 0 || w.closing || w.err != nil || len(e.line) >= writeChunk {
		return false
	}
	w.busy, w.queue.bytes = true, cost(e)
	return true
}

// writePromptly writes e as far as that blocks nobody, and leaves the rest to the
// goroutine, errors included. Waking it for every line would cost more than the
// write.
func (w *Writer) writePromptly(e entry) {
	var rest []byte
	if e.begin == nil || e.begin() {
		w.scratch = append(append(w.scratch[:0], e.line...), '\n')
		rest = w.scratch[w.prompt.write(w.scratch):]
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy = false
	w.queue.written(e)
	if len(rest) > 0 {
		w.queue.unshift(entry{line: bytes.Clone(rest), cut: true})
	}
	w.freed()
	if w.queue.bytes > 0 || w.closing {
		w.signal()
	}
}

// push queues e with mu held.
func (w *Writer) push(e entry) error {
	switch {
	case w.err != nil:
		return w.err
	case w.closing:
		return ErrWriterClosed
	case !w.queue.fits(cost(e)):
		return ErrOverload
	}
	w.queue.push(e)
	if !w.busy { // else who writes does
		w.signal()
	}
	return nil
}

func (w *Writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default: // a token is there already
	}
}

// SendDroppable queues a line that may be lost, progress and log messages: it is
// refused, and counted, already when more than half of MaxQueue is taken.
func (w *Writer) SendDroppable(line []byte) bool {
	fine := len(line) <= w.opt.MaxMessage && bytes.IndexByte(line, '\n') < 0
	w.mu.Lock()
	defer w.mu.Unlock()
	if fine && w.queue.bytes <= w.queue.limit/2 && w.push(entry{line: line}) == nil {
		return true
	}
	w.dropped++
	return false
}

// Dropped counts the lines SendDroppable refused.
func (w *Writer) Dropped() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dropped
}

// run writes what is queued until there is nothing more to write.
func (w *Writer) run() {
	for {
		e, more, ok := w.take()
		switch {
		case ok:
			if err := w.write(e); err != nil {
				w.fail(err)
				return
			}
		case more:
			<-w.wake // bounded by Close
		default:
			close(w.done)
			return
		}
	}
}

// take pops the next line; without one, more says whether any can still come.
func (w *Writer) take() (e entry, more, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.aborted:
		return entry{}, false, false
	case w.busy:
		return entry{}, true, false
	}
	e, ok = w.queue.pop()
	return e, !w.closing, ok
}

func (w *Writer) write(e entry) error {
	if e.begin == nil || e.begin() {
		if err := w.writeLine(e); err != nil {
			return err
		}
	}
	w.disarm()
	w.mu.Lock()
	w.queue.written(e)
	w.freed()
	w.mu.Unlock()
	return nil
}

// writeLine writes the line in pieces; the last one carries the newline, so
// that a short line is one write.
func (w *Writer) writeLine(e entry) error {
	line := e.line
	for len(line) >= writeChunk {
		if err := w.writePiece(line[:writeChunk]); err != nil {
			return err
		}
		line = line[writeChunk:]
	}
	if e.cut {
		return w.writePiece(line)
	}
	w.scratch = append(append(w.scratch[:0], line...), '\n')
	return w.writePiece(w.scratch)
}

func (w *Writer) writePiece(p []byte) error {
	if err := w.arm(); err != nil {
		return err
	}
	_, err := w.w.Write(p)
	return err
}

// arm sets the deadline of the next write, unless Close gave up meanwhile.
func (w *Writer) arm() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.aborted {
		return ErrWriterClosed
	}
	if w.deadline != nil && w.opt.WriteTimeout > 0 {
		_ = w.deadline.SetWriteDeadline(time.Now().Add(w.opt.WriteTimeout)) // a kind of file that has no deadlines: none
	}
	return nil
}

// disarm takes the deadline away: one that is past would keep a sender from writing.
func (w *Writer) disarm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.prompt != nil && w.deadline != nil && !w.aborted && w.opt.WriteTimeout > 0 {
		_ = w.deadline.SetWriteDeadline(time.Time{}) // as in arm
	}
}

// fail ends the writer with its first error.
func (w *Writer) fail(err error) {
	w.mu.Lock()
	w.err = err
	w.queue = queue{}
	w.freed()
	silent := w.closing
	w.mu.Unlock()
	close(w.done)
	if !silent && w.opt.OnError != nil {
		w.opt.OnError(err)
	}
}

// Close takes no more lines, waits at most flush for those queued to be written,
// and ends the goroutine. It returns nil when all were written, else the write
// error or ErrOverload. It does not close w: where a write hangs and w has no
// write deadline, the goroutine lives until w is closed. Later calls wait alike.
func (w *Writer) Close(flush time.Duration) error {
	w.mu.Lock()
	w.closing = true
	w.freed()
	w.mu.Unlock()
	w.signal()
	timer := time.NewTimer(flush)
	defer timer.Stop()
	select {
	case <-w.done:
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.err
	case <-timer.C:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.aborted = true
	if w.deadline != nil {
		_ = w.deadline.SetWriteDeadline(time.Now()) // wakes a write that hangs
	}
	return ErrOverload
}
