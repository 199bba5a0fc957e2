package upstream

import (
	"encoding/json"
	"time"

	"postern/pkg/secret"
	"postern/pkg/trust"
	"postern/pkg/wire"
)

// Options says what to start and within which bounds.
type Options struct {
	// Server is the server's id, for messages.
	Server string
	// Launch is what to execute. Its File stays the caller's and must be open
	// until Start returns.
	Launch trust.Launch
	// StderrLog is the path of the stderr log in one of our own directories; ""
	// keeps only the last lines, in memory.
	StderrLog string
	// Redactor takes secrets out of what the server writes beside the protocol,
	// before that is kept anywhere; nil knows no values.
	Redactor *secret.Redactor
	// Protocol is auto, legacy or modern; "" is auto.
	Protocol string
	// Era is legacy or modern when an earlier handshake is remembered; "" if not.
	Era string
	// Prefer is the era to ask for first, whatever is remembered: modern, or "",
	// which is the remembered one, or else legacy. Protocol decides alone.
	Prefer string
	// Capabilities is what is declared to the server as its client's, a JSON
	// object, sent as it is: with initialize, or with each request in the modern
	// era. nil, and anything that is no object, declares nothing.
	Capabilities []byte
	// StartTimeout bounds spawn and handshake together, and each page of a List.
	StartTimeout time.Duration
	// MaxMessage bounds one line either way, MaxQueue the bytes waiting for the
	// child to read them (R1, R6).
	MaxMessage, MaxQueue int
	// Mark is the value of POSTERN_INSTANCE in the child's environment, by which
	// its descendants are found; "" sweeps nothing.
	Mark string
	// Version is the version in clientInfo.
	Version string
	// Notify gets every notification but progress of our own calls and cancelled.
	// It is called from the reader goroutine, in order, and must not block; it may
	// be called before Start returns. May be nil.
	Notify func(m wire.Message)
	// Ask gets every request of the server but ping, which is answered here. It is
	// called like Notify, and in order with it. The question stays open until it is
	// answered or declined, at once or later, from whatever goroutine; nil declines
	// all. A modern server makes no requests: one that does is told so here, as is
	// one with more than config.ServerQuestions open.
	Ask func(q *Question)
	// Panicked is told of a panic in one of the client's goroutines, callbacks
	// included: where, what it said and the stack. The connection ends then, and
	// nothing else does (R26). It must not panic. nil lets panics end the process.
	Panicked func(where string, value any, stack []byte)
}

// The two eras of the protocol, as Info and Options name them.
const (
	EraLegacy = "legacy"
	EraModern = "modern"
)

// Info is what the handshake told, and what was counted since.
type Info struct {
	ServerInfo, Capabilities json.RawMessage
	Protocol, Era            string
	Instructions             string
	PID                      int
	// Noise counts lines on stdout that were no JSON-RPC, Dropped notifications
	// past 1,000 a second and answers nobody waits for, Declined requests of the
	// server that were answered here without asking anyone.
	Noise, Dropped, Declined uint64
}

// Call is one request.
type Call struct {
	Method string
	// Params are sent as they are, but for Token and a modern server's _meta.
	// nil leaves the member out.
	Params []byte
	// Token is where the value of _meta.progressToken stands in Params; the zero
	// Span is none.
	Token wire.Span
	// Progress gets the params of each notifications/progress for this call with
	// the caller's token put back: in order, from the reader goroutine, never
	// after Do returned. It must not block. May be nil.
	Progress func(params []byte)
	// Timeout runs from the moment the request is written, starts again with each
	// progress, and stands still with Standstill; 0 is no limit but ctx.
	Timeout time.Duration
	// Standstill is the time that does not count against Timeout; nil is none.
	Standstill *Standstill
	// Modern is whether Params come from an agent of the modern era: towards a
	// legacy server what only that era knows is taken out of them (see the package
	// comment).
	Modern bool
	// Capabilities are the client's capabilities of this request towards a modern
	// server; nil is Options.Capabilities.
	Capabilities []byte
	// LogLevel is the level of log messages wanted from a modern server while it
	// works on this request, "" for none. It takes the place of one in Params.
	LogLevel string
	// Place is told once, before Do waits, that the request stands among the lines to
	// the server: those of later calls stand behind it. It is not told when Do fails
	// before that. May be nil.
	Place interface{ Over() }
	// Sent is called once with the id of the request on the wire, just before its
	// first byte is written: nothing the server says about it can have come yet,
	// and all that is sent from now on stands behind it. It is called from the
	// writer's goroutine, must not block, and may keep id. May be nil.
	Sent func(id []byte)
}

// Reply is the upstream's response, a result or an error, as it was received;
// its id is ours.
type Reply struct {
	Message wire.Message
	// Written is when the first byte of the request was written.
	Written time.Time
}

// Cancelled is the cause to cancel a Do with when there is a reason to tell the
// upstream: context.WithCancelCause, then cancel(&Cancelled{Reason: …}).
type Cancelled struct{ Reason string }

// Error is the reason, or "cancelled".
func (c *Cancelled) Error() string {
	if c.Reason == "" {
		return "cancelled"
	}
	return c.Reason
}

// Teardown reports how a process group ended.
type Teardown struct {
	// Complete is false when something outlived SIGKILL; Reason then says so.
	Complete bool   `json:"complete"`
	Reason   string `json:"reason,omitempty"`
	PGID     int    `json:"pgid"`
	// BoundMS is how long a teardown waits at most, in milliseconds.
	BoundMS int64 `json:"bound_ms"`
	// Exit is how the leader ended, such as "exit status 7"; "" if it did not.
	Exit string `json:"exit,omitempty"`
}

// GroupSurvived is Teardown's reason when processes are left after SIGKILL.
const GroupSurvived = "group-survived-sigkill"
