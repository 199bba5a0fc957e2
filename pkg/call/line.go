package call

import (
	"context"
	"encoding/json"
	"time"

	"postern/pkg/trust"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// Names of the steps, as they stand in rows and in README's drawing.
const (
	StepResolve     = "resolve"
	StepDecide      = "decide"
	StepSupplyChain = "supply chain"
	StepDispatch    = "dispatch"
)

// Step is one station of the line. Run returns nil to let the call go on.
type Step struct {
	Name string
	Run  func(ctx context.Context, c *Call) *Refusal
}

// Line is what every call walks, in this order (R40).
func Line() []Step {
	return []Step{
		{StepResolve, resolve},
		{StepDecide, decide},
		{StepSupplyChain, supplyChain},
		{StepDispatch, dispatch},
	}
}

// Request is one tools/call as it came in.
type Request struct {
	Exposed string // the name the agent used; or
	Server  string // server id and
	Tool    string // the server's own name, as a shell gives them

	Params    []byte              // params of tools/call, a JSON object, with any name
	Progress  func(params []byte) // receives notifications/progress params with the caller's token; may be nil; must not block
	LineBytes int                 // size of the request as received, for the row
}

// Answer is what a call came to: exactly one of Reply and Refusal is set.
type Answer struct {
	Reply   *wire.Message  // the server's response as received; its id is not the caller's
	Result  []byte         // the result to hand on where it differs from the reply's (R41's schema), else nil
	Error   *wire.RPCError // the error to hand on where it differs from the reply's, else nil
	Refusal *Refusal
	Tool    *Tool // nil when the tool was not found
}

// Call is one request on its way down the line.
type Call struct {
	Request
	session   *Session
	view      *View
	server    *Server
	tool      *Tool
	arguments []byte
	approved  *trust.Approved
	notReady  error // why the server cannot be started; reported by dispatch
	answer    Answer
	times     times
	step      string
}

// times are the durations of a row.
type times struct {
	begin                time.Time
	latency, queue, init time.Duration
}

// Do walks one call down the line and hands its answer to answer, once, before
// Do returns. The row of a refusal is written before the answer goes out
// (waited for at most calllog's bound, C81), that of a call that was sent
// after it. ctx ends the call: its cause should be *upstream.Cancelled.
func (s *Session) Do(ctx context.Context, r Request, answer func(Answer)) {
	c := &Call{Request: r, session: s, view: s.View()}
	c.times.begin = time.Now()
	c.arguments = argumentsOf(r.Params)
	refusal := c.walk(ctx)
	c.times.latency = time.Since(c.times.begin)
	c.answer.Refusal, c.answer.Tool = refusal, c.tool
	if refusal != nil && refusal.Step != StepDispatch {
		s.logRefusal(c)
		answer(c.answer)
		return
	}
	answer(c.answer)
	s.log(c)
}

func (c *Call) walk(ctx context.Context) *Refusal {
	for _, step := range Line() {
		c.step = step.Name
		if r := step.Run(ctx, c); r != nil {
			if r.Step == "" {
				r.Step = step.Name
			}
			return r
		}
	}
	return nil
}

// argumentsOf is the arguments member, nil when there is none or params are
// not an object; the spans of a refused duplicate were answered by the gateway.
func argumentsOf(params []byte) []byte {
	var span [1]wire.Span
	if wire.Lookup(params, []string{"arguments"}, span[:]) != nil {
		return nil
	}
	return span[0].Of(params)
}

// upstreamParams are the params with the server's own tool name, and where in
// them the caller's progress token stands.
func upstreamParams(params []byte, tool string) ([]byte, wire.Span, error) {
	var spans [2]wire.Span
	if len(params) == 0 {
		params = []byte("{}")
	}
	names := []string{"name", "_meta"}
	if err := wire.Lookup(params, names, spans[:]); err != nil {
		return nil, wire.Span{}, err
	}
	name := wire.Quote(tool)
	if spans[0].Ok() {
		params = wire.Splice(params, wire.Edit{Span: spans[0], New: name})
	} else {
		params = wire.InsertMember(params, "name", name)
	}
	if !spans[1].Ok() {
		return params, wire.Span{}, nil
	}
	if err := wire.Lookup(params, names, spans[:]); err != nil {
		return nil, wire.Span{}, err
	}
	meta := spans[1]
	if !wire.IsObject(meta.Of(params)) {
		return params, wire.Span{}, nil
	}
	var token [1]wire.Span
	if err := wire.Lookup(meta.Of(params), []string{"progressToken"}, token[:]); err != nil || !token[0].Ok() {
		return params, wire.Span{}, err
	}
	return params, wire.Span{Start: meta.Start + token[0].Start, End: meta.Start + token[0].End}, nil
}

// missingRequired lists the members that a schema requires and arguments lack.
func missingRequired(schema, arguments []byte) []string {
	var s struct {
		Required []string `json:"required"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	var missing []string
	for _, name := range s.Required {
		var span [1]wire.Span
		if len(arguments) == 0 || (wire.Lookup(arguments, []string{name}, span[:]) == nil && !span[0].Ok()) {
			missing = append(missing, name)
		}
	}
	return missing
}

// cancelled reports whether ctx was ended by the caller rather than by a clock.
func cancelled(ctx context.Context) bool {
	_, ok := asError[*upstream.Cancelled](context.Cause(ctx))
	return ok || context.Cause(ctx) == context.Canceled
}
