//go:build linux || darwin

package hub

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"postern/pkg/state"
)

// maxSocketPath is what sun_path takes with its end.
const maxSocketPath = len(unix.RawSockaddrUnix{}.Path) - 1

// checkSocket judges the socket before it is connected to. The folder, which is
// private, keeps it the same until then.
func checkSocket(path string) error {
	fi, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case fi.Mode().Type() != os.ModeSocket:
		return &state.UnsafeError{Path: path, Why: "is no socket: remove it"}
	}
	if uid := owner(fi); uid != os.Geteuid() {
		return &state.UnsafeError{Path: path, Why: fmt.Sprintf("belongs to user id %d, not to yours (%d)", uid, os.Geteuid())}
	}
	if mode := fi.Mode().Perm(); mode&0o077 != 0 {
		return &state.UnsafeError{Path: path, Why: fmt.Sprintf("has mode %#o, so that other users may connect: remove it", mode)}
	}
	return nil
}

// checkPeer judges the process at the other end: it must run as this user.
func checkPeer(conn *net.UnixConn) error {
	uid, _, err := peerOf(conn)
	if err == nil && uid != os.Geteuid() {
		err = &state.UnsafeError{Path: conn.RemoteAddr().String(),
			Why: fmt.Sprintf("is spoken on by a process of user id %d, not of yours (%d)", uid, os.Geteuid())}
	}
	return err
}

// peerOf is the user and the process at the other end; 0 is an unknown process.
func peerOf(conn *net.UnixConn) (uid, pid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return -1, 0, err
	}
	if cerr := raw.Control(func(fd uintptr) { uid, pid, err = peer(int(fd)) }); cerr != nil {
		return -1, 0, cerr
	}
	return uid, pid, err
}

func isNobody(err error) bool {
	return errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ENOENT)
}

func isQueueFull(err error) bool { return errors.Is(err, unix.EAGAIN) }
