//go:build unix

package cmdmain

import (
	"errors"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

func endSignals() []os.Signal {
	return []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}
}

// ignorePipeSignal makes a closed standard output an error to return. Go would
// end the process by the signal, past everything that has to be cleaned up. A
// handler is used because an ignored signal would be inherited by children.
func ignorePipeSignal() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

func isClosedPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }

// readerIsGone asks whether the other end of the pipe or socket fd was closed.
func readerIsGone(fd uintptr) bool {
	ask := []unix.PollFd{{Fd: int32(fd)}}
	n, err := unix.Poll(ask, 0)
	return err == nil && n > 0 && ask[0].Revents&unix.POLLERR != 0
}
