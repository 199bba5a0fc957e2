package mcptest

import (
	"testing"

	"postern/pkg/proc"
)

// Below waits until a process has exactly one child and returns its pid. A
// command that owns servers has one: the process that does its work.
func Below(t testing.TB, pid int) int {
	t.Helper()
	child := 0
	if !Eventually(func() bool {
		n := 0
		for _, s := range proc.Below(pid) {
			if s.Parent == pid && !s.Ended() {
				n, child = n+1, s.PID
			}
		}
		return n == 1
	}) {
		t.Fatalf("process %d has no one child", pid)
	}
	return child
}
