package hub

import "golang.org/x/sys/unix"

// peer is the user at the other end of a socket; the process is not known.
func peer(fd int) (uid, pid int, err error) {
	p, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return -1, 0, err
	}
	return int(p.Uid), 0, nil
}
