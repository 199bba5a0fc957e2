package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"postern/pkg/call"
	"postern/pkg/calllog"
	"postern/pkg/config"
	"postern/pkg/gateway"
	"postern/pkg/wire"
)

// Caller is the session of a command, which makes one request after the other.
// Its methods are for one goroutine at a time. Whoever opened it calls Close.
type Caller struct {
	conn  net.Conn
	lines *wire.Reader
	agent call.Agent // whom servers may ask and tell; nil = nobody
	begin []byte     // the handshake of MCP, which goes out with the first request

	mu    sync.Mutex // of writes and of asked
	asked map[string]context.CancelCauseFunc
}

// OpenCaller says hello on conn, which is the Caller's from then on, and hands
// over the variables that the hub wants, of those that lookup knows. What servers
// ask and tell goes to agent; nil is nobody. It takes HubLineWait at most, or until
// ctx ends. On an error conn is closed: a *RemoteError, a *LostError, what ended ctx,
// or one that says that the answer is no hub's.
func OpenCaller(ctx context.Context, conn net.Conn, h Hello, lookup func(name string) (string, bool), agent call.Agent) (*Caller, error) {
	c := &Caller{conn: conn, lines: wire.NewReader(conn, longest), agent: agent, asked: map[string]context.CancelCauseFunc{}}
	if _, err := introduce(ctx, conn, c.lines.Next, h, lookup); err != nil {
		conn.Close()
		return nil, err
	}
	c.initialize(h)
	return c, nil
}

// initialize prepares the handshake. Its answers say nothing that a command
// needs, and nobody waits for them.
func (c *Caller) initialize(h Hello) {
	capabilities, level := []byte("{}"), ""
	if c.agent != nil {
		capabilities, level = c.agent.Capabilities(), c.agent.Level()
	}
	params := append([]byte(`{"protocolVersion":"2025-11-25","capabilities":`), capabilities...)
	params = append(append(params, `,"clientInfo":{"name":`...), wire.Quote(h.Via)...)
	params = append(append(params, `,"version":`...), wire.Quote(h.Version)...)
	c.begin = stamped(nil, newRow(), wire.RequestLine([]byte("0"), "initialize", append(params, '}', '}')))
	c.begin = stamped(c.begin, newRow(), wire.NotificationLine("notifications/initialized", nil))
	if level != "" {
		params := append(append([]byte(`{"level":`), wire.Quote(level)...), '}')
		c.begin = stamped(c.begin, newRow(), wire.RequestLine([]byte("1"), "logging/setLevel", params))
	}
}

func newRow() string { return calllog.NewID(time.Now()) }

// stamped adds a line with the id of its row before it (C81).
func stamped(out []byte, row string, line []byte) []byte {
	return append(append(append(append(out, row...), ' '), line...), '\n')
}

// Do makes one request, whose row has the id row, and returns the response. Its
// progress goes to progress, which must not block. When ctx ends, the request is
// cancelled with the text of its cause as the reason, as overdue where that is a
// context.DeadlineExceeded, and that cause is the error. A *LostError means that
// the request may have been carried out. After an error the Caller is good for
// nothing but Close.
func (c *Caller) Do(ctx context.Context, row, method string, params []byte, progress func(params []byte)) (wire.Message, error) {
	stop := bounded(ctx, c.conn)
	defer stop()
	defer c.unask(nil, errAnswered)
	id := wire.Quote(row)
	out := stamped(c.begin, row, wire.RequestLine(id, method, params))
	c.begin = nil
	if err := c.write(out); err != nil {
		stop()
		return wire.Message{}, c.ended(ctx, id, err)
	}
	for {
		line, err := c.lines.Next()
		if err != nil {
			stop()
			return wire.Message{}, c.ended(ctx, id, err)
		}
		m, err := wire.Parse(line)
		switch {
		case isStopped(line):
			return wire.Message{}, &LostError{errStopped}
		case err != nil: // half a line
			return wire.Message{}, &LostError{fmt.Errorf("%w: %w", io.ErrUnexpectedEOF, err)}
		case m.Kind == wire.Response && bytes.Equal(m.IDBytes(), id):
			m.Raw = bytes.Clone(m.Raw)
			return m, nil
		case m.Kind == wire.Notification && m.Method == "notifications/progress":
			progress(bytes.Clone(m.ParamsBytes()))
		case m.Kind == wire.Notification:
			c.hear(m)
		case m.Kind == wire.Request:
			m.Raw = bytes.Clone(m.Raw)
			c.ask(ctx, m)
		}
	}
}

