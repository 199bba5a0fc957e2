package hub

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net"
	"slices"
	"time"

	"postern/pkg/config"
)

// firstLines reads the lines that a connection begins with, and gives back what
// it read too far.
type firstLines struct {
	conn *net.UnixConn
	read []byte // and not given out
}

// errNoLine says that what came is longer than a first line. It is kept.
var errNoLine = errors.New("no line of the hub's own")

// next is the next line without its end, of at most max bytes, if it comes within
// HubLineWait. It is the caller's.
func (l *firstLines) next(max int) ([]byte, error) {
	if err := l.conn.SetReadDeadline(time.Now().Add(config.HubLineWait)); err != nil {
		return nil, err
	}
	for seen := 0; ; {
		if i := bytes.IndexByte(l.read[seen:], '\n'); i >= 0 {
			text := slices.Clone(l.read[:seen+i])
			l.read = l.read[seen+i+1:]
			return text, l.conn.SetReadDeadline(time.Time{})
		}
		if seen = len(l.read); seen > max {
			return nil, cmp.Or(l.conn.SetReadDeadline(time.Time{}), errNoLine)
		}
		l.read = slices.Grow(l.read, min(max+1, seen+firstRead)-seen)
		n, err := l.conn.Read(l.read[seen:min(cap(l.read), max+1)])
		l.read = l.read[:seen+n]
		if err == io.EOF && len(l.read) > 0 { // a last line needs no end
			text := l.read
			l.read = nil
			return text, nil
		}
		if err != nil && n == 0 {
			return nil, err
		}
	}
}

// firstRead is how much is read at once: a hello is some hundred bytes.
const firstRead = 4 << 10

// rest is what comes after the lines that were taken, without giving up what was
// read of it. begin comes first.
func (l *firstLines) rest(begin ...byte) io.Reader {
	if len(begin)+len(l.read) == 0 {
		return l.conn
	}
	return io.MultiReader(bytes.NewReader(slices.Concat(begin, l.read)), l.conn)
}
