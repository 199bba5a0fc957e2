//go:build linux || darwin

package hub

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// hungUp reports whether whoever writes to r has closed it, though not all of it
// is read yet.
func hungUp(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	hung := false
	_ = raw.Control(func(fd uintptr) {
		look := []unix.PollFd{{Fd: int32(fd)}}
		n, err := unix.Poll(look, 0)
		hung = err == nil && n > 0 && look[0].Revents&unix.POLLHUP != 0
	})
	return hung
}
