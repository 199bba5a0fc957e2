//go:build !linux

package hub

import "context"

// parentChanged waits until this process has another parent than pid, and tells
// whether it has: false when ctx ended first.
func parentChanged(ctx context.Context, pid int) bool { return pid != 0 && watchParent(ctx, pid) }
