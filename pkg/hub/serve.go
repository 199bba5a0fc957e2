package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"postern/pkg/call"
	"postern/pkg/config"
	"postern/pkg/gateway"
)

// ServeOptions says what a hub serves, and where.
type ServeOptions struct {
	Place   Place
	Host    *call.Host // opened with HostOptions.Own
	Gateway *gateway.Gateway
	// IdleExit is how long the hub stays without a session; 0 = it stays. It is asked
	// again and again, as the configuration may change. nil is 0.
	IdleExit func() time.Duration
	// Control does what an order says and writes its row. It may be called
	// concurrently. A *call.Refusal keeps its word and its exit code.
	Control func(verb, name string, pid int) (json.RawMessage, error)
	Say     func(string) // one line for the operator; may be called concurrently
}

// Serve is the hub of a place: it listens and serves sessions and orders, any
// number at a time, until ctx ends, an order stops it, nobody had a session for
// IdleExit, or, once its executable or its socket was replaced, its last session
// ends. It returns nil then, and at once when somebody else is the hub. It waits
// for its sessions, each bounded as gateway.Serve bounds them. It closes the host only
// after an order, whose client waits for that. It is for a process that does nothing
// else: umask and the limit of core dumps (S15) are the process's. The limit of open
// files is raised by the Go runtime, which gives the servers the old one back.
func Serve(ctx context.Context, o ServeOptions) error {
	Private()
	NoCoreDumps()
	p, err := occupy(ctx, o.Place)
	if p == nil || err != nil {
		return err
	}
	h := &shared{o: o, image: ownImage(), changed: make(chan struct{}, 1), open: map[net.Conn]bool{}, most: config.HubConnections}
	// Agents of an earlier build may have started this hub: it is there for them.
	h.orphan = h.image.replaced()
	var end context.CancelFunc
	h.ctx, end = context.WithCancel(ctx)
	defer end()
	accepting := make(chan struct{})
	go func() { // ends when the post is left
		defer close(accepting)
		h.accept(p.listener)
	}()
	why := h.watch(p)
	var ear *aside
	if h.remains() {
		ear = h.stepAside(o.Place)
	}
	defer ear.close()
	if p.given && h.remains() {
		p.given = false
		why = "this hub ends with its last session, and systemd starts none meanwhile: agents do; " +
			"systemctl --user restart postern.socket has it start the next one"
	}
	h.mu.Lock()
	h.drain = !p.given
	h.mu.Unlock()
	err = p.leave()
	if why != "" {
		o.Say(why)
	}
	<-accepting
	h.finish(end)
	h.settle()
	return err
}

// settle ends the servers where somebody waits for that, who ordered the stop.
func (h *shared) settle() {
	h.mu.Lock()
	waiting := h.waiting
	h.mu.Unlock()
	if len(waiting) > 0 {
		h.o.Host.Close()
	}
	for _, conn := range waiting {
		conn.Close()
	}
}

// shared is what the connections of one hub share.
type shared struct {
	o      ServeOptions
	ctx    context.Context // of all sessions
	image  image
	orphan bool // the executable was replaced before this hub was started
	most   int  // connections at the same time

	lamented time.Time // when the operator was told last; see lament

	wg      sync.WaitGroup // one for each connection
	changed chan struct{}  // one token: sessions or stopped is another

	mu       sync.Mutex
	open     map[net.Conn]bool
	sessions int
	empty    time.Time     // since when there are none
	used     bool          // there was one
	linger   time.Duration // without a session; 0 = it stays
	retiring bool          // no session begins any more
	stopped  bool          // by an order
	waiting  []*os.File    // those who ordered it
	drain    bool          // once the post is left: nobody else takes who connected before
}

