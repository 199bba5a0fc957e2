package pool

import (
	"context"
	"sync/atomic"

	"postern/pkg/config"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// level is the place of a log level among the protocol's eight, 1 the most
// talkative; 0 is none. It is used atomically.
type level = atomic.Int32

func levels() [8]string {
	return [...]string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
}

// rank is the place of a word; 0 for anything else.
func rank(word string) int32 {
	if word == "" {
		return 0 // most want none
	}
	for n, w := range levels() {
		if w == word {
			return int32(n + 1)
		}
	}
	return 0
}

// info is what a session is shown that named no level, when others made the
// server tell more.
const info = 2

// tune has the server tell what the session of a call wants to know. A modern
// server is told with the call, by a modern agent itself. A legacy one is told before it, and only when the
// lowest level that its sessions want is another than it was told last; it is not
// waited for longer than config.LevelWait, and not told again if it refuses.
func (i *Instance) tune(ctx context.Context, u *user, call *upstream.Call) {
	if u.peer == nil {
		return
	}
	word := u.peer.Level()
	switch {
	case i.modern.Load():
		if call.LogLevel == "" && !u.peer.Modern() {
			call.LogLevel = word
		}
	case i.logs:
		want, set := rank(word), i.level.Load()
		if want != u.level.Load() || want > 0 && (set == 0 || set > want) {
			i.setLevel(ctx, u, want)
		}
	}
}

func (i *Instance) setLevel(ctx context.Context, u *user, want int32) {
	ctx, cancel := context.WithTimeout(ctx, config.LevelWait)
	defer cancel()
	if i.tuning.enter(ctx) != nil {
		return
	}
	defer i.tuning.leave()
	u.level.Store(want)
	i.tellLevel(ctx)
}

// retune is for when a session has left that may have wanted the lowest level.
func (i *Instance) retune() {
	defer i.pool.watch.Done()
	ctx, cancel := context.WithTimeout(context.Background(), config.LevelWait)
	defer cancel()
	if i.tuning.enter(ctx) == nil {
		defer i.tuning.leave()
		i.pool.contain("server "+i.server.ID, func() { i.tellLevel(ctx) })
	}
}

// tellLevel has the server tell from the lowest level on that its sessions want. The
// caller holds the gate.
func (i *Instance) tellLevel(ctx context.Context) {
	lowest := int32(0)
	for _, peer := range i.everybody() {
		if n := rank(peer.Level()); n > 0 && (lowest == 0 || n < lowest) {
			lowest = n
		}
	}
	if lowest == 0 || lowest == i.level.Load() {
		return
	}
	params := []byte(`{"level":"` + levels()[lowest-1] + `"}`)
	// Whatever it answers, it was told: a server that cannot do it is not asked
	// again before each call.
	_, _ = i.client.Do(ctx, upstream.Call{Method: "logging/setLevel", Params: params, Timeout: config.LevelWait})
	i.level.Store(lowest)
}

// wanted reports whether a session wants to see a log message. A legacy agent
// that named no level is shown what the server tells by itself; a modern one that
// names none is shown nothing.
func (i *Instance) wanted(peer Peer, m wire.Message) bool {
	is, want := rank(member(m.ParamsBytes(), "level")), rank(peer.Level())
	switch {
	case want == 0 && peer.Modern():
		return false
	case want == 0 && i.level.Load() != 0:
		want = info
	}
	return is == 0 || is >= want
}

// gate lets one through at a time. Unlike a mutex it can be waited for with a
// bound.
type gate chan struct{}

func newGate() gate { return make(gate, 1) }

// enter waits for the gate as long as ctx lives, whose cause it returns else.
func (g gate) enter(ctx context.Context) error {
	select {
	case g <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g gate) leave() { <-g }
