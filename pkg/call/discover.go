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
	if _, err := s.start(ctx, v, srv); err != nil && ctx.Err() == nil {
		s.host.warnOnce("discover "+srv.Declared.ID+err.Error(), err.Error())
	}
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
