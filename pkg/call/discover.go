package call

import (
	"context"
	"sync"

	"postern/pkg/catalog"
)

// discovery is what a session looks for at the moment.
type discovery struct {
	mu   sync.Mutex
	open map[*Server]bool
}

func (d *discovery) begin(s *Server) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == nil {
		d.open = map[*Server]bool{}
	}
	d.open[s] = true
}

func (d *discovery) end(s *Server) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, s)
}

// Discover starts, in the background and at the same time, every trusted
// server that was never listed and that this session's policies serve (R66),
// and returns a channel that is closed when all of them answered or failed and
// View shows what they said, but for those that another session found too slow
// to wait for. Each start is bounded by its server's start_timeout. Failures
// are remembered for a while and named to the operator.
func (s *Session) Discover(ctx context.Context) <-chan struct{} {
	done := make(chan struct{})
	v := s.View()
	missing := v.missing(s.host.catalogs)
	var quick, slow sync.WaitGroup
	some := false // of the slow ones
	for _, srv := range missing {
		group := &quick
		if s.host.catalogs.Slow(catalog.IdentityOf(srv.Declared)) {
			group, some = &slow, true
		}
		s.search.begin(srv)
		group.Go(func() { // ends with its start
			s.host.contain("discovery of "+srv.Declared.ID, func() { s.discover(ctx, v, srv) })
		})
	}
	go func() { // ends when every start ended, each bounded
		quick.Wait()
		if len(missing) > 0 {
			s.renew() // the pool announces a start only after it told those who wait
		}
		close(done)
		slow.Wait()
		if some {
			s.renew()
		}
	}()
	return done
}

func (s *Session) discover(ctx context.Context, v *View, srv *Server) {
	defer s.search.end(srv)
	err := s.host.once(ctx, catalog.IdentityOf(srv.Declared), func() error {
		_, err := s.start(ctx, v, srv)
		return err
	})
	if err != nil && ctx.Err() == nil {
		s.host.warnOnce("discover "+srv.Declared.ID+err.Error(), err.Error())
	}
	if srv.Declared.Shared {
		_, _ = srv.approve(v) // so that what another session has started is found
	}
}

// attempt is a discovery under way.
type attempt struct {
	over chan struct{}
	left bool // its session ended before
}

// once has one session at a time look at a declaration, for all: each might have a
// process of its own, which nobody needs yet. Who comes meanwhile waits, and looks
// itself only if nothing was learnt that others can read.
func (h *Host) once(ctx context.Context, id catalog.Identity, look func() error) error {
	for {
		h.mu.Lock()
		a, others := h.attempts[id]
		if !others {
			a = &attempt{over: make(chan struct{})}
			h.attempts[id] = a
		}
		h.mu.Unlock()
		if !others {
			return h.attempt(ctx, id, a, look)
		}
		select {
		case <-a.over:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		switch {
		case h.learnt(id):
			return nil
		case !a.left:
			return look()
		}
	}
}

// attempt looks, unless another session just did, and lets the others go on.
func (h *Host) attempt(ctx context.Context, id catalog.Identity, a *attempt, look func() error) error {
	defer func() {
		a.left = ctx.Err() != nil
		h.mu.Lock()
		delete(h.attempts, id)
		h.mu.Unlock()
		close(a.over)
	}()
	if h.learnt(id) {
		return nil
	}
	return look()
}

// learnt reports whether a look has left something: a list, or why there is none.
func (h *Host) learnt(id catalog.Identity) bool {
	if c, _ := h.catalogs.Read(id); c != nil {
		return true
	}
	_, failed := h.catalogs.Failed(id)
	return failed
}

// Overdue says that nobody waits any longer for what Discover looks for. It is
// remembered for a while, so that the next session does not wait for the same
// servers again, whichever process it is in. Their starts go on.
func (s *Session) Overdue() {
	s.search.mu.Lock()
	defer s.search.mu.Unlock()
	for srv := range s.search.open {
		// A cache that cannot be written costs the next session its wait (C6).
		_ = s.host.catalogs.SetSlow(catalog.IdentityOf(srv.Declared), "it takes longer to list than was waited for it")
	}
}
