package gateway

import (
	"context"
	"slices"
	"sync"

	"postern/pkg/config"
	"postern/pkg/wire"
)

// stream is one open subscriptions/listen. What is posted to it goes out at once,
// but not before the acknowledgement, and not past what is kept because the agent
// does not read.
type stream struct {
	id   []byte          // of the request, as the agent wrote it; it names the stream
	ctx  context.Context // of the request: nothing is posted once it is cancelled
	out  *wire.Writer
	wake chan struct{} // one token: something is kept

	mu     sync.Mutex
	filter filter
	told   [listKinds]string // digests of the lists that it was told of last
	open   bool              // nothing is kept, and the acknowledgement is out
	kept   []posted
	bytes  int // of kept
}

// posted is a notification on its way, and what it is about.
type posted struct {
	about string
	line  []byte
}

func newStream(r *request, out *wire.Writer, f *filter) *stream {
	return &stream{id: r.id, ctx: r.ctx, out: out, wake: make(chan struct{}, 1), filter: *f}
}

// carry sets what the stream carries from now on.
func (st *stream) carry(f *filter) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.filter = *f
}

// acknowledgement is the first message of the stream.
func (st *stream) acknowledgement(f *filter) []byte {
	var params object
	params.raw("notifications", f.json())
	return wire.NotificationLine("notifications/subscriptions/acknowledged", withSubscription(params.bytes(), st.id))
}

// post sends a notification on the stream; it does not wait. Of what cannot go
// out the latest about each thing is kept, up to config.StreamBytes.
func (st *stream) post(about, method string, params []byte) {
	line := wire.NotificationLine(method, withSubscription(params, st.id))
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ctx.Err() != nil || st.open && st.out.Send(line, nil) != wire.ErrOverload {
		return
	}
	st.open = false
	if i := slices.IndexFunc(st.kept, func(p posted) bool { return p.about == about }); i >= 0 {
		st.bytes -= len(st.kept[i].line)
		st.kept = slices.Delete(st.kept, i, i+1)
	}
	if st.bytes+len(line) > config.StreamBytes {
		return
	}
	st.kept = append(st.kept, posted{about, line})
	st.bytes += len(line)
	select {
	case st.wake <- struct{}{}:
	default: // it is awake
	}
}

// take is what is kept, in order; nil opens the stream.
func (st *stream) take() (lines [][]byte) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, p := range st.kept {
		lines = append(lines, p.line)
	}
	st.kept, st.bytes, st.open = nil, 0, lines == nil
	return lines
}

// differing names the groups of lists that the stream carries and that are not
// what it was told of last, each once, and takes it that it is told now. shown is
// what the agent has seen by itself since: of that it is not told.
func (st *stream) differing(o *offer, shown *[listKinds]string) (groups []string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for k := range listKinds {
		now := o.lists[k].digest
		known := st.told[k] == now || shown[k] == now
		st.told[k] = now
		if !known && slices.Contains(st.filter.groups, k.group()) && !slices.Contains(groups, k.group()) {
			groups = append(groups, k.group())
		}
	}
	return groups
}

// wants reports whether the stream carries something.
func (st *stream) wants(carries func(*filter) bool) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return carries(&st.filter)
}
