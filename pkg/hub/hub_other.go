//go:build !linux && !darwin

package hub

import (
	"errors"
	"net"
	"os"
)

// maxSocketPath is what sun_path takes with its end.
const maxSocketPath = 107

func executable() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

// checkSocket refuses: nothing here tells whose a socket is.
func checkSocket(string) error { return errors.ErrUnsupported }

func checkPeer(*net.UnixConn) error { return errors.ErrUnsupported }

func peerOf(*net.UnixConn) (uid, pid int, err error) { return -1, 0, errors.ErrUnsupported }

func isNobody(error) bool { return false }

func isQueueFull(error) bool { return false }

// Confined is false: it is not known here.
func Confined() bool { return false }

// Spawn is not possible here: errors.ErrUnsupported.
func Spawn(string, []string, []string) error { return errors.ErrUnsupported }

// Activated is false: no service manager here hands over sockets.
func Activated() bool { return false }

func given(Place) (*net.UnixListener, error) { return nil, nil }

// Private does nothing: there is no umask here.
func Private() {}

// NoCoreDumps does nothing: none are written here.
func NoCoreDumps() {}
