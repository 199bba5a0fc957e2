//go:build !linux && !darwin

package hub

import (
	"errors"
	"io"
	"net"
	"os"
)

// maxSocketPath is what sun_path takes with its end.
const maxSocketPath = 107

// checkSocket refuses: nothing here tells whose a socket is.
func checkSocket(string) error { return errors.ErrUnsupported }

func checkPeer(*net.UnixConn) error { return errors.ErrUnsupported }

func peerOf(*net.UnixConn) (uid, pid int, err error) { return -1, 0, errors.ErrUnsupported }

func isNobody(error) bool { return false }

func isQueueFull(error) bool { return false }

func identity(os.FileInfo) (device, inode uint64) { return 0, 0 }

// hungUp is not known here.
func hungUp(io.Reader) bool { return false }

// Spawn is not possible here: errors.ErrUnsupported.
func Spawn(string, []string, []string) error { return errors.ErrUnsupported }

// Activated is false: no service manager here hands over sockets.
func Activated() bool { return false }

func given(Place) (*net.UnixListener, error) { return nil, nil }

// Private does nothing: there is no umask here.
func Private() {}

// NoCoreDumps does nothing: none are written here.
func NoCoreDumps() {}

// Keeper cannot be made here.
type Keeper struct{}

// Attach returns nil: no process has a keeper here.
func Attach() *Leash { return nil }

// StartKeeper is not possible here: errors.ErrUnsupported.
func StartKeeper(KeeperOptions) (*Keeper, error) { return nil, errors.ErrUnsupported }

// Wait is never reached.
func (*Keeper) Wait(bool) End { return End{} }
