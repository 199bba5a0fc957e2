package hub

import (
	"context"
	"os"

	"golang.org/x/sys/unix"
)

// parentChanged waits until this process has another parent than pid, and tells
// whether it has: false when ctx ended first. It is told by the kernel and costs
// nothing meanwhile; where the kernel cannot, it looks now and then.
func parentChanged(ctx context.Context, pid int) bool {
	if pid == 0 {
		return false
	}
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return watchParent(ctx, pid)
	}
	f := os.NewFile(uintptr(fd), "parent")
	defer f.Close()
	stop := context.AfterFunc(ctx, func() { f.Close() }) // ends the wait
	defer stop()
	raw, err := f.SyscallConn()
	if err != nil {
		return watchParent(ctx, pid)
	}
	asked := false
	err = raw.Read(func(uintptr) bool { // called again when the process has ended
		done := asked || os.Getppid() != pid
		asked = true
		return done
	})
	if ctx.Err() != nil {
		return false
	}
	return err == nil || watchParent(ctx, pid)
}
