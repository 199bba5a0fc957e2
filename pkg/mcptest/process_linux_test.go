package mcptest

import (
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
