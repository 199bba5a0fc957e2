package calllog

import (
	"path/filepath"

	"golang.org/x/sys/windows"
)

// onNetwork reports whether dir is on a drive of another machine, or has no
// drive letter, as a share has none.
func onNetwork(dir string) bool {
	volume, err := windows.UTF16PtrFromString(filepath.VolumeName(dir) + `\`)
	return err != nil || windows.GetDriveType(volume) == windows.DRIVE_REMOTE
}
