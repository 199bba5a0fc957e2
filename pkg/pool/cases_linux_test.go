package pool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"postern/pkg/catalog"
	"postern/pkg/config"
	"postern/pkg/mcptest"
	"postern/pkg/upstream"
)

// zombies are the children of this process that ended and were not waited for.
func zombies(pids []int) (out []int) {
	for _, pid := range pids {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err == nil && strings.HasPrefix(string(raw[strings.LastIndexByte(string(raw), ')')+1:]), " Z") {
			out = append(out, pid)
		}
	}
	return out
}

// kill ends a process and returns when the kernel has ended all its threads.
func kill(t testing.TB, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for end := time.Now().Add(mcptest.Bound); ; {
		n, err := unix.Poll(poll, 1000)
		if n > 0 {
			return
		}
		if err != nil && err != unix.EINTR || time.Now().After(end) {
			t.Fatalf("process %d does not end: %v", pid, err)
		}
	}
}

// MB-021: a process that died unnoticed is noticed by the very next call, which
// is served by another; nobody gets an error for it.
func TestMB021DeadBeforeTheCall(t *testing.T) {
	t.Parallel()
	for range 5 {
		w := newWorld(t)
		a := w.approve(w.server())
		w.mustAnswer("s", a)
		for range 3 {
			kill(t, w.get(a).Info().PID)
			w.mustAnswer("s", a)
		}
		if n := w.starts(); n != 4 {
			t.Errorf("%d processes, want 4", n)
		}
	}
}

// MB-030: a server that ends at once is started a few times only, however often
// and by however many it is asked for, and leaves no zombie.
func TestMB030ExitsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.approve(w.server("-fault", "exit-at-start=3"))
	for range 20 {
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if _, err := w.pool.Get(t.Context(), a); err == nil {
					t.Error("it came up")
				}
			})
		}
		wg.Wait()
	}
	if n := w.starts(); n != a.Server().Breaker.Failures {
		t.Errorf("%d starts", n)
	}
	if _, err := w.pool.Get(t.Context(), a); !strings.Contains(fmt.Sprint(err), "fake") {
		t.Errorf("the refusal is %v", err)
	}
	if z := zombies(w.pids()); len(z) != 0 {
		t.Errorf("zombies %v", z)
	}
}

// MB-052: crashes, failed starts and stops give every descriptor and goroutine
// back.
func TestMB052NothingLeaks(t *testing.T) {
	w := newWorld(t)
	w.pool.Close()
	fds := func() int {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	cycle := func(n int) {
		w := newWorld(t)
		for k := range n {
			srv := w.server()
			srv.Digest = fmt.Sprint("sha256:", k) // another key: this is not about flapping
			if k%3 == 2 {
				srv.Args = append(srv.Args, "-fault", "exit-at-start=1")
			}
			i, err := w.pool.Get(t.Context(), w.approve(srv))
			switch {
			case k%3 == 2 && err == nil, k%3 != 2 && err != nil:
				t.Fatalf("start %d came to %v", k, err)
			case k%3 == 0:
				w.try(i, toolCall("exit", ""))
			case k%3 == 1:
				w.pool.Stop(i.berth.key)
			}
		}
		w.pool.Close()
	}
	cycle(9)
	before, routines := fds(), runtime.NumGoroutine()
	cycle(150)
	until(t, "descriptors are back", func() bool { return fds() <= before+3 })
	until(t, "goroutines are back", func() bool { return runtime.NumGoroutine() <= routines+3 })
}

// MB-055: one instance serves all who declare the same; with other values there
// are two. The server takes a lock that a second one would not get.
func TestMB055Exclusive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	script := w.script(`mkdir "$LOCK" || exit 9; trap 'rmdir "$LOCK"' EXIT; $FAKE "$@"`)
	srv := w.server()
	srv.Command, srv.Env = script, []config.EnvVar{{Name: "LOCK", Value: filepath.Join(w.dir, "lock")}}
	var wg sync.WaitGroup
	for k := range 20 {
		wg.Go(func() { w.mustAnswer(fmt.Sprint("agent ", k), w.approve(srv)) })
	}
	wg.Wait()
	other := *srv
	other.Env = []config.EnvVar{{Name: "LOCK", Value: filepath.Join(w.dir, "other")}}
	w.mustAnswer("s", w.approve(&other))
	if n := w.starts(); n != 2 {
		t.Errorf("%d processes", n)
	}
}

