package state

import (
	"errors"
	"io/fs"
	"os"
)

const (
	homeVariable  = "USERPROFILE"
	openNonblock  = 0
	openNoFollow  = 0
	openDirectory = 0
	hasOwners     = false
)

func identityOf(fs.FileInfo) (dev, inode uint64, ctime int64) { return 0, 0, 0 }

// sharedTemp is this user's own here.
func sharedTemp() string { return os.TempDir() }

func ownerOf(fs.FileInfo) int { return -1 }

// bootID is one word for all boots: a holder is judged by its process id alone.
func bootID() string { return "windows" }

func noLock(err error) bool { return errors.Is(err, errors.ErrUnsupported) }

// tryFlock sends the caller to the FILE.held form.
func tryFlock(*os.File) (bool, error) { return false, errors.ErrUnsupported }

func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	_ = p.Release()
	return true
}

func syncDir(string) error { return nil }
