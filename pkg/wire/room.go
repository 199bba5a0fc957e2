package wire

import (
	"context"
	"slices"
)

// room is what a sender waits for.
type room struct {
	need  int           // bytes, with the newline
	ready chan struct{} // closed when there seems to be as much, or will never be
}

// SendWait is Send of a line that waits for room as long as ctx lives, whose cause
// is the error when it ends first. Those that fit go first: a long line waits until
// there is room for all of it. How many wait, and what they hold, is for the caller
// to bound.
func (w *Writer) SendWait(ctx context.Context, line []byte) error {
	for {
		if err := w.Send(line, nil); err != ErrOverload {
			return err
		}
		r := w.wait(cost(entry{line: line}))
		select {
		case <-r.ready: // unless somebody was quicker
		case <-ctx.Done():
			w.leave(r)
			return context.Cause(ctx)
		}
	}
}

func (w *Writer) wait(need int) *room {
	r := &room{need, make(chan struct{})}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rooms = append(w.rooms, r)
	w.freed() // since it was looked
	return r
}

func (w *Writer) leave(r *room) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rooms = slices.DeleteFunc(w.rooms, func(o *room) bool { return o == r })
}

// freed tells who waits that there is room for it, or no more use in waiting, with mu
// held. It is called whenever the queue became shorter, and at the end.
func (w *Writer) freed() {
	if len(w.rooms) == 0 {
		return
	}
	w.rooms = slices.DeleteFunc(w.rooms, func(r *room) bool {
		ready := w.closing || w.err != nil || w.queue.fits(r.need)
		if ready {
			close(r.ready)
		}
		return ready
	})
}
