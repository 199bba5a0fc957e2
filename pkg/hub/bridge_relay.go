package hub

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"time"

	"postern/pkg/calllog"
	"postern/pkg/config"
)

// fromAgent takes the agent's lines one after the other until there are no more.
func (b *bridge) fromAgent(stdin io.Reader) error {
	in := newLines(stdin, stampBytes, config.AgentMessageBytes)
	for {
		framed, err := in.next()
		if err != nil && err != errLong { // of a line over the cap the hub gets so much that it refuses it
			if err == io.EOF {
				return nil
			}
			return err
		}
		if len(bytes.TrimSpace(framed[stampBytes:])) == 0 {
			continue
		}
		if err := b.send(framed); err != nil {
			if err == errGone {
				return nil
			}
			return err
		}
	}
}

// send passes one line on, or keeps it until there is a hub. What waits is
// bounded: then the agent's own output waits.
func (b *bridge) send(framed []byte) error {
	b.sending.Lock()
	defer b.sending.Unlock()
	for b.link == nil && b.waits > config.BridgeWaiting && !b.stopped && !b.ending {
		b.room.Wait() // ends with the next hub, or with the session
	}
	switch {
	case b.stopped:
		return b.answerStopped(framed[stampBytes:])
	case b.link == nil:
		b.keep(framed)
		return nil
	}
	return b.pass(b.link, framed)
}

// keep has a line wait, with sending held.
func (b *bridge) keep(framed []byte) {
	b.waiting, b.waits = append(b.waiting, bytes.Clone(framed)), b.waits+len(framed)
}

// pass stamps a line and writes it to a hub, with sending held. A line of which the
// hub cannot have read the whole waits for the next one.
func (b *bridge) pass(l *link, framed []byte) error {
	now := time.Now()
	calllog.AppendID(framed[:0], now)
	framed[stampBytes-1] = ' '
	line := framed[stampBytes : len(framed)-1]
	b.mu.Lock()
	out, ids := b.memory.sent(line, framed[:calllog.IDBytes], now)
	b.mu.Unlock()
	switch {
	case out == nil:
		return nil
	case &out[0] != &line[0]:
		framed = append(append(bytes.Clone(framed[:stampBytes]), out...), '\n')
	}
	bare := framed
	if l.alone != nil {
		bare = framed[stampBytes:]
	}
	n, err := l.write(bare, now, b.gone)
	if err == nil {
		return nil
	}
	if n < len(bare)-1 {
		b.mu.Lock()
		b.memory.unsent(ids)
		b.mu.Unlock()
		b.keep(framed)
	}
	if err == errGone {
		return err
	}
	b.link = nil
	_ = l.conn.Close() // its reader notices, and finds another
	return nil
}

// tell writes one line of the bridge's own to the agent.
func (b *bridge) tell(line []byte) error { return b.write(append(line, '\n')) }

func (b *bridge) write(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	_, err := b.out.Write(p)
	return err
}

// fromHubs takes the lines of one hub after the other until the session is over.
func (b *bridge) fromHubs(ctx context.Context, l *link) error {
	for {
		if err := b.relay(l); err != nil {
			return err
		}
		if l.alone != nil {
			return <-l.alone // it is over: its output ended
		}
		next, err := b.lose(ctx, l)
		if err != nil || next == nil {
			return err
		}
		b.adopt(next)
		l = next
	}
}

// relay passes on what a hub says until it says no more. The error is of writing
// to the agent.
func (b *bridge) relay(l *link) error {
	for {
		chunk, err := l.lines.chunk()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded) && l.phase == resuming:
			b.release(l) // a server takes its time with what was repeated
			continue
		case err != nil:
			return nil
		}
		if err := b.deliver(chunk); err != nil {
			return err
		}
		if l.phase != ready {
			b.proceed(l)
		}
	}
}

// deliver notes the lines of a chunk and writes them to the agent, in one write
// where nothing is in between that it does not get as it is.
func (b *bridge) deliver(chunk []byte) error {
	from := 0
	for at := 0; at < len(chunk); {
		end := at + bytes.IndexByte(chunk[at:], '\n') + 1
		line := chunk[at : end-1]
		out := b.note(line)
		if len(line) > 0 && (len(out) == 0 || &out[0] != &line[0]) {
			if err := b.write(chunk[from:at]); err != nil {
				return err
			}
			from = end
			if out != nil {
				if err := b.tell(out); err != nil {
					return err
				}
			}
		}
		at = end
	}
	return b.write(chunk[from:])
}

// note notes one line of the hub and tells what the agent gets of it.
func (b *bridge) note(line []byte) []byte {
	if isStopped(line) {
		b.sending.Lock()
		b.stopped = true
		b.sending.Unlock()
		return nil
	}
	if bytes.HasPrefix(line, ownLine) {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.memory.heard(line)
}
