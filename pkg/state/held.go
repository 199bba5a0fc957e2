package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// lockByExistence is Lock where the file system has no flock: whoever creates
// path.held owns the lock and removes that file to give it back.
func lockByExistence(ctx context.Context, path string) (func() error, error) {
	held := path + ".held"
	me := fmt.Sprintf("%d %s\n", os.Getpid(), bootID())
	err := waitFor(ctx, path, func() (bool, error) {
		f, err := os.OpenFile(held, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
		if errors.Is(err, fs.ErrExist) {
			return false, removeAbandoned(held)
		}
		if err != nil {
			return false, err
		}
		_, err = f.WriteString(me)
		if err = errors.Join(err, f.Close()); err != nil {
			return false, errors.Join(err, os.Remove(held))
		}
		return true, nil
	})
	var late *LockedError
	if errors.As(err, &late) {
		late.PID = holderOf(held)
	}
	if err != nil {
		return nil, err
	}
	return func() error { return os.Remove(held) }, nil
}

// removeAbandoned moves a held file away whose holder is gone. It is renamed to
// a name of our own first: of several who judged it so only one rename works,
// and if a new holder was quicker than the rename its file is put back.
func removeAbandoned(held string) error {
	seen, stamp, err := ReadFile(held, Check{Max: 256})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !abandoned(string(seen), stamp, time.Now()) {
		return nil
	}
	mine := fmt.Sprintf("%s.%d", held, os.Getpid())
	if err := os.Rename(held, mine); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if moved, err := os.ReadFile(mine); err == nil && string(moved) != string(seen) {
		return os.Rename(mine, held)
	}
	return os.Remove(mine)
}

// abandoned judges a held file by its content and age. A file that is gone
// (zero stamp) is nobody's to remove; one without content yet is being written.
func abandoned(content string, s Stamp, now time.Time) bool {
	if s == (Stamp{}) {
		return false
	}
	old := now.Sub(time.Unix(0, s.mtime)) > lockOld
	var pid int
	var boot string
	if n, _ := fmt.Sscan(strings.TrimSpace(content), &pid, &boot); n != 2 || pid <= 0 || boot != bootID() {
		return old
	}
	return !alive(pid)
}
