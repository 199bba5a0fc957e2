package state

import (
	"context"
	"errors"
	"io/fs"
)

// Update changes one file under the lock path+".lock" (C4): it reads path by c,
// calls change with the content (nil when the file is absent or empty), and
// replaces the file by what change returns. An error of change is returned as
// it is and nothing is written, as nothing is when the result equals the old
// content. Unreadable or oversized content is an error too: what cannot be read
// is never overwritten (C3).
func Update(ctx context.Context, path string, c Check, change func(old []byte) ([]byte, error)) (err error) {
	unlock, err := Lock(ctx, path+".lock")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	old, _, err := ReadFile(path, c)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	data, err := change(old)
	if err != nil {
		return err
	}
	_, err = ReplaceFile(path, data)
	return err
}
