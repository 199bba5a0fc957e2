package call

import (
	"context"
	"time"

	"postern/pkg/policy"
	"postern/pkg/trust"
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

// Request is one request as it came in, of a tool or of anything else that a
// server answers.
type Request struct {
	Method  string // "" = tools/call; prompts/get, resources/read, resources/subscribe, …, or one that is not known here
	Exposed string // the name of the tool or prompt, or the URI, that the agent used; or
	Server  string // server id and
	Tool    string // the server's own name for it, as a shell gives them

	Params    []byte              // of the request, a JSON object, with any name or URI
	Progress  func(params []byte) // receives notifications/progress params with the caller's token; may be nil; must not block
	LineBytes int                 // size of the request as received, for the row
	Via       string              // the `via` of its row; "" is what the method has, or the session's
	Modern    *Modern             // set when the request came in the modern era
	RowID     string              // the id of its row, one of calllog.NewID; "" = the log makes one (C81)
	Ticket    *Ticket             // its place among the session's requests, of Session.Ticket; nil = it waits for none
}

// Answer is what a call came to: exactly one of Reply and Refusal is set, or
// Result alone where one of the gateway's own tools answered.
type Answer struct {
	Reply   *wire.Message  // the server's response as received; its id is not the caller's
	Parts   ResultParts    // of Result where it is set, else of the reply's result
	Result  []byte         // the result to hand on where it differs from the reply's (R41's schema, R73), else nil
	Error   *wire.RPCError // the error to hand on where it differs from the reply's, else nil
	Refusal *Refusal
	Tool    *Tool  // nil when no tool was called, or it was not found
	Server  string // id of the server that it is about, "" when none was found
}

// Call is one request on its way down the line.
type Call struct {
	Request
	session   *Session
	view      *View
	method    method
	server    *Server
	name      string // the server's own name, URI or method, whether it exists or not
	found     bool   // it does
	decision  policy.Decision
	tool      *Tool // of tools/call, when it was found
	arguments []byte
	trace     trace
	approved  *trust.Approved
	ticket    *Ticket // its place among the session's calls to the server
	notReady  error   // why the server cannot be started; reported by dispatch
	asked     bool    // a request of it was answered: whatever follows may have happened
	answer    Answer
	times     times
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
	r.Ticket.Turn(ctx)
	c := s.begin(r)
	s.end(c, c.walk(ctx), answer)
}

// end hands the answer over and writes the row.
func (s *Session) end(c *Call, refusal *Refusal, answer func(Answer)) {
	c.times.latency = time.Since(c.times.begin)
	if refusal = s.host.cleaned(refusal); refusal != nil {
		own := *refusal // calls that wait for one start have one refusal
		own.plain, own.Row = own.plain || c.method.name != methodTool, c.RowID
		refusal = &own
	}
	c.answer.Refusal, c.answer.Tool = refusal, c.tool
	if c.server != nil {
		c.answer.Server = c.server.Declared.ID
	}
	if refusal != nil && refusal.Step != StepDispatch {
		s.logRefusal(c)
		answer(c.answer)
		return
	}
	answer(c.answer)
	s.log(c)
}

// begin is a call before its first step.
func (s *Session) begin(r Request) *Call {
	now := time.Now()
	c := &Call{
		Request: r, method: methodOf(r.Method), session: s,
		arguments: argumentsOf(r.Params), times: times{begin: now},
	}
	c.see(s.View())
	return c
}

// see has the call judged by a view, as its era has it.
func (c *Call) see(v *View) {
	if c.Modern != nil {
		v = v.Modern()
	}
	c.view = v
}

// renew looks at everything again.
func (c *Call) renew() { c.see(c.session.renew()) }

func (c *Call) walk(ctx context.Context) *Refusal {
	defer c.letOn()
	if c.Method == methodTaskList {
		return c.listTasks(ctx)
	}
	for _, step := range Line() {
		if r := step.Run(ctx, c); r != nil {
			if r.Step == "" {
				r.Step = step.Name
			}
			return r
		}
	}
	return nil
}
