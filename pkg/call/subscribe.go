package call

import (
	"context"

	"postern/pkg/pool"
	"postern/pkg/upstream"
)

// subscribe has the session hear of a resource's updates. The pool knows whether
// the server has to be told.
func (c *Call) subscribe(ctx context.Context, i *pool.Instance, params upstream.Call) (upstream.Reply, *Refusal) {
	reply, err := i.Subscribe(ctx, c.session.ID, c.name, params)
	if err != nil {
		return reply, failed(ctx, c.server, c.name, err)
	}
	if !reply.Message.Error.Ok() {
		c.session.subs.add(c.Exposed, place{c.server.Declared.ID, c.name})
	}
	return reply, nil
}

func (c *Call) unsubscribe(ctx context.Context, i *pool.Instance, params upstream.Call) (upstream.Reply, *Refusal) {
	reply, err := i.Unsubscribe(ctx, c.session.ID, c.name, params)
	if err != nil {
		return reply, failed(ctx, c.server, c.name, err)
	}
	c.session.subs.remove(c.Exposed)
	return reply, nil
}
