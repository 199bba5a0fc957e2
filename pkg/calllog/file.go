package calllog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"postern/pkg/state"
)

// appender chooses the file a row goes to and writes it there. It is used by
// one goroutine at a time.
type appender struct {
	dir     string
	days    int   // 0 = keep all
	maxFile int64 // 0 = no limit

	at   dayFile
	file *os.File // nil = none open
	end  int64    // size of the file after our last write, which ended a line
}

// write appends one line, newline included, as a whole. Any error means that
// the row is not in the log.
func (a *appender) write(line []byte, now time.Time) error {
	size, err := a.seek(dayOf(now), int64(len(line)))
	if err != nil {
		return err
	}
	if size != a.end && !endsLine(a.file, size) {
		// Somebody died in the middle of a row (C82). If it is being written
		// this very moment instead, readers see a blank line.
		line = append([]byte{'\n'}, line...)
	}
	n, err := a.file.Write(line)
	a.end = size + int64(n)
	if err != nil {
		a.end = -1 // what got there of the line must be ended
	}
	return err
}

// seek makes a.file the file for length more bytes on that day: the last one
// there is, or the one after it when those do not fit. It returns its size.
func (a *appender) seek(day time.Time, length int64) (size int64, err error) {
	next := dayFile{day: day}
	if a.file != nil && a.at.day.Equal(day) {
		if size, ok := a.still(); ok && (size == 0 || a.maxFile <= 0 || size+length <= a.maxFile) {
			return size, nil
		}
		next.n = a.at.n
	}
	for {
		size, err := a.open(next)
		if err != nil {
			return 0, err
		}
		last, err := a.isLast(next)
		if err != nil {
			return 0, err
		}
		if last && (size == 0 || a.maxFile <= 0 || size+length <= a.maxFile) {
			return size, nil
		}
		next.n++
	}
}

// still reports whether the open file is the one under its name still, and the
// last of its day, and how large it is.
func (a *appender) still() (size int64, ok bool) {
	open, err := a.file.Stat()
	if err != nil {
		return 0, false
	}
	named, err := os.Stat(filepath.Join(a.dir, a.at.name()))
	if err != nil || !os.SameFile(open, named) {
		return 0, false
	}
	last, err := a.isLast(a.at)
	return open.Size(), err == nil && last
}

func (a *appender) isLast(f dayFile) (bool, error) {
	f.n++
	_, err := os.Lstat(filepath.Join(a.dir, f.name()))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return false, err
}

// open makes f the open file. Whoever begins a day removes old ones.
func (a *appender) open(f dayFile) (size int64, err error) {
	if err := a.close(); err != nil {
		return 0, err
	}
	path := filepath.Join(a.dir, f.name())
	_, statErr := os.Lstat(path)
	file, err := state.AppendFile(path)
	if err != nil {
		return 0, err
	}
	fi, err := file.Stat()
	if err != nil {
		return 0, errors.Join(err, file.Close())
	}
	a.file, a.at, a.end = file, f, -1
	if f.n == 0 && a.days > 0 && errors.Is(statErr, fs.ErrNotExist) {
		prune(a.dir, f.day, a.days)
	}
	return fi.Size(), nil
}

func (a *appender) close() error {
	if a.file == nil {
		return nil
	}
	f := a.file
	a.file = nil
	return f.Close()
}

// endsLine reports whether the first size bytes of f end a line; none do.
func endsLine(f *os.File, size int64) bool {
	if size == 0 {
		return true
	}
	var last [1]byte
	_, err := f.ReadAt(last[:], size-1)
	return err == nil && last[0] == '\n'
}
