package call

import (
	"context"
	"errors"

	"postern/pkg/pool"
	"postern/pkg/trust"
	"postern/pkg/upstream"
)

// failed words an error of the pool or of the connection to a server; what
// ended the call's own context comes first.
func failed(ctx context.Context, s *Server, tool string, err error) *Refusal {
	r := refusalOf(s, tool, err)
	if ctx.Err() == nil || r.Step != StepDispatch {
		return r
	}
	if tooLong, ok := asError[*errTooLong](context.Cause(ctx)); ok {
		r.Word, r.Reason = Timeout, "max_timeout"
		r.Message = "the call to " + r.Server + " was given up: " + tooLong.Error()
		if f, ok := asError[*upstream.Failure](err); ok && f.Word == upstream.Timeout {
			r.Message += ", " + f.Detail // with the other limit, and how far it came (MB-085)
		}
		r.Message += mayHaveHappened(err)
	} else {
		r.Word, r.Reason = Cancelled, context.Cause(ctx).Error()
		r.Message = "the call to " + r.Server + " was cancelled" + mayHaveHappened(err)
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) { // the caller's own limit
			r.Word, r.Message = Timeout, "the call to "+r.Server+" was given up: "+r.Reason+mayHaveHappened(err)
		}
	}
	return r
}

// refusalOf words whatever kept a server from being started or from answering
// as a dispatch failure: server, cause, with the last line that the server wrote
// where nobody else's call can be behind it, and what to do (R42).
func refusalOf(s *Server, tool string, err error) *Refusal {
	id := s.Declared.ID
	r := &Refusal{Step: StepDispatch, Word: Unavailable, Server: id, Tool: tool}
	if f, ok := asError[*upstream.Failure](err); ok {
		wordFailure(r, f)
		return r
	}
	if inner, ok := asError[*Refusal](err); ok {
		return inner
	}
	r.Message = err.Error()
	switch e := err.(type) {
	case *pool.OpenError:
		r.Word, r.Remedy = CircuitOpen, "try again in "+e.Left.String()
	case *pool.KilledError:
		r.Reason, r.Remedy = "killed", AskUser+"mcp-serve start "+id
	case *pool.StuckError:
		r.Word, r.Reason = Timeout, "stuck"
	case *pool.HeldError:
		r.Reason, r.Remedy = "flapping", "try again in "+e.Left.String()
	case *trust.UnavailableError:
		r.Reason, r.Remedy = "not_set", e.Hint
	case *trust.ExecutableError:
		r.Word = Spawn
	case *trust.SelfError:
		r.Word = Self
	case *trust.DisabledError:
		r.Word = Disabled
	case *trust.NotTrustedError:
		return notTrusted(s, tool, e.Status, e.Why).at(StepResolve)
	case *trust.ChangedError:
		return changedRefusal(s, tool, e)
	default:
		wordOther(r, err)
	}
	return r
}

func wordOther(r *Refusal, err error) {
	switch {
	case errors.Is(err, pool.ErrClosed):
		r.Word, r.Message = Closed, "the gateway is shutting down"
	case errors.Is(err, context.Canceled):
		r.Word, r.Message = Cancelled, "the call was cancelled"
	default:
		if c, ok := asError[*upstream.Cancelled](err); ok {
			r.Word, r.Message, r.Reason = Cancelled, "the call was cancelled", c.Reason
		}
	}
}

// wordFailure translates a connection's failure. Once a byte of the request
// was written nobody knows whether the server acted on it, and the text says so.
func wordFailure(r *Refusal, f *upstream.Failure) {
	r.Reason = f.Phase
	switch f.Word {
	case upstream.Spawn:
		r.Word = Spawn
	case upstream.Timeout:
		r.Word = Timeout
	case upstream.Overload:
		r.Word, r.Remedy = Overload, "try again when fewer calls are under way"
	case upstream.Protocol:
		r.Word = ProtocolError
	case upstream.Aborted:
		r.Word = Closed // by us: who cancels a call is told by failed
	case upstream.ServerError:
		r.Word = ServerError
	case upstream.Closed:
		r.Word = Closed
	}
	if f.Sent && r.Word == Closed {
		r.Word = OutcomeUnknown
	}
	if !f.Sent && f.Phase != "queue" && (f.Word != upstream.Aborted || f.Phase == "start") && r.Remedy == "" {
		r.Remedy = TriesAgain // until the breaker opens
	}
	r.Message = f.Explained() + mayHaveHappened(f)
}

// mayHaveHappened is what a caller must know of a call that was sent and not
// answered: it is never repeated by the gateway (R43).
func mayHaveHappened(err error) string {
	if f, ok := asError[*upstream.Failure](err); ok && f.Sent {
		return "; the call was sent and may have happened"
	}
	return ""
}
