//go:build unix

package state

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	homeVariable = "HOME"
	// openNonblock keeps the open of a FIFO from waiting for its other end.
	openNonblock  = unix.O_NONBLOCK
	openNoFollow  = unix.O_NOFOLLOW
	openDirectory = unix.O_DIRECTORY
	hasOwners     = true
)

// sharedTemp is the folder for temporary files of all users.
func sharedTemp() string { return "/tmp" }

// ownerOf returns the user id that owns the file.
func ownerOf(fi fs.FileInfo) int {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return -1
	}
	return int(st.Uid)
}

// noLock reports an error that means the file system has no flock at all.
func noLock(err error) bool {
	return errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EOPNOTSUPP) ||
		errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOLCK)
}

// tryFlock takes the lock on f or reports false at once when another has it.
func tryFlock(f *os.File) (bool, error) {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, unix.EINTR):
			return false, err
		}
	}
}

// alive reports whether a process of that id exists, ours or not.
func alive(pid int) bool {
	err := unix.Kill(pid, 0)
	return err == nil || errors.Is(err, unix.EPERM)
}

// syncDir makes a rename or a creation inside dir survive a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		err = nil // the file system has nothing to sync for a directory
	}
	return errors.Join(err, d.Close())
}
