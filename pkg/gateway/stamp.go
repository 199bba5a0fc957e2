package gateway

import (
	"bytes"

	"postern/pkg/calllog"
)

// stampBytes is what a stamp takes of a line.
const stampBytes = calllog.IDBytes + 1

// unstamped takes the stamp off a line where lines have one, and keeps it for the
// request in the line. What the bridge gives a row's id it can tell the log about
// when the hub is lost before it did (C81).
func (s *session) unstamped(line []byte) ([]byte, error) {
	if !s.o.Stamped {
		return line, nil
	}
	id, rest, found := bytes.Cut(line, []byte{' '})
	if !found || !calllog.IsID(string(id)) {
		return nil, ErrStamp
	}
	s.stamp = string(id)
	return rest, nil
}

// takeStamp is the stamp of the line that is being read, once: of several requests
// in a batch the first has it.
func (s *session) takeStamp() string {
	id := s.stamp
	s.stamp = ""
	return id
}
