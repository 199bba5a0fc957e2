package gateway

import (
	"context"
	"fmt"
	"sync"

	"postern/pkg/call"
	"postern/pkg/wire"
)

// unsent is the answers of a session that are not in the agent's queue: they wait
// for room in it, or for the rest of their batch. An agent that does not read is not
// dead (R6), and what it may make the gateway keep is bounded all the same:
//
//   - as long as anything waits for room, nothing more is read from the agent. What it
//     goes on writing stays in its own pipe, and calls whose answers nobody takes are
//     not made. Its end, and a cancellation, is seen once it reads again, a write
//     fails or the process is told to end.
//   - what was under way by then goes on. Its answers are kept up to most; of what is
//     more the agent is told, under the same id, that there was an answer.
type unsent struct {
	most int // bytes

	mu    sync.Mutex
	bytes int           // of all of them
	waits int           // how many wait for room
	fewer chan struct{} // closed when the agent is to be read from again; nil = it is
}

// smallAnswer is kept in any case: what would be said in its place is no smaller.
// There are no more than requests under way, and those of one batch.
const smallAnswer = 1 << 10

// keep takes an answer in, or what is to be said in its place. drop lets it go.
func (u *unsent) keep(line []byte) []byte {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(line) > smallAnswer && u.bytes+len(line) > u.most {
		line = unkept(line)
	}
	u.bytes += len(line)
	return line
}

func (u *unsent) drop(bytes int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.bytes -= bytes
	u.tell()
}

// wait notes that one more waits for room, n being 1, or one less, n being -1.
func (u *unsent) wait(n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.waits += n
	u.tell()
}

// full reports whether nothing is to be read from the agent, with mu held.
func (u *unsent) full() bool { return u.waits > 0 || u.bytes > u.most }

// tell has the agent read from again when that is due, with mu held.
func (u *unsent) tell() {
	if u.fewer != nil && !u.full() {
		close(u.fewer)
		u.fewer = nil
	}
}

// pause returns when something may be read from the agent, or ctx ends.
func (u *unsent) pause(ctx context.Context) {
	u.mu.Lock()
	if !u.full() {
		u.mu.Unlock()
		return
	}
	if u.fewer == nil {
		u.fewer = make(chan struct{})
	}
	fewer := u.fewer
	u.mu.Unlock()
	select {
	case <-fewer:
	case <-ctx.Done():
	}
}

// unkept is the answer in place of one that is not kept. A line that is no answer
// stays.
func unkept(line []byte) []byte {
	m, err := wire.Parse(line)
	if err != nil || m.Kind != wire.Response {
		return line
	}
	r := &call.Refusal{Step: call.StepDispatch, Word: call.Overload, Remedy: "read the answers of earlier requests",
		Message: fmt.Sprintf("the answer of %d bytes was not kept, as the client does not read; what was asked for was done", len(line))}
	return wire.ErrorLine(m.IDBytes(), r.RPC())
}

// send queues one line for the agent, nil being none. Without room in the queue it
// waits there until the session ends, within the bounds of unsent.
func (s *session) send(line []byte) {
	if line == nil || s.out.Send(line, nil) != wire.ErrOverload { // other errors end the session, or cannot be
		return
	}
	line = s.unsent.keep(line)
	s.push(line)
	s.unsent.drop(len(line))
}

// push queues a line that is kept.
func (s *session) push(line []byte) {
	s.unsent.wait(1)
	defer s.unsent.wait(-1)
	_ = s.out.SendWait(s.ctx, line) // the session ends with it
}

// deliver queues one line that is bounded otherwise, as long as ctx and the session
// live; the error says that it was not queued.
func (s *session) deliver(ctx context.Context, line []byte) error {
	err := s.out.Send(line, nil)
	if err != wire.ErrOverload {
		return err // a line over the cap cannot come from a server below its own; a failed write ends the session
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(s.ctx, func() { end(context.Cause(s.ctx)) })()
	return s.out.SendWait(ctx, line)
}
