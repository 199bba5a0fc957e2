package hub

import (
	"os"

	"golang.org/x/sys/unix"
)

// initialUserNamespace is how the kernel shows the user namespace of init.
const initialUserNamespace = "user:[4026531837]"

// Confined reports that this process may gain no privileges, or lives in a user
// namespace of its own: somebody confined it, and a hub that it starts would be
// confined like it while it served everybody.
func Confined() bool {
	set, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err == nil && set == 1 {
		return true
	}
	space, err := os.Readlink("/proc/self/ns/user")
	return err == nil && space != initialUserNamespace
}
