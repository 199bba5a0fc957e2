package pool

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Why a queue does not let a call through.
var (
	errQueueFull = errors.New("too many calls wait for this server")
	errTooLong   = errors.New("no slot became free")
)

// queue gives out the slots of one instance (R24): `slots` calls at a time,
// `room` waiting ones. Of one session the first that came is served first;
// sessions take turns, so that one with many calls does not keep another from
// its few. Where the queue is full, the last call of the session with the most makes
// room for one of a session with fewer.
type queue struct {
	mu          sync.Mutex
	slots, room int
	busy        int
	waiting     int
	lines       map[string][]*waiter // by session; never empty lists
	turns       []string             // sessions with waiting calls, the next one first
}

// waiter is one waiting call; it gets one token: nil is its slot, errQueueFull that
// it had to make room.
type waiter struct{ turn chan error }

func newQueue(slots, room int) *queue {
	return &queue{slots: slots, room: room, lines: map[string][]*waiter{}}
}

// enter takes a slot, waiting for it at most limit and as long as ctx lives,
// and says how long that took. t is in line from when there is a slot, or a place in
// the queue. A nil error is a slot, to be given back with leave. Others are
// errQueueFull, errTooLong and ctx's cause.
func (q *queue) enter(ctx context.Context, session string, limit time.Duration, t *Ticket) (time.Duration, error) {
	q.mu.Lock()
	if q.busy < q.slots && q.waiting == 0 {
		q.busy++
		q.mu.Unlock()
		t.reach(inLine)
		return 0, nil
	}
	if q.waiting >= q.room && !q.makeRoom(session) {
		q.mu.Unlock()
		return 0, errQueueFull
	}
	w := &waiter{turn: make(chan error, 1)}
	q.add(session, w)
	q.mu.Unlock()
	t.reach(inLine)

	begin := time.Now()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	var err error
	select {
	case err = <-w.turn:
		return time.Since(begin), err
	case <-timer.C:
		err = errTooLong
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if !q.remove(session, w) && <-w.turn == nil {
		q.leave() // its turn came at this very moment
	}
	return time.Since(begin), err
}

// leave gives a slot back.
func (q *queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy--
	q.grant()
}

// resize takes other bounds at once. Calls that have a slot keep it, and those
// that wait keep their place.
func (q *queue) resize(slots, room int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.slots, q.room = slots, room
	q.grant()
}

// add puts w behind those of its session. The caller holds mu, as it does for
// grant.
func (q *queue) add(session string, w *waiter) {
	if len(q.lines[session]) == 0 {
		q.turns = append(q.turns, session)
	}
	q.lines[session] = append(q.lines[session], w)
	q.waiting++
}

// grant gives free slots to whose turn it is.
func (q *queue) grant() {
	for q.busy < q.slots && q.waiting > 0 {
		session := q.turns[0]
		line := q.lines[session]
		q.turns = q.turns[1:]
		if len(line) > 1 {
			q.turns = append(q.turns, session)
			q.lines[session] = line[1:]
		} else {
			delete(q.lines, session)
		}
		q.waiting--
		q.busy++
		line[0].turn <- nil
	}
}

// remove takes w out of the queue; false when it is out already.
func (q *queue) remove(session string, w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.takeOut(session, w)
}

// makeRoom takes the last call of the session with the most out of the queue, if
// that leaves it no fewer than one more gives to session. The caller holds mu, as it
// does for takeOut.
func (q *queue) makeRoom(session string) bool {
	most := ""
	for _, other := range q.turns {
		if len(q.lines[other]) > len(q.lines[most]) {
			most = other
		}
	}
	line := q.lines[most]
	if len(line) < len(q.lines[session])+2 {
		return false
	}
	last := line[len(line)-1]
	q.takeOut(most, last)
	last.turn <- errQueueFull
	return true
}

func (q *queue) takeOut(session string, w *waiter) bool {
	line := q.lines[session]
	at := slices.Index(line, w)
	if at < 0 {
		return false
	}
	q.waiting--
	if len(line) > 1 {
		q.lines[session] = slices.Delete(line, at, at+1)
		return true
	}
	delete(q.lines, session)
	q.turns = slices.DeleteFunc(q.turns, func(s string) bool { return s == session })
	return true
}
