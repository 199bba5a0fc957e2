package wire

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// unread tells how many bytes wait in a pipe.
func unread(t *testing.T, f *os.File) (n int) {
	t.Helper()
	raw, err := f.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// What nothing waits before is written when Send returns: no other goroutine has
// to be woken for it. That holds too after one had to write, and its deadline is
// long past.
func TestWriterWritesPromptly(t *testing.T) {
	r, pw := pipe(t)
	const deadline = 20 * time.Millisecond
	w := NewWriter(pw, WriterOptions{MaxMessage: 1 << 20, MaxQueue: 1 << 20, WriteTimeout: deadline})
	defer w.Close(time.Second)
	send := func(text string) {
		t.Helper()
		if err := w.Send([]byte(text), nil); err != nil {
			t.Fatal(err)
		}
		if n := unread(t, r); n != len(text)+1 {
			t.Fatalf("%d bytes are written when Send of %d returns", n, len(text)+1)
		}
		if _, err := io.ReadFull(r, make([]byte, len(text)+1)); err != nil {
			t.Fatal(err)
		}
	}
	send("a")
	send(strings.Repeat("b", 4000))
	long := writeChunk + 1 // the goroutine writes that
	if err := w.Send(make([]byte, long), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(r, make([]byte, long+1)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * deadline) // the time itself is what is tested
	for w.Send(nil, func() bool { return false }); !idle(w); {
		time.Sleep(time.Millisecond)
	}
	send("c")
}

// idle reports whether the goroutine has done its work.
func idle(w *Writer) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.queue.bytes == 0 && !w.busy
}

// A full pipe keeps nobody: what it does not take is written later, behind nothing
// that was sent after it.
func TestWriterOfAFullPipe(t *testing.T) {
	r, pw := pipe(t)
	w := NewWriter(pw, WriterOptions{MaxMessage: 1 << 20, MaxQueue: 1 << 20})
	var want []byte
	for i, n := range []int{60_000, 60_000, 10, 50_000, 3, 60_000} {
		line := bytes.Repeat([]byte{byte('a' + i)}, n)
		want = append(append(want, line...), '\n')
		if err := w.Send(line, nil); err != nil {
			t.Fatal(err)
		}
	}
	closed := make(chan error, 1)
	go func() { // ends when all is read, or with Close's bound
		closed <- w.Close(10 * time.Second)
		pw.Close()
	}()
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, want %d, %v", len(got), len(want), err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// What is sent while a sender writes comes after it, also after what the pipe did
// not take, and without anybody sending or closing.
func TestWriterKeepsOrderWhileASenderWrites(t *testing.T) {
	r, pw := pipe(t)
	w := NewWriter(pw, WriterOptions{MaxMessage: 1 << 20, MaxQueue: 1 << 20})
	first := bytes.Repeat([]byte{'a'}, 60_000)
	if err := w.Send(first, nil); err != nil { // the next one does not fit any more
		t.Fatal(err)
	}
	second, third := bytes.Repeat([]byte{'b'}, 60_000), []byte("c")
	err := w.Send(second, func() bool {
		sent := make(chan error)
		go func() { sent <- w.Send(third, nil) }() // ends at once
		if err := <-sent; err != nil {
			t.Error(err)
		}
		w.signal()                        // as if the goroutine were late
		time.Sleep(20 * time.Millisecond) // for it to do what it must not
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Concat(first, []byte("\n"), second, []byte("\n"), third, []byte("\n"))
	got := make([]byte, len(want))
	if err := r.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := io.ReadFull(r, got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes of %d, %v", n, len(want), err)
	}
	if err := w.Close(time.Second); err != nil {
		t.Error(err)
	}
}

// A pipe whose reader is gone is an error once, told by the goroutine.
func TestWriterOfAClosedPipe(t *testing.T) {
	r, pw := pipe(t)
	failed := make(chan error, 2)
	w := NewWriter(pw, WriterOptions{MaxMessage: 100, MaxQueue: 100, OnError: func(err error) { failed <- err }})
	r.Close()
	if err := w.Send([]byte("a"), nil); err != nil {
		t.Fatal(err)
	}
	first := <-failed
	if err := w.Send([]byte("b"), nil); err == nil || err != first {
		t.Errorf("%v, want %v", err, first)
	}
	_ = w.Close(time.Second)
	if len(failed) > 0 {
		t.Error("it was told twice")
	}
}

// Many senders before a reader that takes its time: every line is whole, and those
// of one sender are in their order.
func TestWriterOfManySenders(t *testing.T) {
	r, pw := pipe(t)
	w := NewWriter(pw, WriterOptions{MaxMessage: 1 << 20, MaxQueue: 256 << 20, WriteTimeout: 10 * time.Second})
	const senders, rounds = 6, 200
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() { // ends after its rounds: Send never blocks
			for n := range rounds {
				line := fmt.Sprintf("%d %d %s", s, n, strings.Repeat(string(rune('a'+s)), 1+rand.IntN(40_000)))
				if err := w.Send([]byte(line), nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	go func() { // ends when all is read, or with Close's bound
		wg.Wait()
		if err := w.Close(time.Minute); err != nil {
			t.Error(err)
		}
		pw.Close()
	}()
	var next [senders]int
	lines := NewReader(r, 1<<20)
	for {
		line, err := lines.Next()
		if err == io.EOF {
			break
		}
		var s, n int
		var text string
		if err == nil {
			_, err = fmt.Sscanf(string(line), "%d %d", &s, &n)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, text, _ = strings.Cut(string(line), " "); strings.Trim(text, "0123456789 ") != strings.Repeat(string(rune('a'+s)), len(text)-len(fmt.Sprint(n, " "))) {
			t.Fatalf("line %d of %d is mixed up", n, s)
		}
		if n != next[s] {
			t.Fatalf("line %d of %d comes in place of %d", n, s, next[s])
		}
		next[s]++
	}
	if next != [senders]int{rounds, rounds, rounds, rounds, rounds, rounds} {
		t.Error(next)
	}
}
