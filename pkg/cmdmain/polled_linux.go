package cmdmain

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Polled is where a session is served on standard input and output: it has both
// wait in the runtime's poller and not in the system, where each line would cost a
// change of threads. whole is false where one of them stays as it is, because that
// cannot be done or would be felt by somebody else. back is to be called at the end.
func (e *Env) Polled() (r io.Reader, w io.Writer, whole bool, back func()) {
	r, w = e.Stdin, e.Stdout
	in, inBack := e.poll(e.Stdin, os.O_RDONLY)
	if in != nil {
		r = in
	}
	out, ok := e.Stdout.(*output)
	if !ok {
		return r, w, false, inBack
	}
	to, outBack := e.poll(out.w, os.O_WRONLY)
	if to != nil {
		out.w = to
	}
	return r, w, in != nil && to != nil, func() { inBack(); outBack() }
}

// poll is nil where end stays as it is. A pipe is opened anew, because not to block
// is of the open file, which whoever started us may share. A socket cannot be: it is
// given back as it was, and left alone where messages go to it too.
func (e *Env) poll(end any, mode int) (f *os.File, back func()) {
	back = func() {}
	was, ok := end.(*os.File)
	if !ok {
		return nil, back
	}
	info, err := was.Stat()
	if err != nil {
		return nil, back
	}
	fd := int(was.Fd())
	switch {
	case info.Mode()&os.ModeNamedPipe != 0:
		if f, err = os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), mode|unix.O_NONBLOCK, 0); err != nil {
			return nil, back
		}
		return f, func() { f.Close() }
	case info.Mode()&os.ModeSocket != 0 && !same(info, e.Stderr):
		own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return nil, back
		}
		_ = unix.SetNonblock(own, true) // else os.NewFile makes a file that blocks
		f = os.NewFile(uintptr(own), was.Name())
		return f, func() {
			_ = unix.SetNonblock(fd, false)
			f.Close()
		}
	}
	return nil, back
}

func same(info os.FileInfo, as io.Writer) bool {
	f, ok := as.(*os.File)
	if !ok {
		return false
	}
	other, err := f.Stat()
	return err == nil && os.SameFile(info, other)
}
