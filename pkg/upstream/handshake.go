package upstream

import (
	"context"
	"errors"
	"slices"
	"strings"

	"postern/pkg/config"
	"postern/pkg/wire"
)

// Revisions of the protocol. The legacy ones begin with initialize, the modern
// one says everything with each request.
const (
	latestLegacy  = "2025-11-25"
	modernVersion = "2026-07-28"
	batchRevision = "2025-03-26"
)

func legacyVersions() []string {
	return []string{latestLegacy, "2025-06-18", batchRevision, "2024-11-05"}
}

// Error codes with which a server says that it does not know initialize, or not
// this version; the last is the modern era's own.
const codeUnsupportedVersion = -32022

// The notifications that this package answers for itself.
const (
	methodProgress  = "notifications/progress"
	methodCancelled = "notifications/cancelled"
)

// modernFirst is whether the first question is the modern one, though the
// declaration leaves the choice.
func (o *Options) modernFirst() bool {
	return !pinned(o.Protocol) && (o.Era == EraModern || o.Prefer == EraModern)
}

// pinned is whether the declaration leaves no choice of era.
func pinned(protocol string) bool { return protocol == EraLegacy || protocol == EraModern }

// handshake asks in the era that is declared, preferred or remembered, and in the
// other one when the server does not know that (R13). Legacy is asked first
// otherwise, since most servers are, and a legacy server may end on a question it
// does not know.
func (c *Client) handshake(ctx context.Context) error {
	err := c.greet(ctx)
	var f *Failure
	if errors.As(err, &f) && f.Word == Timeout && ctx.Err() != nil {
		f.Limit = c.o.StartTimeout
		f.Detail = "no answer within " + f.Limit.String() + " (start_timeout)"
		f.Stderr = c.lastWords()
	}
	return err
}

func (c *Client) greet(ctx context.Context) error {
	switch {
	case c.o.Protocol == EraLegacy:
		return c.initialize(ctx)
	case c.o.Protocol == EraModern:
		return c.discover(ctx)
	case c.o.modernFirst():
		return c.probeFirst(ctx)
	}
	err := c.initialize(ctx)
	if err != nil && otherEra(err) {
		if derr := c.discover(ctx); derr == nil || !otherEra(derr) {
			return derr
		}
	}
	return err
}

// probeFirst asks the modern question, and the legacy one after every answer but
// yes, and after none: older servers say no in many ways.
func (c *Client) probeFirst(ctx context.Context) error {
	derr := c.probe(ctx)
	var f *Failure
	if !errors.As(derr, &f) || f.Word == Aborted || c.Err() != nil {
		return derr
	}
	err := c.initialize(ctx)
	if err != nil && otherEra(err) && f.Word != Timeout {
		return derr // it knows no initialize: what it said to the other is what is wrong
	}
	return err
}

// probe is discover with a deadline of its own: a server that ignores what it
// does not know must not cost the whole start.
func (c *Client) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, min(config.ProbeTimeout, c.o.StartTimeout/2))
	defer cancel()
	return c.discover(ctx)
}

// otherEra is whether an error may mean that the server lives in the other era.
func otherEra(err error) bool {
	var f *Failure
	switch {
	case !errors.As(err, &f):
		return false
	case f.Word == Timeout:
		return f.Phase == discoverMethod
	case f.RPC == nil:
		return false
	}
	switch f.RPC.Code {
	case wire.CodeMethodNotFound, wire.CodeInvalidParams, wire.CodeInvalidRequest, codeUnsupportedVersion:
		return true
	}
	return false
}

// initialize is the legacy handshake.
func (c *Client) initialize(ctx context.Context) error {
	c.meta = nil
	params := slices.Concat([]byte(`{"capabilities":`), orEmpty(c.o.Capabilities),
		[]byte(`,"clientInfo":`), c.clientInfo(), []byte(`,"protocolVersion":"`+latestLegacy+`"}`))
	result, err := c.ask(ctx, "initialize", params)
	if err != nil {
		return err
	}
	var at [4]wire.Span
	if err := wire.Lookup(result, []string{"protocolVersion", "capabilities", "serverInfo", "instructions"}, at[:]); err != nil {
		return c.badAnswer("initialize", err.Error())
	}
	version, _ := wire.Unquote(at[0].Of(result)) // no string: no version we know
	if version == modernVersion && !pinned(c.o.Protocol) {
		return c.discover(ctx)
	}
	if !slices.Contains(legacyVersions(), version) {
		return c.badVersion("initialize", string(at[0].Of(result)), legacyVersions())
	}
	c.learn(Info{
		Era: EraLegacy, Protocol: version,
		Capabilities: object(at[1].Of(result)), ServerInfo: object(at[2].Of(result)),
		Instructions: text(at[3].Of(result)),
	})
	if err := c.w.Send(wire.NotificationLine("notifications/initialized", nil), nil); err != nil {
		return c.unsent(Call{Method: "notifications/initialized"}, err)
	}
	return nil
}

func (c *Client) clientInfo() []byte {
	return slices.Concat([]byte(`{"name":"postern","version":`), wire.Quote(c.o.Version), []byte(`}`))
}

// orEmpty is raw if it is a JSON object, else an empty one.
func orEmpty(raw []byte) []byte {
	if object(raw) == nil {
		return []byte(`{}`)
	}
	return raw
}

// ask does a call of our own and takes an error for a failure.
func (c *Client) ask(ctx context.Context, method string, params []byte) ([]byte, error) {
	reply, err := c.do(ctx, Call{Method: method, Params: params}, starting)
	if err != nil {
		return nil, err
	}
	return c.result(method, reply)
}

// result is the result of a reply, or the server's error as a failure.
func (c *Client) result(method string, reply Reply) ([]byte, error) {
	raw := reply.Message.ErrorBytes()
	if raw == nil {
		return reply.Message.ResultBytes(), nil
	}
	rpc, err := wire.ParseRPCError(raw)
	if err != nil {
		return nil, c.badAnswer(method, "an error that breaks the protocol: "+err.Error())
	}
	return nil, &Failure{
		Word: ServerError, Server: c.o.Server, Phase: method, Detail: "the server answered: " + rpc.Error(),
		RPC: rpc, Sent: true, Stderr: c.lastWords(),
	}
}

func (c *Client) badAnswer(phase, detail string) *Failure {
	f := c.protocol(detail)
	f.Phase, f.Sent = phase, true
	return f
}

func (c *Client) badVersion(phase, theirs string, ours []string) *Failure {
	if theirs == "" {
		theirs = "none"
	}
	return c.badAnswer(phase, "the server speaks protocol version "+lastLines(clean(theirs), 80)+", postern speaks "+strings.Join(ours, ", "))
}

// learn records what the handshake told.
func (c *Client) learn(i Info) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i.PID = c.info.PID
	c.info = i
	c.modern.Store(i.Era == EraModern)
}

// object is raw if it is a JSON object, else nil.
func object(raw []byte) []byte {
	if !wire.IsObject(raw) {
		return nil
	}
	return raw
}

// text is the string in raw, "" for anything else.
func text(raw []byte) string {
	s, err := wire.Unquote(raw)
	if err != nil {
		return ""
	}
	return s
}
