package call

import (
	"postern/pkg/config"
	"postern/pkg/trust"
)

// look asks whether what a project's server would run is still what was
// approved: its declaration by the record, its executable and the files its
// arguments name by their stamps. A server that is not is not listed (R40);
// calls of it get their refusal from the supply chain step. What merely keeps
// it from starting, such as a missing variable, is no change.
func (s *Server) look(v *View) error {
	if s.Declared.Scope != config.Project || !s.Declared.Enabled || s.Status != trust.Trusted {
		return nil
	}
	a, err := s.approve(v)
	if err == nil {
		err = a.Verify()
	}
	if _, ok := asError[*trust.ChangedError](err); ok {
		return err
	}
	if _, ok := asError[*trust.NotTrustedError](err); ok {
		return err
	}
	return nil
}

// Changed says what of a trusted project server differs from what was
// approved; nil when nothing does.
func (s *Server) Changed() error { return s.changed }

// moved tells the pool what became of the servers of a view in the next one. A
// project's server that lost its approval is stopped at once (R90). One that is
// not declared any more, or is another one now, gets no new calls and ends with
// its last (R25). Of one that is the same process the settings that lie outside
// its key hold at once (R20). It waits for none of them.
func (h *Host) moved(old, next *View) {
	for _, s := range old.Servers {
		before := s.approved.Load()
		if before == nil {
			continue // this view has started nothing
		}
		status, _ := next.records.Status(s.Declared)
		now := next.byID[s.Declared.ID]
		switch {
		case status != trust.Trusted:
			h.pool.Retire(before.Key()) // from now on nothing starts it
			go h.halt(before.Key())     // ends with the server's teardown, which is bounded
		case now == nil || !now.Declared.Enabled || !sameDeclaration(s.Declared, now.Declared):
			h.pool.Retire(before.Key())
		default:
			h.follow(before, now.approved.Load())
		}
	}
}

// halt stops what runs under a key, and tells the operator where that hangs.
func (h *Host) halt(key string) {
	if err := h.pool.Stop(key); err != nil {
		h.Warn(err.Error())
	}
}

// follow is moved for a declaration that is the same; now is nil as long as it
// could not be approved again, and then nothing is known.
func (h *Host) follow(before, now *trust.Approved) {
	switch {
	case now == nil || now == before:
	case now.Key() == before.Key():
		h.pool.Update(now)
	default: // a value or the place of its executable is another
		h.pool.Retire(before.Key())
	}
}

func sameDeclaration(a, b *config.Server) bool {
	return a.Digest == b.Digest && a.Source == b.Source && a.Project == b.Project
}

// wantEager brings up the eager servers of a view, as far as the session's
// policies serve them, and waits for none.
func (s *Session) wantEager(v *View) {
	if !s.o.Eager {
		return
	}
	for _, srv := range v.Servers {
		if srv.Declared.Start != "eager" || !srv.Usable() || !v.Serves(srv) {
			continue
		}
		if !srv.Declared.Shared && s.o.Agent != nil && s.claimed.Load() == nil {
			continue // it is told what the agent can be asked, which nobody knows yet
		}
		go s.host.contain("server "+srv.Declared.ID, func() { s.want(v, srv) }) // ends with the approval, in which commands that print secrets are bounded
	}
}

func (s *Session) want(v *View, srv *Server) {
	a, err := srv.approve(v)
	if err != nil {
		s.host.warnOnce("eager "+srv.Declared.ID+err.Error(), "server "+srv.Declared.ID+" is not started: "+err.Error())
		return
	}
	s.host.pool.Want(s.ID, a)
	s.host.mu.Lock()
	open := s.host.sessions[s]
	s.host.mu.Unlock()
	if !open {
		s.host.pool.Leave(s.ID)
	}
}

// same reports whether a view still shows what its files and lists hold.
func (s *Session) same(v *View) bool {
	for _, srv := range v.Servers {
		if status, _ := v.records.Status(srv.Declared); status != srv.Status {
			return false // an approval has ended
		}
		if c, _ := s.host.known(srv); c != srv.Catalog {
			return false
		}
		if (srv.look(v) == nil) != (srv.changed == nil) {
			return false
		}
	}
	return true
}
