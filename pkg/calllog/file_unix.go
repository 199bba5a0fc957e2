//go:build unix

package calllog

import (
	"errors"
	"io/fs"
	"syscall"
)

// unlinked reports that an open file has no name any more: rows written to it
// would be lost.
func unlinked(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && st.Nlink == 0
}

// noRoom reports an error that goes away when somebody makes room.
func noRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
