package hub

import "golang.org/x/sys/unix"

// peer is the user and the process at the other end of a socket, as they were when
// it connected or began to listen.
func peer(fd int) (uid, pid int, err error) {
	p, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return -1, 0, err
	}
	return int(p.Uid), int(p.Pid), nil
}
