package hub

import "golang.org/x/sys/unix"

// peerUser is the user that the process at the other end of a socket ran as when
// it connected or began to listen.
func peerUser(fd int) (int, error) {
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return -1, err
	}
	return int(peer.Uid), nil
}
