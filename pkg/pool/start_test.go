package pool

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"postern/pkg/catalog"
	"postern/pkg/config"
	"postern/pkg/mcptest"
	"postern/pkg/upstream"
)

// R20: one process a key, however many ask at the same moment.
func TestRacingGetsStartOneProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.approve(w.server("-fault", "start-delay=200ms"))
	const n = 1000
	got := make([]*Instance, n)
	gate := make(chan struct{})
	var wg sync.WaitGroup
	for k := range n {
		wg.Go(func() {
			<-gate
			i, err := w.pool.Get(t.Context(), a)
			if err != nil {
				t.Error(err)
			}
			got[k] = i
		})
	}
	close(gate)
	wg.Wait()
	for k := range got {
		if got[k] != got[0] {
			t.Fatal("two instances of one key")
		}
	}
	if n := w.starts(); n != 1 {
		t.Errorf("%d processes were started", n)
	}
	if w.get(a) != got[0] || w.pool.Running(a.Key()) != got[0] {
		t.Error("the instance is not found again")
	}
	if n := w.changes.Load(); n != 1 {
		t.Errorf("a start was announced %d times", n)
	}
}

// R20: another value is another process; the same declaration and values are not.
func TestDifferentValueIsDifferentProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	srv := w.server()
	srv.Env = []config.EnvVar{{Name: "TOKEN", Value: "${TOKEN}"}}
	base := w.hub
	with := func(token string) *Instance {
		w.hub = append(base[:len(base):len(base)], "TOKEN="+token)
		return w.get(w.approve(srv))
	}
	one, two, again := with("one"), with("two"), with("one")
	if one == two || one.Info().PID == two.Info().PID {
		t.Error("two values share a process")
	}
	if one != again {
		t.Error("one value has two processes")
	}
	if n := w.starts(); n != 2 {
		t.Errorf("%d processes", n)
	}
}

// A start that failed is shared by those who wait for it and then forgotten; it
// is remembered as a failed discovery (C71).
func TestFailedStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.approve(w.server("-fault", "start-delay=1s", "-fault", "exit-at-start=7"))
	const n = 50
	failures := make(chan error, n)
	for range n {
		go func() { // ends with the start
			_, err := w.pool.Get(t.Context(), a)
			failures <- err
		}()
	}
	for range n {
		f := failure(t, await(t, failures), upstream.Closed)
		if f.Sent || f.Exit != "exit status 7" {
			t.Errorf("got %+v", f)
		}
	}
	if n := w.starts(); n != 1 {
		t.Errorf("%d callers started %d processes", n, n)
	}
	if why, failed := w.catalogs.Failed(catalog.IdentityOf(a.Server())); !failed || !strings.Contains(why, "exit status 7") {
		t.Errorf("remembered: %q, %v", why, failed)
	}
	if w.pool.Running(a.Key()) != nil {
		t.Error("a failed start counts as running")
	}
	if _, err := w.pool.Get(t.Context(), a); err == nil {
		t.Error("it came up")
	}
	if n := w.starts(); n != 2 {
		t.Errorf("after the second Get %d processes, want 2", n)
	}
}

// Whoever leaves takes only himself away; whoever is gone already starts nothing.
func TestCallersLeave(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.approve(w.server("-fault", "start-delay=500ms"))
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := &upstream.Cancelled{Reason: "no longer wanted"}
	cancel(gone)
	if _, err := w.pool.Get(ctx, a); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	if len(w.pool.berths) != 0 || w.starts() != 0 {
		t.Fatal("a caller who was gone already started a server")
	}
	ctx, cancel = context.WithCancelCause(t.Context())
	left := make(chan error, 1)
	go func() { // ends when the caller leaves
		_, err := w.pool.Get(ctx, a)
		left <- err
	}()
	mcptest.WaitEvents(t, w.events, "start", 1)
	cancel(gone)
	if err := await(t, left); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	w.get(a)
	if n := w.starts(); n != 1 {
		t.Errorf("%d processes, want the one that was being started", n)
	}
}

