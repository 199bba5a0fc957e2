package pool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"postern/pkg/mcptest"
	"postern/pkg/upstream"
)

// one is an instance with one slot and room for n waiting calls.
func (w *world) one(queue int) *Instance {
	srv := w.server()
	srv.MaxConcurrency, srv.Queue = 1, queue
	return w.get(w.approve(srv))
}

// inQueue is how many calls wait for a slot.
func inQueue(i *Instance) int {
	i.queue.mu.Lock()
	defer i.queue.mu.Unlock()
	return i.queue.waiting
}

// hold takes the one slot until release is called.
func (w *world) hold(i *Instance) (release func()) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan struct{})
	before := len(mcptest.Events(w.t, w.events, "call"))
	go func() { // ends with cancel
		defer close(ended)
		_, _, _ = i.Do(ctx, "s", toolCall("never", "")) // cancelled
	}()
	mcptest.WaitEvents(w.t, w.events, "call", before+1)
	return func() { cancel(); <-ended }
}

// R24: no more than max_concurrency calls are with the server at a time.
func TestConcurrencyHolds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	srv := w.server()
	srv.MaxConcurrency, srv.Queue = 3, 100
	i := w.get(w.approve(srv))
	const n = 12
	done := make(chan *upstream.Failure, n)
	cancels := make([]context.CancelFunc, n)
	for k := range n {
		var ctx context.Context
		ctx, cancels[k] = context.WithCancel(t.Context())
		go func() { // ends with its cancel
			_, _, err := i.Do(ctx, "s", toolCall("never", fmt.Sprintf(`{"k":%d}`, k)))
			done <- failure(t, err, upstream.Aborted)
		}()
	}
	until(t, "nine calls wait", func() bool { return inQueue(i) == n-3 })
	if calls := mcptest.WaitEvents(t, w.events, "call", 3); len(calls) > 3 {
		t.Fatalf("%d calls are with the server", len(calls))
	}
	for k := range n {
		cancels[k]()
	}
	sent := 0
	for range n {
		if f := await(t, done); f.Sent {
			sent++
		}
	}
	if calls := len(mcptest.Events(t, w.events, "call")); calls < 3 || sent < calls {
		t.Errorf("%d calls reached the server, %d count as sent", calls, sent)
	}
	if i.queue.busy != 0 || inQueue(i) != 0 {
		t.Error("a slot was not given back")
	}
}

// R24: calls that wait are served in the order in which they came, and are told
// how long they waited.
func TestQueueIsServedInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.one(64)
	release := w.hold(i)
	const n = 20
	queued := make(chan time.Duration, n)
	for k := range n {
		go func() { // ends with the call
			_, waited, err := i.Do(t.Context(), "s", toolCall("echo", fmt.Sprintf(`{"k":%d}`, k)))
			if err != nil {
				t.Error(err)
			}
			queued <- waited
		}()
		until(t, "the call waits", func() bool { return inQueue(i) == k+1 })
	}
	release()
	for range n {
		if await(t, queued) <= 0 {
			t.Error("a call that waited was told that it did not")
		}
	}
	for k, e := range mcptest.Events(t, w.events, "call")[1:] {
		if want := fmt.Sprintf(`echo {"k":%d}`, k); e.Data != want {
			t.Errorf("call %d is %s, want %s", k, e.Data, want)
		}
	}
}

// R24: past the queue a call fails at once, and is not sent.
func TestFullQueue(t *testing.T) {
	t.Parallel()
	for _, room := range []int{0, 2} {
		t.Run(fmt.Sprint(room), func(t *testing.T) {
			w := newWorld(t)
			i := w.one(room)
			release := w.hold(i)
			waiting := make(chan *upstream.Failure, room)
			for range room {
				go func() { waiting <- w.try(i, toolCall("echo", "")) }() // ends with the call
			}
			until(t, "the queue is full", func() bool { return inQueue(i) == room })
			f := w.try(i, toolCall("echo", `{"late":1}`))
			if f == nil || f.Word != upstream.Overload || f.Phase != "queue" || f.Sent {
				t.Errorf("got %+v", f)
			}
			release()
			for range room {
				if f := await(t, waiting); f != nil {
					t.Errorf("a call that had a place in the queue: %v", f)
				}
			}
			for _, e := range mcptest.Events(t, w.events, "call") {
				if strings.Contains(e.Data, "late") {
					t.Error("the refused call was sent")
				}
			}
		})
	}
}

// R44: waiting in the queue is bounded by timeout; a call given up there is
// never sent, and its place is free again.
func TestWaitingIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.one(1)
	release := w.hold(i)
	call := toolCall("echo", "")
	call.Timeout = 50 * time.Millisecond
	_, waited, err := i.Do(t.Context(), "s", call)
	f := failure(t, err, upstream.Timeout)
	if f.Phase != "queue" || f.Sent || f.Limit != call.Timeout || waited < call.Timeout {
		t.Errorf("got %+v after %v", f, waited)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	given := make(chan error, 1)
	go func() { // ends with cancel
		_, _, err := i.Do(ctx, "s", toolCall("echo", ""))
		given <- err
	}()
	until(t, "the call waits", func() bool { return inQueue(i) == 1 })
	cancel(&upstream.Cancelled{Reason: "enough"})
	if f := failure(t, await(t, given), upstream.Aborted); f.Detail != "enough" || f.Sent {
		t.Errorf("got %+v", f)
	}
	release()
	w.mustCall(i, "echo", "")
	if n := len(mcptest.Events(t, w.events, "call")); n != 2 {
		t.Errorf("%d calls reached the server, want the one that held it and the last", n)
	}
}

