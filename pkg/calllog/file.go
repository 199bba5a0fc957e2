package calllog

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"postern/pkg/config"
	"postern/pkg/state"
)

// appender chooses the file that rows go to and writes them there. It is used
// by one goroutine at a time.
type appender struct {
	dir     string
	days    int    // 0 = keep all, as far as is known
	maxFile int64  // 0 = no limit
	owner   string // "" = the file system appends as a whole, so that all share a file

	at      dayFile
	file    *os.File  // nil = none open
	end     int64     // size of the file after our last write; -1 = look at its end first
	latest  time.Time // when the newest row in it was written, as far as is known
	checked time.Time // when it was last the file of its name, and the last of its day
	due     bool      // days are to be removed, since one was begun
	rest    []byte    // what is missing of the line that a write broke off in
	look    [8 << 10]byte
}

// write appends whole lines, all to one file. The first byte is a newline that
// only goes out if the file ends in half a line (C82). written counts the bytes
// behind it that got there. When that is in the middle of a line, resume writes
// the rest.
func (a *appender) write(lines []byte, now time.Time) (written int, err error) {
	size, ended, err := a.seek(now, int64(len(lines)-1))
	if err != nil {
		return 0, err
	}
	a.prune(now)
	mending := 1
	if ended {
		lines, mending = lines[1:], 0
	}
	n, err := a.file.Write(lines)
	a.end, a.latest = size+int64(n), later(a.latest, now)
	if n == 0 {
		a.end = -1
	}
	if n > mending && err != nil && lines[n-1] != '\n' {
		left := lines[n:]
		a.rest = bytes.Clone(left[:bytes.IndexByte(left, '\n')+1])
	}
	return max(0, n-mending), err
}

// resume goes on with the line that write broke off in, which is only possible
// while nobody wrote behind it. It reports whether the line is whole now; if not
// and a.rest is nil, it never will be.
func (a *appender) resume() bool {
	fi, err := a.file.Stat()
	if err != nil || unlinked(fi) || fi.Size() != a.end {
		a.giveUp()
		return false
	}
	n, err := a.file.Write(a.rest)
	a.end += int64(n)
	if a.rest = a.rest[n:]; len(a.rest) == 0 {
		a.rest = nil
		return true
	}
	if !noRoom(err) {
		a.giveUp()
	}
	return false
}

func (a *appender) giveUp() { a.rest, a.end = nil, -1 }

// seek makes a.file the file for length more bytes: the last one of its day, or
// the one after it when those do not fit. ended is false if it ends in half a
// line.
func (a *appender) seek(now time.Time, length int64) (size int64, ended bool, err error) {
	next := dayFile{day: dayOf(now), owner: a.owner}
	if a.file != nil && a.at.day.Equal(next.day) {
		if size, ended, ok := a.still(now); ok && a.takes(size, length, now) {
			return size, ended, nil
		}
		next.n = a.at.n
	}
	for {
		size, err := a.open(next, now)
		if a.owner != "" && errors.Is(err, fs.ErrExist) {
			next.n++ // of a process that had our number before
			continue
		}
		if err != nil {
			return 0, false, err
		}
		last, err := a.isLast(next)
		if err != nil {
			return 0, false, err
		}
		if ended := a.ends(size); last && a.takes(size, length, now) {
			a.checked = now
			return size, ended, nil
		}
		next.n++
	}
}

// takes decides whether the open file is for these bytes. Once the clock went
// back they belong into the next file: in each the rows are in order, so that a
// reader can search by time.
func (a *appender) takes(size, length int64, now time.Time) bool {
	fits := size == 0 || a.maxFile <= 0 || size+length <= a.maxFile
	return fits && !now.Add(config.LogOrder).Before(a.latest)
}

// still reports whether the open file can go on, how large it is, and whether
// its last line has an end.
func (a *appender) still(now time.Time) (size int64, ended, ok bool) {
	open, err := a.file.Stat()
	if err != nil || unlinked(open) {
		return 0, false, false
	}
	if since := now.Sub(a.checked); since < 0 || since >= config.LogCheckEvery {
		named, err := os.Stat(filepath.Join(a.dir, a.at.name()))
		if err != nil || !os.SameFile(open, named) {
			return 0, false, false
		}
		if last, err := a.isLast(a.at); err != nil || !last {
			return 0, false, false
		}
		a.checked = now
	}
	return open.Size(), a.ends(open.Size()), true
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
func (a *appender) open(f dayFile, now time.Time) (size int64, err error) {
	if err := a.close(); err != nil {
		return 0, err
	}
	path := filepath.Join(a.dir, f.name())
	_, statErr := os.Lstat(path)
	create := state.AppendFile
	if a.owner != "" {
		create = state.AppendNewFile
	}
	file, err := create(path)
	if err != nil {
		return 0, err
	}
	fi, err := file.Stat()
	if err != nil {
		return 0, errors.Join(err, file.Close())
	}
	a.file, a.at, a.end, a.latest = file, f, -1, time.Time{}
	a.due = a.due || f.n == 0 && errors.Is(statErr, fs.ErrNotExist)
	a.prune(now)
	return fi.Size(), nil
}

// prune removes old days if that is due, which it stays while nobody knows which
// ones are old: the configuration is refused.
func (a *appender) prune(now time.Time) {
	if a.due && a.days > 0 {
		a.due = false
		_, _ = Prune(a.dir, now, a.days) // what stays is tried again on the next day
	}
}

// close closes the file. One of our own that got no row is not left behind.
func (a *appender) close() error {
	if a.file == nil {
		return nil
	}
	f := a.file
	a.file = nil
	if fi, err := f.Stat(); a.owner != "" && err == nil && fi.Size() == 0 && !unlinked(fi) {
		_ = os.Remove(f.Name())
	}
	return f.Close()
}

// ends reports whether the first size bytes of the file end a line; none do. If
// somebody else wrote last, it learns from the last row how late it is.
func (a *appender) ends(size int64) bool {
	if size == a.end || size == 0 {
		return true
	}
	b := a.look[:min(size, int64(len(a.look)))]
	if _, err := a.file.ReadAt(b, size-int64(len(b))); err != nil {
		return false
	}
	whole := b[:bytes.LastIndexByte(b, '\n')+1]
	if end, ok := rowEnd(whole[bytes.LastIndexByte(bytes.TrimSuffix(whole, []byte("\n")), '\n')+1:]); ok {
		a.latest = later(a.latest, end)
	}
	return len(whole) == len(b)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
