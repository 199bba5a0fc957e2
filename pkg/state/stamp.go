package state

import (
	"errors"
	"io/fs"
	"os"
)

// Stamp tells one version of a file from another without reading it. Stamps are
// comparable with ==. The zero Stamp is that of an absent file. Since files are
// replaced by rename, a replacement changes the inode even when size and times
// are the same.
type Stamp struct {
	dev, inode   uint64
	size         int64
	mtime, ctime int64 // nanoseconds since 1970
}

// StampOf returns the stamp of the file at path, following symlinks. An absent
// file is the zero Stamp and no error.
func StampOf(path string) (Stamp, error) {
	fi, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Stamp{}, nil
	}
	if err != nil {
		return Stamp{}, err
	}
	return stampOf(fi), nil
}

func stampOf(fi fs.FileInfo) Stamp {
	s := Stamp{size: fi.Size(), mtime: fi.ModTime().UnixNano()}
	s.dev, s.inode, s.ctime = identityOf(fi)
	return s
}
