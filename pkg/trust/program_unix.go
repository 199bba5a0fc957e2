//go:build unix

package trust

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openNonblock keeps the open of a FIFO from waiting for its other end.
const openNonblock = unix.O_NONBLOCK

var executableEndings = []string{""}

// executable tells why fi, the file at path, cannot be executed by us.
func executable(path string, fi fs.FileInfo) error {
	if !fi.Mode().IsRegular() || fi.Mode().Perm()&0o111 == 0 || unix.Access(path, unix.X_OK) != nil {
		return errNotExecutable
	}
	return nil
}

func writableByAll(fi fs.FileInfo) bool { return fi.Mode().Perm()&0o002 != 0 }

// rootOwned reports whether the file is root's and this user cannot write it.
// Root itself can write everything.
func rootOwned(path string, fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && heldByRoot(st.Uid, os.Geteuid(), fi.Mode(), unix.Access(path, unix.W_OK) == nil)
}

func heldByRoot(owner uint32, user int, mode fs.FileMode, writable bool) bool {
	return owner == 0 && user != 0 && mode.Perm()&0o022 == 0 && !writable
}
