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

// distrusted stops the running servers of a project that lost their approval
// between two views (R90). It does not wait for them.
func (h *Host) distrusted(old, next *View) {
	for _, s := range old.Servers {
		key := s.running()
		if s.Declared.Scope != config.Project || key == "" {
			continue
		}
		if status, _ := next.records.Status(s.Declared); status != trust.Trusted {
			go h.pool.Stop(key) // ends with the server's teardown, which is bounded
		}
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
