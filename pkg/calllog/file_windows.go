package calllog

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/windows"
)

// unlinked is false: the name of an open file cannot be removed here.
func unlinked(fs.FileInfo) bool { return false }

// noRoom reports an error that goes away when somebody makes room.
func noRoom(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}
