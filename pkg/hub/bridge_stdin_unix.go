//go:build linux || darwin

package hub

import (
	"io"
	"os"
	"syscall"

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

// Waiting is standard input in a form in which waiting for it costs no thread, and
// undo, which leaves it as it was found. What is no pipe and no socket stays as it
// is: a terminal is the shell's too.
func Waiting(stdin *os.File) (in *os.File, undo func()) {
	fd := int(stdin.Fd())
	fi, err := stdin.Stat()
	if err != nil || fi.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return stdin, func() {}
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_NONBLOCK != 0 || syscall.SetNonblock(fd, true) != nil {
		return stdin, func() {}
	}
	return os.NewFile(uintptr(fd), stdin.Name()), func() { _ = syscall.SetNonblock(fd, false) }
}
