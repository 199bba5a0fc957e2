package calllog

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"postern/pkg/config"
)

// readBlock is how much is read at once.
const readBlock = 256 << 10

// errLongLine stands for a line that is too long to be a row; reading goes on
// behind it.
var errLongLine = errors.New("line too long for a row")

// forward reads the lines of a file from an offset on. What next returns is
// valid until the following call.
type forward struct{ r *bufio.Reader }

func newForward(r io.Reader) *forward {
	return &forward{bufio.NewReaderSize(r, config.LogLineBytes+1)}
}

// next returns a line without its newline, the last one also when it has none,
// then io.EOF.
func (f *forward) next() ([]byte, error) {
	line, err := f.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = f.r.ReadSlice('\n')
		}
		if err == nil || errors.Is(err, io.EOF) {
			err = errLongLine
		}
		return nil, err
	}
	if len(line) > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return bytes.TrimSuffix(line, []byte("\n")), err
}

// backward reads the lines of a file from its end to its beginning, in memory
// that does not grow with the file.
type backward struct {
	r     io.ReaderAt
	pos   int64  // buf is the content of the file from here on
	buf   []byte // not yet returned
	store []byte
	long  bool // the line that buf ends is too long; its end was let go
	done  bool
}

func newBackward(r io.ReaderAt, size int64) *backward {
	return &backward{r: r, pos: size, store: make([]byte, readBlock+config.LogLineBytes)}
}

// next returns a line without its newline and the offset at which it begins.
// The line is valid until the following call. After the first line: io.EOF.
func (b *backward) next() (line []byte, at int64, err error) {
	for {
		if i := bytes.LastIndexByte(b.buf, '\n'); i >= 0 {
			line, b.buf = b.buf[i+1:], b.buf[:i]
			return b.finish(line, b.pos+int64(i)+1)
		}
		if b.pos == 0 {
			if b.done {
				return nil, 0, io.EOF
			}
			b.done = true
			line, b.buf = b.buf, nil
			return b.finish(line, 0)
		}
		if len(b.buf) > config.LogLineBytes {
			b.buf, b.long = nil, true
		}
		n := int(min(b.pos, readBlock))
		copy(b.store[n:], b.buf)
		if _, err := b.r.ReadAt(b.store[:n], b.pos-int64(n)); err != nil {
			return nil, 0, err
		}
		b.buf = b.store[:n+len(b.buf)]
		b.pos -= int64(n)
	}
}

func (b *backward) finish(line []byte, at int64) ([]byte, int64, error) {
	if b.long || len(line) > config.LogLineBytes {
		b.long = false
		return nil, at, errLongLine
	}
	return line, at, nil
}
