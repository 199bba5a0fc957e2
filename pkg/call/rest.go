package call

import (
	"postern/pkg/config"
	"postern/pkg/trust"
)

// lookAtRest does for servers that run on without a session that could use them
// what the renewed views of sessions do for theirs: one that lost its approval is
// stopped (R90), one that is not declared any more gets no new calls and ends
// (R25). seen is the keys that sessions have.
func (h *Host) lookAtRest(seen map[string]bool) {
	declared := map[string]*config.Config{}
	for _, a := range h.pool.Approved() {
		if seen[a.Key()] {
			continue
		}
		srv := a.Server()
		c := declared[srv.Project]
		if c == nil {
			c = h.load(srv.Project)
			declared[srv.Project] = c
		}
		status, _ := h.records(srv.Project).Status(srv)
		now := c.Server(srv.ID)
		switch {
		case status != trust.Trusted:
			h.pool.Retire(a.Key())
			go h.halt(a.Key()) // ends with the server's teardown, which is bounded
		case !c.Refused && (now == nil || !now.Enabled || !sameDeclaration(srv, now)):
			h.pool.Retire(a.Key())
		}
	}
}
