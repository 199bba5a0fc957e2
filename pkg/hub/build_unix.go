//go:build linux || darwin

package hub

import (
	"os"
	"syscall"
)

// identity is device and inode of a file.
func identity(fi os.FileInfo) (device, inode uint64) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0
	}
	return uint64(st.Dev), st.Ino
}

// owner is the user id that a file belongs to.
func owner(fi os.FileInfo) int {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return -1
	}
	return int(st.Uid)
}
