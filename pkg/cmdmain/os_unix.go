//go:build unix

package cmdmain

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
)

func endSignals() []os.Signal {
	return []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}
}

// ignorePipeSignal makes a closed standard output an error to return. Go would
// end the process by the signal, past everything that has to be cleaned up. A
// handler is used because an ignored signal would be inherited by children.
func ignorePipeSignal() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

func isClosedPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
