//go:build linux || darwin

package hub

import (
	"fmt"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// firstGiven is the descriptor of the first socket that a service manager hands
// over.
const firstGiven = 3

// Activated reports whether a service manager handed over the socket to this
// process, or to its keeper.
func Activated() bool {
	pid, err := strconv.Atoi(os.Getenv("LISTEN_PID"))
	return err == nil && (pid == os.Getpid() || pid == os.Getppid())
}

// given is the socket that a service manager listens on for this hub, nil when
// there is none. The variables that say so are taken out of the environment.
func given(p Place) (*net.UnixListener, error) {
	activated, count := Activated(), os.Getenv("LISTEN_FDS")
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		_ = os.Unsetenv(name)
	}
	if !activated {
		return nil, nil
	}
	if count != "1" {
		return nil, fmt.Errorf("the service manager hands over %q sockets, not 1: run mcp-serve install", count)
	}
	unix.CloseOnExec(firstGiven)
	f := os.NewFile(firstGiven, "socket")
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("the service manager hands over no socket to listen on: %w", err)
	}
	ul, ok := l.(*net.UnixListener)
	if !ok || ul.Addr().String() != p.Socket {
		l.Close()
		return nil, fmt.Errorf("the service manager listens on %s, and this build of mcp-serve on %s: run mcp-serve install", l.Addr(), p.Socket)
	}
	return ul, nil
}
