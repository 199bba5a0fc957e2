//go:build linux || darwin

package wire

import (
	"io"
	"syscall"

	"golang.org/x/sys/unix"
)

// prompt writes what the system takes at once. It is for one goroutine at a time.
type prompt struct {
	raw syscall.RawConn
	try func(fd uintptr) bool // made once: the path of each line allocates nothing
	p   []byte
	n   int
}

// newPrompt is nil where a write to w may wait.
func newPrompt(w io.Writer) *prompt {
	c, ok := w.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	waits := true
	err = raw.Control(func(fd uintptr) {
		flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
		waits = err != nil || flags&unix.O_NONBLOCK == 0
	})
	if err != nil || waits {
		return nil
	}
	t := &prompt{raw: raw}
	t.try = t.once
	return t
}

// write tells how much of p was written. Why it was not all is told by the next
// write that may wait.
func (t *prompt) write(p []byte) int {
	t.p, t.n = p, 0
	_ = t.raw.Write(t.try)
	t.p = nil
	return t.n
}

// once is one write, whose end is always the end of the attempt.
func (t *prompt) once(fd uintptr) bool {
	for {
		n, err := syscall.Write(int(fd), t.p)
		if err == syscall.EINTR {
			continue
		}
		t.n = max(n, 0)
		return true
	}
}
