//go:build !linux

package hub

import (
	"context"
	"os"
)

// EndDescendants finds nothing here: orphans are not below this process.
func EndDescendants() (left int) { return 0 }

// Tend has nothing to do here: orphans are not below this process.
func Tend(context.Context) {}

// Sweep finds nothing here: what other processes were started with is not shown.
func Sweep(context.Context) (found, left int) { return 0, 0 }

// Confined is false: it is not known here.
func Confined() bool { return false }

func executable() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

// parentChanged waits until this process has another parent than pid, and tells
// whether it has: false when ctx ended first.
func parentChanged(ctx context.Context, pid int) bool { return pid != 0 && watchParent(ctx, pid) }
