package cmdmain

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

func endSignals() []os.Signal { return []os.Signal{os.Interrupt} }

func ignorePipeSignal() {}

func isClosedPipe(err error) bool {
	return errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA)
}

func isTerminal(fd uintptr) bool {
	var mode uint32
	return windows.GetConsoleMode(windows.Handle(fd), &mode) == nil
}

// readerIsGone is not known here before the next write.
func readerIsGone(uintptr) bool { return false }
