package gateway

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"postern/pkg/config"
	"postern/pkg/wire"
)

// streams are the open subscriptions/listen of a session.
type streams struct {
	over chan struct{} // closed when the agent closed its end: streams are answered then

	mu   sync.Mutex
	open []*stream
	subs map[string]*subscription // by URI
}

func newStreams() *streams {
	return &streams{over: make(chan struct{}), subs: map[string]*subscription{}}
}

// end has all streams answered. It is called once.
func (t *streams) end() { close(t.over) }

// add opens a stream, unless there are too many.
func (t *streams) add(st *stream) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.open) == config.MaxStreams {
		return false
	}
	t.open = append(t.open, st)
	return true
}

func (t *streams) remove(st *stream) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open = slices.DeleteFunc(t.open, func(o *stream) bool { return o == st })
}

// all is the streams that are open now.
func (t *streams) all() []*stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.open)
}

// post gives a notification to the streams that carry what it is about.
func (t *streams) post(method string, params []byte, about string, carries func(*filter) bool) {
	for _, st := range t.all() {
		if st.wants(carries) {
			st.post(method+" "+about, method, params)
		}
	}
}

func tooManyStreams() *wire.RPCError {
	return &wire.RPCError{Code: wire.CodeInvalidRequest,
		Message: fmt.Sprintf("more than %d %s are open", config.MaxStreams, listenMethod)}
}

// subscription is one URI and how many streams want its updates. Who changes
// that holds the turn: a subscription and the end of another one must not pass
// each other on the way to the server.
type subscription struct {
	uri   string
	turn  chan struct{}
	users int // guarded by turn
	held  int // guarded by streams.mu: users, and who waits to become one
}

// hold finds or makes the subscription of a URI, which drop lets go.
func (t *streams) hold(uri string) *subscription {
	t.mu.Lock()
	defer t.mu.Unlock()
	sub := t.subs[uri]
	if sub == nil {
		sub = &subscription{uri: uri, turn: make(chan struct{}, 1)}
		t.subs[uri] = sub
	}
	sub.held++
	return sub
}

func (t *streams) drop(sub *subscription) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if sub.held--; sub.held == 0 {
		delete(t.subs, sub.uri)
	}
}

// lock waits for the turn; false when ctx ended first.
func (sub *subscription) lock(ctx context.Context) bool {
	select {
	case sub.turn <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (sub *subscription) unlock() { <-sub.turn }