// The calls that wait when the server dies fail and are not sent (R43).
func TestServerDiesWithCallsWaiting(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.one(10)
	const n = 5
	dying := make(chan *upstream.Failure, 1)
	waiting := make(chan *upstream.Failure, n)
	release := w.hold(i)
	go func() { dying <- w.try(i, toolCall("exit", "")) }() // ends with the server
	until(t, "the call waits", func() bool { return inQueue(i) == 1 })
	for range n {
		go func() { waiting <- w.try(i, toolCall("echo", "")) }() // ends with the server
	}
	until(t, "the calls wait", func() bool { return inQueue(i) == n+1 })
	release()
	if f := await(t, dying); f == nil || f.Word != upstream.Closed || !f.Sent {
		t.Errorf("got %+v", f)
	}
	for range n {
		if f := await(t, waiting); f == nil || f.Word != upstream.Closed || f.Sent {
			t.Errorf("got %+v", f)
		}
	}
}

// R24: sessions take turns, however many calls one of them has waiting; of one
// session the first that came goes first.
func TestSessionsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1, 99)
		ask := func(session string, served *[]string) {
			go func() { // ends with its turn
				if _, err := q.enter(t.Context(), session, time.Hour, nil); err == nil {
					*served = append(*served, session)
					q.leave()
				}
			}()
			synctest.Wait()
		}
		if _, err := q.enter(t.Context(), "first", 0, nil); err != nil {
			t.Fatal(err)
		}
		var served []string
		for _, session := range words("a a a a a b a b c") {
			ask(session, &served)
		}
		q.leave()
		synctest.Wait()
		if got, want := strings.Join(served, " "), "a b c a b a a a a"; got != want {
			t.Errorf("served %s, want %s", got, want)
		}
		if q.busy != 0 || q.waiting != 0 || len(q.lines) != 0 || len(q.turns) != 0 {
			t.Errorf("something is left: %+v", q)
		}
	})
}

// R24: a session with many calls that wait does not keep another from its few, not
// even when they fill the queue: the last of the many gives its place up.
func TestFullQueueHasRoomForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1, 4)
		if _, err := q.enter(t.Context(), "first", 0, nil); err != nil {
			t.Fatal(err)
		}
		var told []string
		for n, session := range words("a a a a a b c b c d") {
			go func() { // ends with its turn, or without
				_, err := q.enter(t.Context(), session, time.Hour, nil)
				if told = append(told, fmt.Sprint(session, n)); err == nil {
					q.leave()
				} else if err == errQueueFull {
					told[len(told)-1] += "!"
				}
			}()
			synctest.Wait()
		}
		q.leave()
		synctest.Wait()
		if got, want := strings.Join(told, " "), "a4! a3! a2! b7! c8! a1! a0 b5 c6 d9"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if q.busy != 0 || q.waiting != 0 || len(q.lines) != 0 || len(q.turns) != 0 {
			t.Errorf("something is left: %+v", q)
		}
	})
}

// Whoever gives up leaves no gap, and no slot is lost when the turn comes at
// the moment of giving up.
func TestGivingUpLosesNoSlot(t *testing.T) {
	q := newQueue(2, 1000)
	var wg sync.WaitGroup
	for k := range 400 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(k%7)*100*time.Microsecond)
			defer cancel()
			if _, err := q.enter(ctx, fmt.Sprint(k%5), time.Duration(k%11)*100*time.Microsecond, nil); err == nil {
				time.Sleep(50 * time.Microsecond) // the subject: slots that are held for a moment
				q.leave()
			}
		})
	}
	wg.Wait()
	if q.busy != 0 || q.waiting != 0 || len(q.lines) != 0 || len(q.turns) != 0 {
		t.Errorf("something is left: %+v", q)
	}
}

// A queue whose bounds change lets in what the new ones allow.
func TestResize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1, 1)
		got := make(chan error, 9)
		ask := func() {
			go func() { // ends with its turn
				_, err := q.enter(t.Context(), "s", time.Hour, nil)
				got <- err
			}()
			synctest.Wait()
		}
		ask()
		ask()
		ask()
		if err := <-got; err != nil {
			t.Fatal(err)
		}
		if err := <-got; !errors.Is(err, errQueueFull) {
			t.Fatalf("past the queue: %v", err)
		}
		q.resize(2, 0)
		if err := <-got; err != nil || q.busy != 2 {
			t.Errorf("%v, %d slots are taken", err, q.busy)
		}
		q.resize(1, 5)
		ask()
		q.leave()
		synctest.Wait()
		if len(got) != 0 || q.busy != 1 {
			t.Error("a slot that is no more was given out")
		}
		q.leave()
		if err := <-got; err != nil || q.waiting != 0 {
			t.Errorf("%v, %d wait", err, q.waiting)
		}
	})
}
