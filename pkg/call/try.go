package call

import (
	"context"
	"time"

	"postern/pkg/catalog"
	"postern/pkg/pool"
)

// Tried is what a server offered when it was tried.
type Tried struct {
	Catalog *catalog.Catalog
	Took    time.Duration // to start, greet and list
}

// Try starts one server, reads its lists and stops it again: beside any that
// runs already, and without a trace in the cache or the log. srv is of view v,
// or is a Server with nothing but a declaration of the user's own that stands in
// no file; it must be as trusted as for any other start. Try is bounded by the server's
// start_timeout and its teardown, and returns when its process is gone.
func (s *Session) Try(ctx context.Context, v *View, srv *Server) (Tried, *Refusal) {
	if r := v.refuse(srv, ""); r != nil {
		return Tried{}, r
	}
	a, err := srv.approve(v)
	if err != nil {
		return Tried{}, refusalOf(srv, "", err)
	}
	h := s.host
	alone := pool.New(pool.Options{Owner: pool.OwnerMark(), Version: h.o.Version, Panicked: h.Panicked, Redactor: h.redactor})
	i, err := alone.Get(ctx, a)
	survivors, stuck := alone.Close()
	for _, t := range survivors {
		h.Warn("a process of server " + srv.Declared.ID + " survived: " + t.Reason)
	}
	if stuck != nil {
		h.Warn(stuck.Error())
	}
	if err != nil {
		return Tried{}, failed(ctx, srv, "", err)
	}
	return Tried{Catalog: i.Catalog(), Took: i.Started()}, nil
}
