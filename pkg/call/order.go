package call

import (
	"sync"

	"postern/pkg/pool"
)

// A server gets the calls of one session in the order in which they came, as it
// would from the agent itself. Until it is known which server a call goes to, it
// waits for all that came before it; from then on for those to the same server.

// Ticket is the place of a request in an order; see pool.Ticket.
type Ticket = pool.Ticket

// orders are the orders of the calls to each server, by id.
type orders struct {
	mu sync.Mutex
	of map[string]*pool.Order
}

func (o *orders) join(server string) *Ticket {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.of == nil {
		o.of = map[string]*pool.Order{}
	}
	if o.of[server] == nil {
		o.of[server] = new(pool.Order)
	}
	return o.of[server].Join()
}

// Ticket is the place of a request that came behind all others of this session, for
// Request.Ticket. Do sees to it that those behind go on; where there will be no Do,
// Over must be called.
func (s *Session) Ticket() *Ticket { return s.order.Join() }

// lineUp gives the call its place among those to its server, and lets those behind
// it find out about theirs. It does so once.
func (c *Call) lineUp(s *Server) {
	if c.Request.Ticket != nil && c.ticket == nil {
		c.ticket = c.session.orders.join(s.Declared.ID)
		c.Request.Ticket.Over()
	}
}

// letOn lets all that wait for the call go on.
func (c *Call) letOn() {
	c.Request.Ticket.Over()
	c.ticket.Over()
}
