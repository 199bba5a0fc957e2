package state

import (
	"io/fs"
	"os"
	"strings"
	"syscall"
)

func identityOf(fi fs.FileInfo) (dev, inode uint64, ctime int64) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, 0
	}
	return uint64(st.Dev), st.Ino, st.Ctim.Nano()
}

// bootID tells this boot of this machine from every other.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
}
