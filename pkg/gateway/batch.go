package gateway

import (
	"bytes"
	"sync"

	"postern/pkg/config"
	"postern/pkg/wire"
)

// batch handles a JSON array of messages, which only revision 2025-03-26 knows,
// and answers with one array once every request in it is answered (R5).
func (s *session) batch(line []byte) {
	parts, err := wire.SplitBatch(line, config.MaxBatch)
	if err != nil {
		s.send(wire.ErrorLine(nil, &wire.RPCError{Code: wire.CodeInvalidRequest, Message: err.Error()}))
		return
	}
	c := &collector{s: s}
	messages := make([]wire.Message, 0, len(parts))
	for _, part := range parts {
		m, err := wire.Parse(part)
		switch {
		case err != nil:
			c.keep(parseError(err))
		case m.Kind == wire.Request && m.Method == "initialize":
			if c.missing == 0 {
				s.stamp = "" // it was this one's
			}
			c.keep(wire.ErrorLine(m.IDBytes(), &wire.RPCError{
				Code: wire.CodeInvalidRequest, Message: "initialize cannot be part of a batch"}))
		default:
			messages = append(messages, m)
			if m.Kind == wire.Request {
				c.missing++
			}
		}
	}
	c.flush()
	for _, m := range messages {
		if s.message(m, c.add); m.Kind == wire.Request {
			s.stamp = "" // the first one's alone, also where that has no row
		}
	}
}

// collector gathers the answers of one batch, which count as unsent.
type collector struct {
	s       *session
	mu      sync.Mutex
	missing int
	answers [][]byte
	bytes   int // of them
	sent    bool
}

// keep takes one answer in, with mu held once there are several goroutines.
func (c *collector) keep(line []byte) {
	line = c.s.unsent.keep(line)
	c.answers = append(c.answers, line)
	c.bytes += len(line)
}

// add takes one answer, nil for a request that gets none.
func (c *collector) add(line []byte) {
	c.mu.Lock()
	if line != nil {
		c.keep(line)
	}
	c.missing--
	c.mu.Unlock()
	c.flush()
}

// flush sends the array when nothing is missing.
func (c *collector) flush() {
	c.mu.Lock()
	ready := c.missing == 0 && !c.sent && len(c.answers) > 0
	c.sent = c.sent || ready
	answers := c.answers
	if ready {
		c.answers = nil
	}
	c.mu.Unlock()
	if ready {
		c.s.push(append(append([]byte{'['}, bytes.Join(answers, []byte{','})...), ']'))
		c.s.unsent.drop(c.bytes)
	}
}
