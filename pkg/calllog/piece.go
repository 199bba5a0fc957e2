package calllog

import (
	"bytes"
	"errors"
	"io"
	"os"

	"postern/pkg/config"
)

// piece is a part of a file whose lines are judged together.
type piece struct {
	file  int // index in scanner.files
	f     *os.File
	at    int64 // the lines that begin in [at, to)
	to    int64
	size  int64 // of the file: what was appended later is not there
	final bool  // no other piece of its file follows

	buf   []byte // from base on
	base  int64
	lines []lineSpan // wanted rows, and damage
	err   error
	ready chan struct{} // holds one token once the piece is judged
}

// lineSpan is a line in piece.buf without its newline.
type lineSpan struct {
	start, end int32
	row        bool // false: damage
}

// judge reads the piece and finds what is wanted in it.
func (p *piece) judge(m *matcher) {
	p.lines, p.err = p.lines[:0], nil
	i, err := p.read()
	for err == nil && i < len(p.buf) && p.base+int64(i) < p.to {
		var end int
		if end, err = p.lineEnd(i); err != nil {
			break
		}
		if end-i > config.LogLineBytes {
			p.lines = append(p.lines, lineSpan{int32(i), int32(i), false})
			i = end + 1
			continue
		}
		if line := p.buf[i:end]; !blank(line) {
			n := zeros(line)
			row, wanted := m.judge(line[n:])
			if n > 0 || !row {
				p.lines = append(p.lines, lineSpan{int32(i), int32(i), false})
			}
			if row && wanted {
				p.lines = append(p.lines, lineSpan{int32(i + n), int32(end), true})
			}
		}
		i = end + 1
	}
	p.err = err
}

// read fills buf and returns where the first line begins in it.
func (p *piece) read() (first int, err error) {
	p.base, p.buf = max(0, p.at-1), p.buf[:0]
	if err := p.extend(int(p.to - p.base)); err != nil {
		return 0, err
	}
	if p.at == 0 {
		return 0, nil
	}
	// The byte before tells whether a line begins at once.
	if first = bytes.IndexByte(p.buf, '\n') + 1; first == 0 {
		first = len(p.buf)
	}
	return first, nil
}

// extend reads n more bytes into buf, or what there is of them.
func (p *piece) extend(n int) error {
	have := len(p.buf)
	n = int(min(int64(n), p.size-p.base-int64(have)))
	if n <= 0 {
		return nil
	}
	if cap(p.buf) < have+n {
		p.buf = append(make([]byte, 0, have+n+config.LogBlock), p.buf...)
	}
	got, err := p.f.ReadAt(p.buf[have:have+n], p.base+int64(have))
	p.buf = p.buf[:have+got]
	if errors.Is(err, io.EOF) { // it became shorter meanwhile
		p.size, err = p.base+int64(len(p.buf)), nil
	}
	return err
}

// lineEnd returns where the line that begins at i ends. The last line of a piece
// is read to its end, but not far beyond the longest row.
func (p *piece) lineEnd(i int) (int, error) {
	for from := i; ; {
		if n := bytes.IndexByte(p.buf[from:], '\n'); n >= 0 {
			return from + n, nil
		}
		from = len(p.buf)
		if from-i > config.LogLineBytes || p.base+int64(from) >= p.size {
			return from, nil
		}
		if err := p.extend(config.LogBlock); err != nil {
			return 0, err
		}
	}
}

// zeros is how many zero bytes a line begins with: a crash of the machine can leave
// them in the place of what was about to be written.
func zeros(line []byte) (n int) {
	for n < len(line) && line[n] == 0 {
		n++
	}
	return n
}

func blank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

// cursor gives the pieces of some files in order.
type cursor struct {
	s       *scanner
	files   []int // still to come
	reverse bool  // the pieces of each file from its end
	length  int64 // of a piece

	f        *os.File // open; nil: the next file is to be opened
	file     int
	from, to int64 // of the open file, what is left of it
	size     int64
}

// next fills p with the next piece; false when there is none any more.
func (c *cursor) next(p *piece) (ok bool, err error) {
	for c.f == nil {
		if len(c.files) == 0 {
			return false, nil
		}
		if err := c.open(); err != nil {
			return false, err
		}
	}
	p.file, p.f, p.size, p.at, p.to = c.file, c.f, c.size, c.from, c.to
	if c.reverse {
		p.at = max(c.from, c.to-c.length)
		c.to = p.at
	} else {
		p.to = min(c.to, c.from+c.length)
		c.from = p.to
	}
	if p.final = c.from >= c.to; p.final {
		c.f = nil
	}
	return true, nil
}

// open opens the next file in which something is to be read.
func (c *cursor) open() error {
	i := c.files[0]
	c.files = c.files[1:]
	f, err := c.s.open(i)
	if f == nil {
		return err
	}
	c.from, c.to, c.size, err = c.s.bounds(i, f)
	if err != nil || c.from >= c.to {
		return errors.Join(err, f.Close())
	}
	c.f, c.file = f, i
	return nil
}
