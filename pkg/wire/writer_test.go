package wire

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// gate is a writer that blocks in every Write until released.
type gate struct {
	mu      sync.Mutex
	buf     bytes.Buffer
	writes  int
	release chan struct{}
}

func newGate() *gate { return &gate{release: make(chan struct{})} }

func (g *gate) Write(p []byte) (int, error) {
	<-g.release
	g.mu.Lock()
	defer g.mu.Unlock()
	g.writes++
	return g.buf.Write(p)
}

func (g *gate) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.buf.String()
}

func TestWriterQueueRule(t *testing.T) { // R6
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		w := NewWriter(g, WriterOptions{MaxMessage: 100, MaxQueue: 20})
		send := func(n int, want error) {
			t.Helper()
			if err := w.Send(bytes.Repeat([]byte{'a'}, n), nil); !errors.Is(err, want) {
				t.Errorf("Send of %d bytes: %v, want %v", n, err, want)
			}
		}
		send(101, ErrLineTooLong) // refused alone
		send(100, nil)            // an empty queue takes any line up to the cap
		send(1, ErrOverload)
		synctest.Wait() // it is being written now, and still counts
		send(0, ErrOverload)
		g.release <- struct{}{}
		synctest.Wait()
		send(9, nil)
		send(9, nil) // 20 bytes with the newlines
		send(0, ErrOverload)
		send(200, ErrLineTooLong)
		if err := w.Send([]byte("a\nb"), nil); err != ErrLineBreak {
			t.Error(err)
		}
		close(g.release)
		if err := w.Close(time.Second); err != nil {
			t.Error(err)
		}
		if want := strings.Repeat("a", 100) + "\n" + strings.Repeat("aaaaaaaaa\n", 2); g.String() != want {
			t.Errorf("wrote %q", g.String())
		}
		if err := w.Send(nil, nil); err != ErrWriterClosed {
			t.Error(err)
		}
	})
}

func TestWriterDropsProgressFirst(t *testing.T) { // R6
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		w := NewWriter(g, WriterOptions{MaxMessage: 100, MaxQueue: 20})
		line := []byte("1234")
		for i, want := range []bool{true, true, true, false, false} { // 0, 5, 10 and 15 bytes are taken
			if got := w.SendDroppable(line); got != want {
				t.Errorf("%d: %v", i, got)
			}
		}
		if err := w.Send(line, nil); err != nil {
			t.Errorf("a message must still fit: %v", err)
		}
		if w.SendDroppable([]byte("a\nb")) || w.SendDroppable(make([]byte, 101)) {
			t.Error("a line that cannot be written was taken")
		}
		if w.Dropped() != 4 {
			t.Errorf("dropped %d", w.Dropped())
		}
		close(g.release)
		if err := w.Close(time.Second); err != nil {
			t.Error(err)
		}
	})
}

func TestWriterBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		w := NewWriter(g, WriterOptions{MaxMessage: 100, MaxQueue: 1000})
		var begun []string
		begin := func(name string, write bool) func() bool {
			return func() bool {
				if g.writes != len(begun) {
					t.Errorf("%s: begin came after %d writes", name, g.writes)
				}
				begun = append(begun, name)
				return write
			}
		}
		_ = w.Send([]byte("a"), begin("a", true))
		synctest.Wait()
		cancelled := false
		_ = w.Send([]byte("b"), func() bool { return !cancelled })
		cancelled = true // before its turn came: not a byte of it is written
		_ = w.Send([]byte("c"), begin("c", true))
		if strings.Join(begun, "") != "a" {
			t.Errorf("begun %q while a is being written", begun)
		}
		close(g.release)
		if err := w.Close(time.Second); err != nil {
			t.Error(err)
		}
		if g.String() != "a\nc\n" || strings.Join(begun, "") != "ac" {
			t.Errorf("wrote %q, begun %q", g.String(), begun)
		}
	})
}

