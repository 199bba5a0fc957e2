package wire

import (
	"bytes"
	"io"
)

const (
	readBuffer = 64 << 10 // what a pipe holds
	headBytes  = 64 << 10 // how far into a refused line its id is looked for (R1)
	emptyReads = 100      // reads in a row that bring nothing
)

// Reader cuts a stream into lines (R1). It is for one goroutine. It holds at
// most one line of the cap and one buffer, and never closes what it reads from.
type Reader struct {
	r        io.Reader
	max      int
	buf      []byte // read and not yet looked at
	space    []byte // what buf lies in
	line     []byte // the beginning of a line whose end is not read yet
	begun    bool   // the first line of the stream is over
	skipping bool   // the rest of a refused line comes first
	err      error
}

// NewReader reads lines of at most max bytes, without their newline, from r.
func NewReader(r io.Reader, max int) *Reader {
	return &Reader{r: r, max: max, space: make([]byte, readBuffer)}
}

// TooLongError says that a line was refused because it is over the cap.
type TooLongError struct {
	Max  int
	Head []byte // the first bytes of the line, at most 64 KiB; see HeadID
}

func (e *TooLongError) Error() string { return "line of more than " + itoa(e.Max) + " bytes" }

// Next returns the next line that is not blank, without newline and the CR and
// spaces before it, and without a byte order mark at the start of the stream.
// The slice is the caller's to keep. A last line without newline is delivered;
// then the error is io.EOF, or what the reader under it returned, for good. A
// line over the cap is a *TooLongError the moment its bytes exceed it; the Next
// after that discards the rest of it and goes on.
func (r *Reader) Next() ([]byte, error) {
	for {
		line, whole := r.cut()
		if len(line) > r.max {
			r.begun, r.skipping = true, !whole
			return nil, &TooLongError{Max: r.max, Head: bytes.Clone(line[:min(len(line), headBytes)])}
		}
		if whole {
			if line = r.trim(line); len(line) > 0 {
				return line, nil
			}
			continue
		}
		if r.err != nil {
			return r.last()
		}
		r.fill()
	}
}

// cut takes what is buffered up to the next newline. A whole line is a slice of
// its own; one that exceeds the cap may be anything longer than the cap.
func (r *Reader) cut() (line []byte, whole bool) {
	end := bytes.IndexByte(r.buf, '\n')
	if r.skipping {
		if end < 0 {
			r.buf = nil
			return nil, false
		}
		r.skipping = false
		r.buf = r.buf[end+1:]
		end = bytes.IndexByte(r.buf, '\n')
	}
	part := r.buf
	if end >= 0 {
		part, r.buf = r.buf[:end], r.buf[end+1:]
	} else {
		r.buf = nil
	}
	r.grow(len(part))
	r.line = append(r.line, part...)
	if end < 0 && len(r.line) <= r.max {
		return nil, false
	}
	line, r.line = r.line, nil
	return line, end >= 0
}

// grow makes room for n more bytes: exactly for a first part, which mostly is
// the whole line, doubling up to the cap for a line that comes in many.
func (r *Reader) grow(n int) {
	have := len(r.line)
	if cap(r.line)-have >= n {
		return
	}
	size := have + n
	if have > 0 {
		size = max(size, min(2*size, r.max+readBuffer))
	}
	r.line = append(make([]byte, 0, size), r.line...)
}

// fill reads once more, and notes the error that ends the stream.
func (r *Reader) fill() {
	for range emptyReads {
		n, err := r.r.Read(r.space)
		r.buf, r.err = r.space[:n], err
		if n > 0 || err != nil {
			return
		}
	}
	r.err = io.ErrNoProgress
}

// last delivers a line that the end of the stream cut off. After any other
// error it is not known to be a line.
func (r *Reader) last() ([]byte, error) {
	line := r.trim(r.line)
	r.line = nil
	if r.err == io.EOF && len(line) > 0 {
		return line, nil
	}
	return nil, r.err
}

// trim takes off what is tolerated around a line.
func (r *Reader) trim(line []byte) []byte {
	if !r.begun {
		r.begun = true
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	return bytes.TrimRight(line, " \t\r")
}
