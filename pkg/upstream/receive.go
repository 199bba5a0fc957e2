package upstream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"postern/pkg/config"
	"postern/pkg/wire"
)

// receiver is what the reader goroutine alone knows.
type receiver struct {
	c          *Client
	noiseLines int // in a row
	noiseBytes int
	window     time.Time // the second in which notifications are counted
	count      int
}

// read delivers what comes on stdout until it ends. After a failure it goes on
// reading and forgets, so that the child can end by itself.
func (c *Client) read(stdout io.Reader) {
	defer close(c.readEnd)
	r := wire.NewReader(stdout, c.o.MaxMessage)
	in := &receiver{c: c}
	for {
		line, err := r.Next()
		var long *wire.TooLongError
		switch {
		case err == nil:
			in.line(line)
		case errors.As(err, &long):
			in.tooLong(long)
		default:
			return
		}
		if c.broken() {
			io.Copy(io.Discard, stdout) // ends when teardown closes it at the latest
			return
		}
	}
}

// broken is whether the connection ended by the server's fault.
func (c *Client) broken() bool {
	select {
	case <-c.down:
		return c.Err().Word == Protocol
	default:
		return false
	}
}

func (in *receiver) line(line []byte) {
	m, err := wire.Parse(line)
	if err != nil {
		in.unreadable(line, err)
		return
	}
	in.noiseLines, in.noiseBytes = 0, 0
	switch m.Kind {
	case wire.Response:
		in.response(m)
	case wire.Notification:
		in.notification(m)
	case wire.Request:
		in.c.asked(m)
	}
}

// unreadable sorts out a line that is no message: a broken answer to a call of
// ours is that call's failure, a batch of the one revision that has them is
// taken apart, all else is noise (R2, R3, R5).
func (in *receiver) unreadable(line []byte, err error) {
	var bad *wire.ParseError
	if !errors.As(err, &bad) {
		bad = &wire.ParseError{Noise: true}
	}
	if bad.Batch && in.c.Info().Protocol == batchRevision {
		if parts, err := wire.SplitBatch(line, config.MaxBatch); err == nil {
			for _, part := range parts {
				in.part(part)
			}
			return
		}
	}
	if !bad.Noise || answers(line) {
		if p := in.c.take(bad.ID); p != nil {
			p.done <- outcome{failure: in.c.protocol("a response that breaks the protocol: " + bad.Reason)}
			return
		}
	}
	in.noise(line)
}

// answers is whether a line without a jsonrpc member was meant as a response
// all the same: a line of a structured log may have an id too.
func answers(line []byte) bool {
	var at [2]wire.Span
	return wire.Lookup(line, []string{"result", "error"}, at[:]) == nil && at[0].Ok() != at[1].Ok()
}

// part is one element of a batch; a batch within a batch is noise.
func (in *receiver) part(part []byte) {
	if len(part) > 0 && part[0] == '[' {
		in.noise(part)
		return
	}
	in.line(part)
}

func (in *receiver) tooLong(err *wire.TooLongError) {
	detail := fmt.Sprintf("a message of more than %d bytes (max_message_bytes)", err.Max)
	id, _ := wire.HeadID(err.Head)
	if p := in.c.take(id); p != nil {
		p.done <- outcome{failure: in.c.protocol(detail)}
		return
	}
	in.c.fail(Failure{Word: Protocol, Detail: detail})
}

// noise is kept in the log and counted; too much of it in a row means that this
// is no server (R3).
func (in *receiver) noise(line []byte) {
	in.c.noise.Add(1)
	in.c.log.noise(line)
	in.noiseLines++
	in.noiseBytes += len(line)
	if in.noiseLines >= config.NoiseLines || in.noiseBytes >= config.NoiseBytes {
		in.c.fail(Failure{Word: Protocol, Detail: fmt.Sprintf(
			"%d lines in a row on its stdout are no JSON-RPC", in.noiseLines)})
	}
}

// response delivers an answer. One nobody waits for, late or given twice, is
// dropped.
func (in *receiver) response(m wire.Message) {
	p := in.c.take(m.IDBytes())
	if p == nil {
		in.c.dropped.Add(1)
		return
	}
	p.done <- outcome{message: m}
}

// take finds the call with this id and takes it out of the table. What was not
// asked yet cannot be answered.
func (c *Client) take(id []byte) *pending {
	n, ok := number(id)
	if !ok {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.calls[n]
	if p == nil || p.stage.Load() != written {
		return nil
	}
	delete(c.calls, n)
	return p
}

// number reads an id or token of ours: plain digits, as we wrote them.
func number(raw []byte) (uint64, bool) {
	if len(raw) == 0 || len(raw) > 20 || raw[0] == '0' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(raw), 10, 64)
	return n, err == nil
}

func (c *Client) protocol(detail string) *Failure {
	return &Failure{Word: Protocol, Server: c.o.Server, Detail: detail, Stderr: c.lastWords()}
}

func (in *receiver) notification(m wire.Message) {
	if m.Method == methodCancelled { // counts for no flood: somebody may be working in vain
		in.c.withdrawn(m.ParamsBytes())
		return
	}
	if !in.allowed(time.Now()) {
		in.c.dropped.Add(1)
		return
	}
	switch m.Method {
	case methodProgress:
		in.c.step(m.ParamsBytes())
	default:
		if in.c.o.Notify != nil {
			in.c.o.Notify(m)
		}
	}
}

// allowed counts notifications by the second (R3).
func (in *receiver) allowed(now time.Time) bool {
	if now.Sub(in.window) >= time.Second {
		in.window, in.count = now, 0
	}
	in.count++
	return in.count <= config.NotificationsPerSecond
}

// step hands one progress message on, with the caller's token in it. One with a
// token nobody issued is dropped.
func (c *Client) step(params []byte) {
	var at [1]wire.Span
	if wire.Lookup(params, []string{"progressToken"}, at[:]) != nil {
		c.dropped.Add(1)
		return
	}
	p := c.find(at[0].Of(params))
	if p == nil {
		c.dropped.Add(1)
		return
	}
	p.step(c, params, at[0])
}

// step takes one progress message in, unless the call ended since it was found,
// or p is another call by now.
func (p *pending) step(c *Client, params []byte, token wire.Span) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.id == 0 || !bytes.Equal(p.digits, token.Of(params)) || p.token == nil {
		return
	}
	p.steps++
	p.alive.Store(int64(p.clock(c)))
	if p.progress != nil {
		p.progress(wire.Splice(params, wire.Edit{Span: token, New: p.token}))
	}
}

func (c *Client) find(token []byte) *pending {
	n, ok := number(token)
	if !ok {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[n]
}