// A server that ends is forgotten at once, torn down, and started anew by the
// next Get; a call of the old instance fails and is not sent.
func TestEndedServerIsStartedAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.approve(w.server())
	old := w.get(a)
	for round := range 4 { // the fifth end would be one too many
		if f := w.try(old, toolCall("exit", `{"status":3}`)); f == nil || f.Word != upstream.Closed || !f.Sent || f.Exit != "exit status 3" {
			t.Fatalf("got %+v", f)
		}
		if w.pool.Running(a.Key()) != nil {
			t.Error("an ended server counts as running")
		}
		fresh := w.get(a)
		if fresh == old || fresh.Info().PID == old.Info().PID {
			t.Fatal("Get returned the process that ended")
		}
		if f := w.try(old, toolCall("echo", "")); f == nil || f.Word != upstream.Closed || f.Sent {
			t.Errorf("a call of the old instance: %+v", f)
		}
		w.mustCall(fresh, "echo", `{}`)
		if n := w.starts(); n != round+2 {
			t.Errorf("%d processes after %d ends", n, round+1)
		}
		old = fresh
	}
	if n := len(mcptest.Events(t, w.events, "call")); n != 8 {
		t.Errorf("%d calls reached a server, want 8", n)
	}
}

// Stop ends one key and waits; the next Get starts anew.
func TestStop(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.approve(w.server())
	w.pool.Stop(a.Key()) // nothing is there
	old := w.get(a)
	w.pool.Stop(a.Key())
	if n := len(mcptest.Events(t, w.events, "clean")); n != 1 {
		t.Error("Stop returned before the server had ended")
	}
	if w.pool.Running(a.Key()) != nil {
		t.Error("a stopped server counts as running")
	}
	until(t, "nothing of it is kept", func() bool { return w.berths() == 0 })
	if fresh := w.get(a); fresh == old {
		t.Error("Get returned the stopped instance")
	}
}

// R44: starting is bounded by start_timeout, the list included.
func TestStartTimeout(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	srv := w.server("-fault", "no-initialize")
	srv.StartTimeout = 300 * time.Millisecond
	a := w.approve(srv)
	_, err := w.pool.Get(t.Context(), a)
	if f := failure(t, err, upstream.Timeout); f.Sent {
		t.Error("a failed start counts as a call that was sent")
	}
	if why, failed := w.catalogs.Failed(catalog.IdentityOf(srv)); !failed {
		t.Errorf("not remembered: %q", why)
	}
}

// A server whose list cannot be read is not left running.
func TestListFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	srv := w.server("-tools", w.file("tools", "["+tool("big", strings.Repeat("x", 8<<10))+"]"))
	srv.MaxMessageBytes = 4 << 10
	a := w.approve(srv)
	_, err := w.pool.Get(t.Context(), a)
	if f := failure(t, err, upstream.Protocol); f.Sent || f.Phase != "tools/list" {
		t.Errorf("got %+v", f)
	}
	if n := len(mcptest.Events(t, w.events, "clean")); n != 1 {
		t.Error("the server was not ended")
	}
	if c, p := w.catalogs.Read(catalog.IdentityOf(srv)); c != nil {
		t.Errorf("a list was recorded: %v", p)
	}
}

// C31: what a server was given by reference is in no failure and in no file,
// even when it says it back.
func TestFailedStartKeepsSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const token = "s3cr3t-t0k3n"
	w.hub = append(w.hub, "TOKEN="+token)
	srv := w.server("-fault", `initialize={"protocolVersion":"no-${TOKEN}","capabilities":{}}`)
	srv.Env = []config.EnvVar{{Name: "AUTHORIZATION", Value: "Bearer ${TOKEN}"}}
	_, err := w.pool.Get(t.Context(), w.approve(srv))
	f := failure(t, err, upstream.Protocol)
	why, _ := w.catalogs.Failed(catalog.IdentityOf(srv))
	for _, text := range []string{f.Error(), f.Stderr, why} {
		if strings.Contains(text, token) {
			t.Errorf("the value stands in %q", text)
		}
	}
	if !strings.Contains(why, "no-[redacted:value]") {
		t.Errorf("remembered %q, want the rest of what the server said", why)
	}
}
