package state

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

func identityOf(fi fs.FileInfo) (dev, inode uint64, ctime int64) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, 0
	}
	return uint64(st.Dev), st.Ino, st.Ctimespec.Nano()
}

// bootID tells this boot of this machine from every other.
func bootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil || id == "" {
		return "unknown"
	}
	return id
}
