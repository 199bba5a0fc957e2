//go:build unix

package mcptest

import (
	"errors"
	"syscall"
	"testing"
)

// Signal sends a signal to processes, one after the other. One that is gone by
// then is no failure for a signal that ends or wakes: a process may end because
// the one before it did, as a keeper does when its command is killed.
func Signal(t testing.TB, sig syscall.Signal, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		err := syscall.Kill(pid, sig)
		if errors.Is(err, syscall.ESRCH) && sig != syscall.SIGSTOP {
			continue
		}
		if err != nil {
			t.Fatalf("signal %v to %d: %v", sig, pid, err)
		}
	}
}
