package hub

import (
	"fmt"
	"os"
	"strings"
)

// Build names this build of the program: the version that the linker set, where
// it set one, else what tells the executable of this very process from another
// one. A bridge takes a hub of its own build only (MB-060).
func Build(linked string) string {
	if linked != "" {
		return "version " + linked
	}
	fi, err := os.Stat(executable())
	if err != nil {
		return "unknown"
	}
	device, inode := identity(fi)
	return fmt.Sprintf("file %x %x %x %x", device, inode, fi.Size(), fi.ModTime().UnixNano())
}

// image is the executable of this process, and where it was found.
type image struct {
	path  string
	found os.FileInfo // nil when it could not be looked at
}

// ownImage looks at the executable of this process.
func ownImage() image {
	path, err := os.Executable()
	if err != nil {
		return image{}
	}
	fi, err := os.Stat(executable())
	if err != nil {
		return image{}
	}
	return image{strings.TrimSuffix(path, " (deleted)"), fi}
}

// replaced reports that another file, or none, stands where the executable was:
// an upgrade took place. What cannot be known is none.
func (i image) replaced() bool {
	if i.found == nil {
		return false
	}
	now, err := os.Stat(i.path)
	if err != nil {
		return os.IsNotExist(err)
	}
	return !os.SameFile(now, i.found) || now.Size() != i.found.Size() || !now.ModTime().Equal(i.found.ModTime())
}
