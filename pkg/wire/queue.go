package wire

import "slices"

// entry is one line that waits to be written.
type entry struct {
	line  []byte
	begin func() bool
	cut   bool // it is the end of a line, with the newline
}

// queue is what waits for the writer, bounded in bytes. A line counts until it
// is written, so the bound holds for the one being written too.
type queue struct {
	entries []entry
	first   int
	bytes   int
	limit   int
}

// fits is R6: an empty queue takes any line, else the sum stays within the limit.
func (q *queue) fits(n int) bool { return q.bytes == 0 || q.bytes+n <= q.limit }

func (q *queue) push(e entry) {
	q.entries = append(q.entries, e)
	q.bytes += cost(e)
}

// unshift puts e before all others.
func (q *queue) unshift(e entry) {
	q.bytes += cost(e)
	if q.first == 0 {
		q.entries = slices.Insert(q.entries, 0, e)
		return
	}
	q.first--
	q.entries[q.first] = e
}

// cost counts the newline, which also keeps a queue of empty lines bounded.
func cost(e entry) int { return len(e.line) + 1 }

// pop takes the next line; its bytes stay counted until written.
func (q *queue) pop() (entry, bool) {
	if q.first == len(q.entries) {
		return entry{}, false
	}
	e := q.entries[q.first]
	q.entries[q.first] = entry{}
	q.first++
	switch {
	case q.first == len(q.entries):
		q.entries, q.first = q.entries[:0], 0
	case q.first >= compactAt && q.first > len(q.entries)/2:
		n := copy(q.entries, q.entries[q.first:])
		clear(q.entries[n:])
		q.entries, q.first = q.entries[:n], 0
	}
	return e, true
}

// compactAt keeps a queue that never becomes empty from growing for ever.
const compactAt = 64

func (q *queue) written(e entry) { q.bytes -= cost(e) }
