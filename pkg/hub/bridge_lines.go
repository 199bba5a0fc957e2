package hub

import (
	"bytes"
	"errors"
	"io"
)

// lines cuts a stream into lines where they were read, so that nothing is copied
// but a line that came in pieces. It is for one goroutine.
type lines struct {
	r          io.Reader
	buf        []byte
	start, end int // of what is read and not handed out
	looked     int // from where on a newline was not looked for yet
	room       int // bytes kept in front of every line
	max        int // bytes of a line without its newline
	begun      bool
	skipping   bool // the rest of a line that was too long comes first
	small      int  // lines in a row that would have fitted a small buffer
}

const (
	lineBuffer = 64 << 10 // what a pipe holds
	keepLarge  = 64       // small reads until a large buffer is given up
)

const byteOrderMark = "\ufeff"

// errLong says that a line is over the cap.
var errLong = errors.New("a line is over the size limit")

func newLines(r io.Reader, room, max int) *lines {
	return &lines{r: r, room: room, max: max, buf: make([]byte, room+lineBuffer), start: room, end: room, looked: room}
}

// next is the next line, with its newline, without a byte order mark, and with room
// bytes in front of it that are the caller's to write. All of it is valid until the
// following call. A last line without its newline gets one. The part of a line over
// the cap that fits is handed out, and one byte more, with errLong; what follows of
// it is dropped.
func (l *lines) next() (framed []byte, err error) {
	for {
		if !l.begun && l.end-l.start >= len(byteOrderMark) {
			l.mark()
		}
		if at := bytes.IndexByte(l.buf[l.looked:l.end], '\n'); at >= 0 {
			end := l.looked + at + 1
			switch {
			case l.skipping:
				l.skipping = false
				l.take(end)
				continue
			case end-1-l.start > l.max:
				line := l.cut(l.start + l.max + 1)
				l.start, l.looked = end, end
				return line, errLong
			}
			return l.take(end), nil
		}
		l.looked = l.end
		if l.skipping {
			l.start = l.end
		}
		if l.end-l.start > l.max {
			l.skipping = true
			return l.cut(l.start + l.max + 1), errLong
		}
		if err = l.fill(); err == nil {
			continue
		}
		if err == io.EOF && l.end > l.start && !l.skipping {
			return l.cut(l.end), nil
		}
		return nil, err
	}
}

// mark passes over a byte order mark at the beginning of the stream.
func (l *lines) mark() {
	if bytes.HasPrefix(l.buf[l.start:l.end], []byte(byteOrderMark)) {
		l.start += len(byteOrderMark)
		l.looked = l.start
	}
	l.begun = true
}

// take hands out everything up to end.
func (l *lines) take(end int) []byte {
	line := l.buf[l.start-l.room : end]
	l.start, l.looked, l.begun = end, end, true
	return line
}

// cut ends a line where it has no newline, and drops what is behind it.
func (l *lines) cut(end int) []byte {
	if end == len(l.buf) {
		l.buf = append(l.buf, 0)
	}
	l.buf[end] = '\n'
	line := l.take(end + 1)
	l.start = l.end
	if l.end < end+1 {
		l.start, l.end = end+1, end+1
	}
	l.looked = l.start
	return line
}

// chunk is all whole lines that were read, at least one, with their newlines. It
// is valid until the following call. A stream that ends in the middle of a line
// just ends: who wrote it is gone.
func (l *lines) chunk() ([]byte, error) {
	for {
		if at := bytes.LastIndexByte(l.buf[l.looked:l.end], '\n'); at >= 0 {
			chunk := l.take(l.looked + at + 1)
			l.looked = l.end
			return chunk[l.room:], nil
		}
		l.looked = l.end
		if l.end-l.start > l.max {
			return nil, errLong
		}
		if err := l.fill(); err != nil {
			return nil, err
		}
	}
}

// fill reads once more, behind what is there.
func (l *lines) fill() error {
	l.widen()
	n, err := l.r.Read(l.buf[l.end:])
	l.end += n
	if n > 0 {
		return nil // an error comes again
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// widen makes space behind what is there: by moving it to the front, by a larger
// buffer, or by a small one after a large one was not needed for a while.
func (l *lines) widen() {
	held := l.end - l.start
	if held > 0 {
		l.small = 0
	}
	switch {
	case held == 0 && len(l.buf) > l.room+lineBuffer && l.small >= keepLarge:
		l.buf = make([]byte, l.room+lineBuffer)
	case held == 0:
		l.small++
	case l.start > l.room && l.end == len(l.buf):
		copy(l.buf[l.room:], l.buf[l.start:l.end])
	case l.end == len(l.buf):
		larger := make([]byte, l.room+min(2*(len(l.buf)-l.room), l.max+lineBuffer))
		copy(larger[l.room:], l.buf[l.start:l.end])
		l.buf = larger
	default:
		return
	}
	l.looked -= l.start - l.room
	l.start, l.end = l.room, l.room+held
}
