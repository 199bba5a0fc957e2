package hub

import "golang.org/x/sys/unix"

// peerUser is the user that the process at the other end of a socket runs as.
func peerUser(fd int) (int, error) {
	peer, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return -1, err
	}
	return int(peer.Uid), nil
}
