package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

const (
	lockWait  = 5 * time.Second       // a writer holds a lock for milliseconds
	lockEvery = 20 * time.Millisecond // short enough to go unnoticed
	// lockOld is when a FILE.held whose process cannot be looked up is abandoned.
	lockOld = time.Minute
)

// Lock takes the lock named path (C4), trying every 20 ms for at most 5 s or
// until ctx is done. The caller must call unlock, and check its error, when the
// protected files are written. A lock held for longer is a *LockedError. The
// lock file is created in one of our own directories and never removed. Two
// Locks in one process exclude each other as well.
func Lock(ctx context.Context, path string) (unlock func() error, err error) {
	return lock(ctx, path, tryFlock)
}

func lock(ctx context.Context, path string, try func(*os.File) (bool, error)) (func() error, error) {
	if err := EnsureDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|openNoFollow|openNonblock, fileMode)
	if err != nil {
		return nil, err
	}
	if err := checkAppend(f, path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	err = waitFor(ctx, path, func() (bool, error) { return try(f) })
	if noLock(err) {
		_ = f.Close()
		return lockByExistence(ctx, path)
	}
	var held *LockedError
	if errors.As(err, &held) {
		held.PID = holderOf(path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := writeHolder(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil // closing the only descriptor gives the lock back
}

// waitFor calls try until it succeeds, fails, or the wait of Lock is over.
func waitFor(ctx context.Context, path string, try func() (bool, error)) error {
	late := time.NewTimer(lockWait)
	defer late.Stop()
	tick := time.NewTicker(lockEvery)
	defer tick.Stop()
	for {
		ok, err := try()
		if ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-late.C:
			return &LockedError{Path: path}
		case <-ctx.Done():
			return fmt.Errorf("waiting for the lock %s: %w", path, context.Cause(ctx))
		}
	}
}

func writeHolder(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// holderOf reads the process id a lock file begins with; 0 when there is none.
func holderOf(path string) int {
	b, _, err := ReadFile(path, Check{Max: 256})
	if err != nil {
		return 0
	}
	word, _, _ := bytes.Cut(bytes.TrimSpace(b), []byte(" "))
	pid, err := strconv.Atoi(string(word))
	if err != nil || pid <= 0 {
		return 0
	}
	return pid
}
