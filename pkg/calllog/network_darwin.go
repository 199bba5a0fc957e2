package calllog

import "golang.org/x/sys/unix"

// onNetwork reports whether dir is on a file system that is not local.
func onNetwork(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && st.Flags&unix.MNT_LOCAL == 0
}