func TestWriterKeepsOrderAndBytes(t *testing.T) {
	pr, pw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pr.Close()
	w := NewWriter(pw, WriterOptions{MaxMessage: 1 << 20, MaxQueue: 64 << 20, WriteTimeout: 10 * time.Second})
	sizes := []int{0, 1, 65535, 65536, 65537, 131072, 1 << 20, 7}
	for i, n := range sizes {
		if err := w.Send(bytes.Repeat([]byte{byte('a' + i)}, n), nil); err != nil {
			t.Fatal(err)
		}
	}
	closed := make(chan error, 1)
	go func() { // ends when everything below was read
		err := w.Close(10 * time.Second)
		pw.Close()
		closed <- err
	}()
	got, err := io.ReadAll(pr)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSuffix(string(got), "\n"), "\n") {
		if line != strings.Repeat(string(rune('a'+i)), sizes[i]) {
			t.Errorf("line %d has %d bytes", i, len(line))
		}
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// R6: the other side stopped reading. A deadline ends the connection once.
func TestWriterTimeout(t *testing.T) {
	pr, pw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pr.Close()
	defer pw.Close()
	failed := make(chan error, 2)
	w := NewWriter(pw, WriterOptions{MaxMessage: 1 << 20, MaxQueue: 1 << 20, WriteTimeout: 20 * time.Millisecond, OnError: func(err error) { failed <- err }})
	began := make(chan struct{})
	if err := w.Send(make([]byte, 1<<20), func() bool { close(began); return true }); err != nil {
		t.Fatal(err)
	}
	<-began
	if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
	if err := w.Send(nil, nil); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Send after the failure: %v", err)
	}
	if err := w.Close(time.Second); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Close: %v", err)
	}
	if len(failed) != 0 {
		t.Error("OnError came twice")
	}
}

// A reader that is slow but reads gets everything, however long that takes.
func TestWriterSlowReaderIsNotDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		w := NewWriter(client, WriterOptions{MaxMessage: 1 << 20, MaxQueue: 1 << 20, WriteTimeout: 2 * time.Second})
		if err := w.Send(make([]byte, 640<<10), nil); err != nil {
			t.Fatal(err)
		}
		piece := make([]byte, 64<<10)
		for range 10 {
			time.Sleep(time.Second)
			if _, err := io.ReadFull(server, piece); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := io.ReadFull(server, piece[:1]); err != nil || piece[0] != '\n' {
			t.Error(err)
		}
		if err := w.Close(time.Second); err != nil {
			t.Error(err)
		}
		client.Close()
		server.Close()
	})
}

func TestWriterCloseIsBounded(t *testing.T) {
	t.Run("with deadlines", func(t *testing.T) {
		pr, pw, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer pr.Close()
		defer pw.Close()
		w := NewWriter(pw, WriterOptions{MaxMessage: 1 << 20, MaxQueue: 1 << 20, OnError: func(error) { t.Error("OnError after Close") }})
		_ = w.Send(make([]byte, 1<<20), nil)
		if err := w.Close(10 * time.Millisecond); err != ErrOverload {
			t.Errorf("Close: %v", err)
		}
		<-w.done // the goroutine is gone although nobody read
	})
	t.Run("without", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := newGate()
			w := NewWriter(g, WriterOptions{MaxMessage: 100, MaxQueue: 1000})
			_ = w.Send([]byte("a"), nil)
			_ = w.Send([]byte("b"), func() bool { t.Error("begin after Close gave up"); return true })
			start := time.Now()
			if err := w.Close(time.Second); err != ErrOverload || time.Since(start) != time.Second {
				t.Errorf("Close: %v after %v", err, time.Since(start))
			}
			close(g.release)
			<-w.done
			if g.String() != "a\n" {
				t.Errorf("wrote %q", g.String())
			}
		})
	})
}

func TestWriterBrokenPipe(t *testing.T) {
	pr, pw := io.Pipe()
	pr.CloseWithError(errors.New("gone"))
	failed := make(chan error, 1)
	var w *Writer
	ready := make(chan struct{})
	w = NewWriter(pw, WriterOptions{MaxMessage: 100, MaxQueue: 100, OnError: func(err error) {
		<-ready
		failed <- w.Send(nil, nil)
	}})
	close(ready)
	if err := w.Send([]byte("a"), nil); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err == nil || err.Error() != "gone" {
		t.Errorf("Send from OnError: %v", err)
	}
}

// A queue that is never empty must not keep what it has written.
func TestQueueIsCompacted(t *testing.T) {
	q := queue{limit: 1 << 20}
	q.push(entry{})
	for i := range 10000 {
		q.push(entry{line: []byte{byte(i)}})
		e, ok := q.pop()
		if !ok || i > 0 && e.line[0] != byte(i-1) {
			t.Fatalf("%d: %v %v", i, e.line, ok)
		}
		q.written(e)
	}
	if cap(q.entries) > 4*compactAt || q.bytes != 2 {
		t.Errorf("%d places, %d bytes", cap(q.entries), q.bytes)
	}
}
