package call

import (
	"context"

	"postern/pkg/wire"
)

// Agent is the agent's side of a session: whom servers may ask and tell. Its
// methods are called concurrently, Ask from a goroutine of its own, all others
// from the reader of a server's connection, so that they must not block.
type Agent interface {
	// Ask sends a server's request on to the agent and waits for its response, a
	// result or an error as the agent wrote it; the id in it means nothing.
	// progress gets the params of the agent's notifications/progress for it, with
	// the progress token that stood in params. When ctx ends, the agent is told
	// with the reason of ctx's cause. Ask also ends with the session. The error
	// says why there is no response.
	Ask(ctx context.Context, method string, params []byte, progress func(params []byte)) (wire.Message, error)
	// Notify sends a server's notification. One that the agent can do without may
	// be dropped.
	Notify(method string, params []byte)
	// Capabilities is what the agent declared in initialize, as it was written;
	// nil before that, and for an agent of the modern era.
	Capabilities() []byte
	// Modern reports whether the agent speaks the modern era, in which nobody asks
	// it anything.
	Modern() bool
	// Level is the lowest level of log messages that the agent wants, one of the
	// protocol's eight words; "" is none.
	Level() string
}
