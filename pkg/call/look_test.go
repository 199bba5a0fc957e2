package call

import (
	"testing"
	"time"

	"postern/pkg/config"
	"postern/pkg/mcptest"
)

// R23, R25, R90: one session whose disk does not answer holds up nobody else: not
// what is told of the host, not the brake, not what others come to see, not the end
// of servers that are not declared any more.
func TestSessionThatHangs(t *testing.T) {
	t.Parallel()
	w := newHub(t, plain, nil)
	hangs, other := w.agent(&person{}, SessionOptions{}), w.agent(&person{}, SessionOptions{})
	w.answered(other, tool("fake__echo", "{}"))
	hangs.mu.Lock() // as while it looks
	defer hangs.mu.Unlock()
	ends := func(what string, run func()) {
		t.Helper()
		done := make(chan struct{})
		go func() { defer close(done); run() }() // ends with the test at the latest
		select {
		case <-done:
		case <-time.After(mcptest.Bound):
			t.Fatal("it does not end: " + what)
		}
	}
	ends("status", func() { control[HostStatus](w, VerbStatus, "") })
	begin := time.Now()
	ends("kill", func() {
		if got := control[Killed](w, VerbKill, "fake"); got.Ended != 1 {
			t.Errorf("%+v", got)
		}
	})
	if took := time.Since(begin); took >= config.LookWait {
		t.Errorf("the brake was waited for %s", took)
	}
	ends("start", func() {
		if got := control[Handled](w, VerbStart, "fake"); got.Up != 1 {
			t.Errorf("%+v", got)
		}
	})
	w.write("config/mcp.yaml", "version: 1"+allowAll)
	ends("reload", func() { control[Reloaded](w, VerbReload, "") })
	if other.view.Load().Server("fake") != nil {
		t.Error("the other session did not look")
	}
	for n := range 5 { // nobody is left behind each time
		begin := time.Now()
		ends("look", w.host.look)
		if took := time.Since(begin); n > 0 && took >= config.LookWait {
			t.Errorf("look %d took %s", n, took)
		}
	}
	if n := hangs.looks.busy; n != 2 {
		t.Errorf("%d looks hang", n)
	}
}
