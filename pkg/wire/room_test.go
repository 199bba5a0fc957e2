package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// waiting begins a SendWait of n bytes; its end comes out of the channel.
func waiting(ctx context.Context, w *Writer, n int) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- w.SendWait(ctx, bytes.Repeat([]byte{'a'}, n)) }() // ends with ctx or the writer
	synctest.Wait()
	return ended
}

func (w *Writer) waits() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.rooms)
}

// R6: a line that finds no room is queued as soon as there is some, and not when
// whoever sends it happens to look again; who gives up leaves nothing behind.
func TestWriterRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		w := NewWriter(g, WriterOptions{MaxMessage: 100, MaxQueue: 20})
		for range 2 {
			if err := w.Send([]byte("123456789"), nil); err != nil {
				t.Fatal(err)
			}
		}
		small := waiting(t.Context(), w, 9)
		large := waiting(t.Context(), w, 99) // needs an empty queue
		ctx, cancel := context.WithCancelCause(t.Context())
		left := waiting(ctx, w, 5)
		why := errors.New("not wanted any more")
		cancel(why)
		if err := <-left; err != why || w.waits() != 2 {
			t.Errorf("%v, and %d wait", err, w.waits())
		}
		began := time.Now()
		g.release <- struct{}{}
		synctest.Wait()
		if err := <-small; err != nil || len(large) > 0 {
			t.Errorf("the small one: %v", err)
		}
		close(g.release)
		if err := <-large; err != nil || w.waits() != 0 {
			t.Errorf("the large one: %v, and %d wait", err, w.waits())
		}
		if !time.Now().Equal(began) {
			t.Errorf("it took %s", time.Since(began))
		}
		if err := w.SendWait(t.Context(), bytes.Repeat([]byte{'a'}, 101)); err != ErrLineTooLong {
			t.Error(err)
		}
		if err := w.Close(time.Second); err != nil {
			t.Error(err)
		}
		if want := strings.Repeat("123456789\n", 2) + strings.Repeat("a", 9) + "\n" + strings.Repeat("a", 99) + "\n"; g.String() != want {
			t.Errorf("wrote %q", g.String())
		}
	})
}

// The end of the writer ends who waits.
func TestWriterRoomAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, pipe := io.Pipe()
		w := NewWriter(pipe, WriterOptions{MaxMessage: 100, MaxQueue: 20})
		_ = w.Send(bytes.Repeat([]byte{'a'}, 100), nil)
		ended := waiting(t.Context(), w, 9)
		why := errors.New("broken")
		r.CloseWithError(why)
		if err := <-ended; err != why {
			t.Errorf("a write that failed: %v", err)
		}
		g := newGate()
		w = NewWriter(g, WriterOptions{MaxMessage: 100, MaxQueue: 20})
		_ = w.Send(bytes.Repeat([]byte{'a'}, 100), nil)
		ended = waiting(t.Context(), w, 9)
		go w.Close(time.Second)
		if err := <-ended; err != ErrWriterClosed {
			t.Errorf("closed: %v", err)
		}
		close(g.release)
	})
}
