package mcptest

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// The processes that are hard to end exist, and are what they claim to be.
func TestStubbornProcesses(t *testing.T) {
	for _, kind := range []string{"group", "session"} {
		events := filepath.Join(t.TempDir(), "events")
		a := start(t, "-events", events, "-fault", "grandchild="+kind, "-fault", "ignore-term", "-fault", "ignore-eof", "-life", "30s")
		a.Initialize()
		pid, err := strconv.Atoi(WaitEvents(t, events, "grandchild", 1)[0].Data)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := syscall.Getpgid(pid)
		ours, _ := syscall.Getpgid(a.PID())
		if err != nil || (theirs == ours) != (kind == "group") {
			t.Errorf("%s: group %d, the server's is %d, %v", kind, theirs, ours, err)
		}
		_ = syscall.Kill(a.PID(), syscall.SIGTERM)
		_ = a.in.Close()
		WaitEvents(t, events, "clean", 1)
		a.Send("")
		if err := syscall.Kill(a.PID(), 0); err != nil {
			t.Errorf("%s: the server is gone: %v", kind, err)
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// What is hidden has no environment, a session of its own, and a parent that is
// no server; a browser is eight processes (MB-028, R10).
func TestHiddenProcesses(t *testing.T) {
	for kind, n := range map[string]int{"hidden": 1, "browser": 8} {
		events := filepath.Join(t.TempDir(), "events")
		a := start(t, "-events", events, "-fault", "grandchild="+kind, "-fault", "ignore-term", "-life", "20s")
		a.Initialize()
		hidden := 0
		for _, e := range WaitEvents(t, events, "grandchild", n) {
			pid, err := strconv.Atoi(e.Data)
			if err != nil {
				t.Fatal(err)
			}
			environ, err := os.ReadFile("/proc/" + e.Data + "/environ")
			if err != nil {
				t.Fatal(err)
			}
			session, _ := syscall.Getpgid(pid)
			if len(environ) == 0 {
				hidden++
				if session != pid {
					t.Errorf("%s: %d is in group %d", kind, pid, session)
				}
			}
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if hidden == 0 {
			t.Errorf("%s: all have an environment", kind)
		}
		if got := len(Events(t, events, "grandchild")); got != n {
			t.Errorf("%s: %d processes", kind, got)
		}
	}
}
