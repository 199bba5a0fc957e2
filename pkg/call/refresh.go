package call

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"postern/pkg/catalog"
)

// Refreshed is what became of one server in a Refresh.
type Refreshed struct {
	Server  *Server          // as it was seen before
	Catalog *catalog.Catalog // what is recorded now; nil when Err is set
	Change  catalog.Change   // of its tools since the last recorded list
	Err     *Refusal         // why there is no new list; the last good one stays recorded
	Stderr  string           // the file with what it wrote to standard error; "" when it was not started
}

// RefreshLimits paces a Refresh. Both are positive.
type RefreshLimits struct {
	Jobs    int           // servers that run at the same time
	Timeout time.Duration // of one server, from its start to its list; its start_timeout holds as well
}

// Refresh starts each of servers, which are of view v, records what it lists,
// and stops it again, whoever else on this host may use it: it is meant for
// commands that do nothing else. A server that is not trusted, or is disabled,
// starts nothing and is reported like one that failed. done is called once for
// each server, one call at a time, in the order in which they end. Refresh
// returns when all have ended and their processes are gone; when ctx is
// cancelled, that is soon, and what had not ended is reported as cancelled.
func (s *Session) Refresh(ctx context.Context, v *View, servers []*Server, l RefreshLimits, done func(Refreshed)) {
	results := make(chan Refreshed)
	go func() { // ends with the last server; each is bounded by l.Timeout and its teardown
		defer close(results)
		var jobs errgroup.Group
		jobs.SetLimit(l.Jobs)
		for _, srv := range servers {
			jobs.Go(func() error { // ends with its server
				r := s.refresh(ctx, v, srv, l.Timeout)
				r.Err = s.host.cleaned(r.Err)
				results <- r
				return nil
			})
		}
		_ = jobs.Wait() // no job returns an error: they are in the results
	}()
	for r := range results {
		done(r)
	}
}

func (s *Session) refresh(ctx context.Context, v *View, srv *Server, limit time.Duration) Refreshed {
	out := Refreshed{Server: srv}
	id := srv.Declared.ID
	if out.Err = v.refuse(srv, ""); out.Err != nil {
		return out
	}
	if ctx.Err() != nil {
		out.Err = &Refusal{Word: Cancelled, Server: id, Message: fmt.Sprintf("server %s was not asked: interrupted", id)}
		return out
	}
	old, _ := s.host.catalogs.Read(catalog.IdentityOf(srv.Declared))
	ctx, cancel := context.WithTimeoutCause(ctx, limit, &Refusal{
		Word: Timeout, Server: id, Message: fmt.Sprintf("server %s did not start and list its tools within %s", id, limit),
	})
	defer cancel()
	fresh, err := s.start(ctx, v, srv)
	if key := srv.running(); key != "" {
		out.Stderr = s.host.pool.StderrLog(id, key)
		s.host.halt(key)
	}
	if err != nil {
		out.Err = refusalOf(srv, "", err)
		return out
	}
	// The pool recorded the list already, but does without a cache that cannot
	// be written; here the record is what was asked for.
	if err := s.host.catalogs.Write(fresh); err != nil {
		out.Err = &Refusal{Word: Unavailable, Server: id, Message: fmt.Sprintf("the list of server %s cannot be recorded: %v", id, err)}
		return out
	}
	out.Catalog, out.Change = fresh, catalog.Compare(old, fresh)
	return out
}
