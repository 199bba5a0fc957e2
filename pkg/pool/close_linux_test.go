package pool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"postern/pkg/catalog"
	"postern/pkg/mcptest"
	"postern/pkg/upstream"
)

// bound is what a Close may take: R12's ladder and what a loaded machine adds.
const bound = 9 * time.Second

// alive reports whether a process runs; one that ended and was not waited for
// does not.
func alive(pid int) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	state := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))[0]
	return state != "Z" && state != "X"
}

// pids are all processes that were ever started here, grandchildren included.
func (w *world) pids() (pids []int) {
	w.t.Helper()
	for _, e := range mcptest.Events(w.t, w.events, "start") {
		pids = append(pids, e.PID)
	}
	for _, e := range mcptest.Events(w.t, w.events, "grandchild") {
		pid, err := strconv.Atoi(e.Data)
		if err != nil {
			w.t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

func (w *world) nothingAlive() {
	w.t.Helper()
	for _, pid := range w.pids() {
		if alive(pid) {
			w.t.Errorf("process %d outlives the pool", pid)
		}
	}
}

// R12: Close ends everything, whatever the servers do about it and whatever is
// open, in the time of one teardown.
func TestCloseLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	calls := make(chan *upstream.Failure, 99)
	faults := [][]string{
		nil,
		{"-fault", "ignore-eof"},
		{"-fault", "ignore-eof", "-fault", "ignore-term"},
		{"-fault", "grandchild=group"},
		{"-fault", "grandchild=session", "-fault", "ignore-term"},
		{"-fault", "grandchild=group", "-fault", "ignore-eof", "-fault", "ignore-term"},
	}
	var wg sync.WaitGroup
	for _, args := range faults {
		wg.Go(func() {
			i, err := w.pool.Get(t.Context(), w.approve(w.server(args...)))
			if err != nil {
				t.Error(err)
				return
			}
			for range 3 {
				go func() { calls <- w.try(i, toolCall("never", "")) }() // ends with the pool
			}
		})
	}
	wg.Wait()
	mcptest.WaitEvents(t, w.events, "call", 3*len(faults))
	begin := time.Now()
	if survivors, err := w.pool.Close(); len(survivors) != 0 || err != nil {
		t.Errorf("survivors: %+v", survivors)
	}
	if took := time.Since(begin); took > bound {
		t.Errorf("Close took %v", took)
	}
	if n := len(w.pids()); n != len(faults)+3 {
		t.Errorf("%d processes, want %d", n, len(faults)+3)
	}
	w.nothingAlive()
	for range 3 * len(faults) {
		if f := await(t, calls); f == nil || f.Word != upstream.Aborted {
			t.Errorf("a call came to %+v", f)
		}
	}
	if _, err := w.pool.Get(t.Context(), w.approve(w.server())); !errors.Is(err, ErrClosed) {
		t.Errorf("Get after Close: %v", err)
	}
	w.pool.Close() // again, and at once
}

// A start under way is given up; that says nothing about the server.
func TestCloseDuringStart(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"no-initialize", "start-delay=1m"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			srv := w.server("-fault", fault)
			srv.StartTimeout = time.Minute
			a := w.approve(srv)
			const n = 10
			failures := make(chan error, n)
			for range n {
				go func() { // ends with the start
					_, err := w.pool.Get(context.Background(), a)
					failures <- err
				}()
			}
			mcptest.WaitEvents(t, w.events, "start", 1)
			begin := time.Now()
			w.pool.Close()
			if took := time.Since(begin); took > bound {
				t.Errorf("Close took %v", took)
			}
			// A child that came to life as its start was given up is killed by
			// the thread that made it, a moment later.
			until(t, "no process is alive", func() bool { return !slices.ContainsFunc(w.pids(), alive) })
			for range n {
				err := await(t, failures)
				if errors.Is(err, ErrClosed) {
					continue // it came after the end
				}
				failure(t, err, upstream.Aborted)
			}
			if why, failed := w.catalogs.Failed(catalog.IdentityOf(srv)); failed {
				t.Errorf("remembered as failed: %s", why)
			}
			if n := w.starts(); n != 1 {
				t.Errorf("%d processes", n)
			}
		})
	}
}

// Stop gives a start up as well, and the next Get begins another.
func TestStopDuringStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	srv := w.server("-fault", "no-initialize")
	a := w.approve(srv)
	failures := make(chan error, 2)
	get := func() { // ends with the start
		_, err := w.pool.Get(context.Background(), a)
		failures <- err
	}
	go get()
	mcptest.WaitEvents(t, w.events, "start", 1)
	w.pool.Stop(a.Key())
	w.nothingAlive()
	failure(t, await(t, failures), upstream.Aborted)
	go get()
	mcptest.WaitEvents(t, w.events, "start", 2)
	w.pool.Close()
	failure(t, await(t, failures), upstream.Aborted)
}

// There are never two of one key: what an ended server left behind is gone
// before the next one starts.
func TestNextStartWaitsForTheTeardown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.approve(w.server("-fault", "grandchild=group"))
	i := w.get(a)
	old := w.pids()
	if len(old) != 2 {
		t.Fatalf("processes %v", old)
	}
	if f := w.try(i, toolCall("exit", "")); f == nil {
		t.Fatal("it answered")
	}
	w.get(a)
	for _, pid := range old {
		if alive(pid) {
			t.Errorf("process %d of the old instance is alive beside the new one", pid)
		}
	}
}

// A pool whose server dies again and again, with callers that come and go,
// keeps its promises: one process at a time, and none at the end.
func TestStorm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.approve(w.server())
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for n := range 12 {
				i, err := w.pool.Get(t.Context(), a)
				if err != nil {
					var f *upstream.Failure
					var held *HeldError
					if !errors.As(err, &f) && !errors.As(err, &held) {
						t.Error(err)
					}
					continue
				}
				switch {
				case g == 0 && n%3 == 0:
					w.try(i, toolCall("exit", ""))
				case g == 1 && n%4 == 0:
					w.pool.Stop(a.Key())
				default:
					w.try(i, toolCall("echo", ""))
				}
			}
		})
	}
	wg.Wait()
	w.pool.Close()
	w.nothingAlive()
	// Each start comes after the end of the process before it.
	last := 0
	for _, e := range mcptest.Events(t, w.events, "") {
		if e.Name == "start" {
			last = e.PID
		} else if e.PID != last {
			t.Fatalf("%s of process %d after the start of %d", e.Name, e.PID, last)
		}
	}
	for _, b := range w.pool.berths {
		if b.entry != nil || b.calls != 0 {
			t.Errorf("something is still registered: %+v", b)
		}
	}
}