// errAnswered ends the questions of a request that has its answer.
var errAnswered = errors.New("the request is over")

// hear takes what a server tells.
func (c *Caller) hear(m wire.Message) {
	var at [1]wire.Span
	switch {
	case m.Method != "notifications/cancelled":
		if c.agent != nil {
			c.agent.Notify(m.Method, bytes.Clone(m.ParamsBytes()))
		}
	case wire.Lookup(m.ParamsBytes(), []string{"requestId"}, at[:]) == nil && at[0].Ok():
		c.unask(at[0].Of(m.ParamsBytes()), errors.New("the server does not ask any more"))
	}
}

// ask has the agent answer a question; maxAsked at a time are.
func (c *Caller) ask(ctx context.Context, m wire.Message) {
	if m.Method == "ping" {
		_ = c.write(stamped(nil, newRow(), wire.ResultLine(m.IDBytes(), []byte("{}")))) // the next read tells
		return
	}
	ctx, ok := c.asks(ctx, m.IDBytes())
	if !ok {
		refusal := &wire.RPCError{Code: wire.CodeMethodNotFound, Message: "nobody is here to be asked"}
		_ = c.write(stamped(nil, newRow(), wire.ErrorLine(m.IDBytes(), refusal)))
		return
	}
	go func() { // ends with the agent's answer, or soon after unask
		said, err := c.agent.Ask(ctx, m.Method, m.ParamsBytes(), func([]byte) {})
		if ctx.Err() == nil {
			line := wire.ErrorLine(m.IDBytes(), &wire.RPCError{Code: wire.CodeInternal, Message: "there is no answer"})
			if err == nil {
				line = said.WithID(m.IDBytes())
			}
			_ = c.write(stamped(nil, newRow(), line)) // the next read tells
		}
		c.unask(m.IDBytes(), errAnswered)
	}()
}

// asks notes a question, whose context ends with unask; false when nobody can be
// asked.
func (c *Caller) asks(ctx context.Context, id []byte) (context.Context, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.agent == nil || len(c.asked) >= maxAsked {
		return ctx, false
	}
	ctx, cancel := context.WithCancelCause(ctx)
	c.asked[wire.IDKey(id)] = cancel
	return ctx, true
}

// maxAsked is how many questions a person is asked at the same time.
const maxAsked = 16

// unask ends the question with that id; nil is all of them.
func (c *Caller) unask(id []byte, why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, cancel := range c.asked {
		if id == nil || key == wire.IDKey(id) {
			cancel(why)
			delete(c.asked, key)
		}
	}
}

func (c *Caller) write(lines []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.conn.Write(lines)
	return err
}

// ended is why there is no response. A request that is not wanted any more is
// cancelled, and the hub given a moment to read that.
func (c *Caller) ended(ctx context.Context, id []byte, err error) error {
	if ctx.Err() == nil {
		return &LostError{err}
	}
	_ = c.conn.SetDeadline(time.Now().Add(config.HubGoodbye))
	params := append(append([]byte(`{"requestId":`), id...), `,"reason":`...)
	params = append(params, wire.Quote(context.Cause(ctx).Error())...)
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		params = append(params, `,"_meta":{"`+gateway.TimeLimit+`":true}`...)
	}
	params = append(params, '}')
	err = c.write(stamped(nil, newRow(), wire.NotificationLine("notifications/cancelled", params)))
	half, ok := c.conn.(interface{ CloseWrite() error })
	if err == nil && ok && half.CloseWrite() == nil {
		_, _ = io.Copy(io.Discard, c.conn) // ends when the hub has read all of it, or at the deadline
	}
	return context.Cause(ctx)
}

// Close ends the session; what it asked for and has no answer yet is cancelled.
func (c *Caller) Close() error { return c.conn.Close() }