// script writes an executable for /bin/sh; $FAKE is the fake server.
func (w *world) script(text string) string {
	w.t.Helper()
	path := filepath.Join(w.dir, fmt.Sprintf("script%d", len(text)))
	text = "#!/bin/sh\n" + strings.ReplaceAll(text, "$FAKE", "'"+mcptest.FakeServerCommand(w.t)+"'") + "\n"
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// MB-057: a first start that is too slow is not held against the second.
func TestMB057SlowFirstStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	srv := w.server()
	srv.Command = w.script(`if mkdir '` + w.dir + `/first' 2>/dev/null; then exec $FAKE "$@" -fault start-delay=10s; fi; exec $FAKE "$@"`)
	srv.StartTimeout = 1500 * time.Millisecond
	a := w.approve(srv)
	f := failure(t, w.call("s", a), upstream.Timeout)
	if f.Limit != srv.StartTimeout || f.Phase != "initialize" {
		t.Errorf("got %+v", f) // MB-059: it says what was waited for, and how long
	}
	w.mustAnswer("s", a)
	if _, failed := w.catalogs.Failed(catalog.IdentityOf(srv)); failed {
		t.Error("it is still remembered as failed")
	}
}

// MB-158: tool errors and refused arguments are answers, twenty in a row.
func TestMB158ToolErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.get(w.approve(w.server()))
	for range 20 {
		w.mustCall(i, "fail", `{"text":"bad"}`)
		w.mustCall(i, "rpcerror", `{"error":{"code":-32602,"message":"bad"}}`)
	}
	w.mustCall(i, "echo", "{}")
}

// MB-164: a call whose server ends before it answers was made once; the next
// call gets another process.
func TestMB164CalledOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.approve(w.server())
	i := w.get(a)
	if f := w.try(i, toolCall("exit", `{"once":1}`)); f == nil || f.Word != upstream.Closed || !f.Sent {
		t.Errorf("got %+v", f)
	}
	w.mustAnswer("s", a)
	n := 0
	for _, e := range mcptest.Events(t, w.events, "call") {
		if strings.Contains(e.Data, "once") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("it was called %d times", n)
	}
}

// R21: real processes that die come back for the session that called them, and
// one that flaps stays down, with all that happened in its reason.
func TestRestartOfProcesses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	srv := w.server()
	srv.RestartDelay = 10 * time.Millisecond
	a := w.approve(srv)
	w.mustAnswer("s", a)
	for n := range config.FlapDeaths {
		var i *Instance
		until(t, "it runs", func() bool { i = w.pool.Running(a.Key()); return i != nil })
		w.try(i, toolCall("exit", `{"status":4}`))
		if n < config.FlapDeaths-1 {
			mcptest.WaitEvents(t, w.events, "start", n+2) // nobody asked for it
		}
	}
	var held *HeldError
	until(t, "it is held down", func() bool { return errors.As(w.call("s", a), &held) })
	if !strings.Contains(held.Why, "exit status 4") {
		t.Errorf("the reason is %q", held.Why)
	}
	if n := w.starts(); n != config.FlapDeaths {
		t.Errorf("%d processes", n)
	}
}

// The call of a session that is gone is not taken for one that wants the server.
func TestEndOfSessionEndsTheWant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	srv := w.server()
	srv.RestartDelay, srv.IdleStop = time.Millisecond, 50*time.Millisecond
	a := w.approve(srv)
	w.mustAnswer("s", a)
	w.pool.Leave("s")
	until(t, "it is stopped and forgotten", func() bool { return w.berths() == 0 })
	w.nothingAlive()
	if n := w.starts(); n != 1 {
		t.Errorf("%d processes", n)
	}
}

// MB-041: a command that stands for something outside its process group, as the
// CLI of a container does, is given the time to end it before it is killed.
func TestMB041ContainerIsStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	srv := w.server("-fault", "ignore-eof")
	srv.Command = w.script(`cd '` + w.dir + `'
env -i setsid sleep 60 & container=$!
echo $container > container
exec 3<&0
$FAKE "$@" <&3 & server=$!
trap 'kill $container; sleep 1; kill $server; exit 143' TERM
wait`)
	a := w.approve(srv)
	w.mustAnswer("s", a)
	raw, err := os.ReadFile(filepath.Join(w.dir, "container"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil || !alive(pid) {
		t.Fatalf("container %s: %v", raw, err)
	}
	w.pool.Stop(a.Key())
	if alive(pid) {
		t.Error("the container outlives its command")
	}
	w.nothingAlive()
}