// watch returns when the hub is to take no session any more, and says why. It
// retires by itself; ctx and an order end the sessions as well.
func (h *shared) watch(p *post) (why string) {
	check := time.NewTicker(config.HubCheckEvery)
	defer check.Stop()
	h.mu.Lock()
	h.empty = time.Now()
	h.mu.Unlock()
	for {
		h.consult()
		timer := time.NewTimer(h.idle())
		select {
		case <-h.ctx.Done():
			h.retire(false)
		case <-timer.C:
			h.retire(true)
		case <-h.changed:
		case <-check.C:
			if p.lost() {
				why = "its socket was replaced: this hub ends with its last session"
				h.retire(false)
			}
			h.replaced()
		}
		timer.Stop()
		if h.leaving() {
			return why
		}
	}
}

// consult asks how long the hub may stay without a session now.
func (h *shared) consult() {
	var linger time.Duration
	if h.o.IdleExit != nil {
		linger = h.o.IdleExit()
	}
	if most := config.HubOrphanLinger; h.orphan && (linger == 0 || linger > most) {
		linger = most
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.linger = linger
}

// forever is longer than any hub lives.
const forever = 1 << 62

// idle is how long nobody may come from now on for the hub to end.
func (h *shared) idle() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.idleNow()
}

// idleNow is idle, with mu held. Whoever the hub was started for comes within
// HubReach.
func (h *shared) idleNow() time.Duration {
	limit := h.linger
	switch {
	case h.sessions > 0 || limit == 0:
		return forever
	case !h.used:
		limit = max(limit, config.HubReach)
	}
	return time.Until(h.empty.Add(limit))
}

// retire lets no session begin any more; with unused only if there is none, for as
// long as it takes.
func (h *shared) retire(unused bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if unused && h.idleNow() > 0 {
		return
	}
	h.retiring = true
}

// replaced retires the hub when the executable was replaced, and tells whether it
// takes no session.
func (h *shared) replaced() bool {
	if !h.orphan && h.image.replaced() {
		h.retire(false)
		h.note()
	}
	return h.leaving()
}

// remains reports that a hub which retires goes on for a session that is open.
func (h *shared) remains() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions > 0 && !h.stopped && h.ctx.Err() == nil
}

func (h *shared) leaving() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.retiring
}

// note wakes watch.
func (h *shared) note() {
	select {
	case h.changed <- struct{}{}:
	default: // it is awake
	}
}

// begin takes a session in, unless the hub retires; end lets it go.
func (h *shared) begin() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.retiring {
		h.sessions++
		h.used = true
	}
	return !h.retiring
}

func (h *shared) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sessions--
	h.empty = time.Now()
	h.note()
}

// stop ends the hub for an order that came by conn, which lasts until the servers
// are gone too.
func (h *shared) stop(conn *net.UnixConn) {
	waiting, err := conn.File()
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil { // else it is not waited for
		h.waiting = append(h.waiting, waiting)
	}
	h.stopped, h.retiring = true, true
	h.note()
}

// finish waits for the last session. When the hub is to end they are ended.
func (h *shared) finish(end context.CancelFunc) {
	over := make(chan struct{})
	go func() { // ends with the last connection
		h.wg.Wait()
		close(over)
	}()
	for {
		h.mu.Lock()
		stopped := h.stopped
		h.mu.Unlock()
		if stopped {
			end()
		}
		select {
		case <-over:
			return
		case <-h.changed:
			continue
		case <-h.ctx.Done():
		}
		break
	}
	h.closeAfter(over, config.HubGrace)
}

// closeAfter closes the connections that are still there after some time, and
// waits for their sessions as long again.
func (h *shared) closeAfter(over <-chan struct{}, grace time.Duration) {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-over:
		return
	case <-timer.C:
	}
	h.mu.Lock()
	n := len(h.open)
	for conn := range h.open {
		conn.Close()
	}
	h.mu.Unlock()
	timer.Reset(grace)
	select {
	case <-over:
	case <-timer.C:
		h.o.Say(fmt.Sprintf("sessions that do not end: %d", n))
	}
}
