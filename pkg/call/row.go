package call

import (
	"cmp"
	"time"

	"postern/pkg/calllog"
	"postern/pkg/config"
	"postern/pkg/policy"
	"postern/pkg/wire"
)

// log writes the row of a call that was sent, after its answer went out.
func (s *Session) log(c *Call) { s.host.log.Append(s.row(c)) }

// logRefusal writes the row of a refusal before its answer goes out (C81).
func (s *Session) logRefusal(c *Call) {
	s.host.log.AppendWait(s.row(c), config.RefusalLogWait)
}

// row is the call as one line of the log (C80).
func (s *Session) row(c *Call) calllog.Row {
	r := calllog.Row{
		ID: c.RowID, TS: c.times.begin.UTC(),
		LatencyMS: milliseconds(c.times.latency), QueueMS: milliseconds(c.times.queue), StartMS: milliseconds(c.times.init),
		Level: c.view.subject.Level, ClientPID: s.o.ClientPID, Claimed: s.claimed.Load(), Session: s.ID,
		ConfigHash: c.view.Config.Hash, Project: s.o.Project,
		Upstream: c.Server, Tool: c.Request.Tool, Via: cmp.Or(c.Via, c.method.via, s.o.Via),
		RequestBytes: c.LineBytes,
		TraceID:      c.trace.id, SpanID: c.trace.span, ParentSpanID: c.trace.parent,
	}
	if refusal := c.answer.Refusal; refusal != nil {
		r.Tool = refusal.Tool // the best that is known of a tool that was not found
	}
	if c.server != nil {
		r.Upstream, r.Scope, r.Launch = c.server.Declared.ID, string(c.server.Declared.Scope), c.server.Declared.Digest
	}
	if c.found {
		r.Tool, r.Tier = c.name, string(c.decision.Tier)
	}
	if c.server == nil { // names of nothing: what was meant to be an argument, perhaps
		r.Upstream = s.host.redactor.Text(r.Upstream)
	}
	// A URI may hold what it is to be read with, and a method is the agent's word.
	if !c.found || c.method.kind == policy.ResourceKind || c.method.kind == policy.MethodKind {
		r.Tool = s.host.redactor.Text(r.Tool)
	}
	s.logArguments(c, &r)
	s.outcome(c, &r)
	return r
}

func (s *Session) outcome(c *Call, r *calllog.Row) {
	if refusal := c.answer.Refusal; refusal != nil {
		m := refusal.Word.Meaning()
		r.Outcome, r.Step, r.Word, r.Reason, r.Rule = m.Outcome, refusal.Step, string(refusal.Word), refusal.Reason, refusal.Rule
		if !refusal.AsResult() {
			r.Code = refusal.Code()
		}
		return
	}
	size := len(c.answer.Result)
	m := c.answer.Reply
	if m != nil {
		size = len(m.Raw)
	}
	r.ResponseBytes, r.ResponseTokens = size, (size+3)/4
	switch {
	case m != nil && m.Error.Ok():
		r.Outcome, r.Word, r.Step = calllog.UpstreamError, string(UpstreamError), StepDispatch
		if e, err := wire.ParseRPCError(m.ErrorBytes()); err == nil {
			r.Code = e.Code
		}
	case c.answer.Parts.Failed:
		r.Outcome = calllog.ToolError
	default:
		r.Outcome = calllog.OK
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
