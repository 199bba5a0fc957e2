package hub

import (
	"context"
	"os"

	"postern/pkg/config"
)

// watchParent looks now and then whether the parent is still pid; false when ctx
// ended first.
func watchParent(ctx context.Context, pid int) bool {
	for os.Getppid() == pid {
		if !pause(ctx, config.ParentLook) {
			return false
		}
	}
	return true
}
