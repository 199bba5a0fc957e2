package state

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
)

// Update changes one file under the lock path+".lock" (C4): it reads path by c,
// calls change with the content (nil when the file is absent or empty), and
// replaces the file by what change returns. An error of change is returned as
// it is and nothing is written, as nothing is when the result equals the old
// content. Unreadable or oversized content is an error too: what cannot be read
// is never overwritten (C3), and what could not be is not made.
func Update(ctx context.Context, path string, c Check, change func(old []byte) ([]byte, error)) (err error) {
	unlock, err := Lock(ctx, path+".lock")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	old, _, err := ReadFile(path, c)
	switch {
	case err == nil:
	case !errors.Is(err, fs.ErrNotExist):
		return err
	case c.Private: // what is made here must be believed when it is read
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err == nil {
			err = checkFolder(dir, c.Project)
		}
		if err != nil {
			return err
		}
	}
	data, err := change(old)
	if err != nil {
		return err
	}
	_, err = ReplaceFile(path, data)
	return err
}
