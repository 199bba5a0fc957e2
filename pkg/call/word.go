package call

import (
	"postern/pkg/calllog"
	"postern/pkg/wire"
)

// Word names why a call did not succeed. The list is closed; fields of rows,
// error data and `-o json` errors hold these words (R41).
type Word string

// The words of refusals (steps before dispatch) and of dispatch failures.
const (
	UnknownTool       Word = "unknown_tool"
	UnknownPrompt     Word = "unknown_prompt"
	UnknownResource   Word = "unknown_resource"
	UnknownTask       Word = "unknown_task"
	UnknownMethod     Word = "unknown_method"
	InvalidArguments  Word = "invalid_arguments"
	Untrusted         Word = "untrusted"
	Stale             Word = "stale"
	Denied            Word = "denied"
	Expired           Word = "expired"
	PolicyDenied      Word = "policy_denied"
	ApprovalRequired  Word = "approval_required"
	SupplyChainDenied Word = "supply_chain_denied"

	Unavailable    Word = "upstream_unavailable"
	UpstreamError  Word = "upstream_error"
	ProtocolError  Word = "protocol"
	Closed         Word = "closed"
	Spawn          Word = "spawn"
	ServerError    Word = "server"
	Disabled       Word = "disabled"
	Self           Word = "self"
	OutcomeUnknown Word = "outcome_unknown"
	Timeout        Word = "timeout"
	Overload       Word = "overload"
	CircuitOpen    Word = "circuit_open"
	Cancelled      Word = "cancelled"
	ToolError      Word = "tool_error"
	HubLost        Word = "hub_lost" // said by the bridge
)

// Codes of refusals; the three standard ones are wire's.
const (
	CodePolicy      = -32003 // policy, trust or a person said no
	CodeSupplyChain = -32004 // not what was approved
	// CodeNoResource is an unknown URI until 2025-11-25; after that it is
	// wire.CodeInvalidParams.
	CodeNoResource = -32002
)

// Exit codes of K4 that a word can lead to.
const (
	ExitUsage       = 2
	ExitNotTrusted  = 3
	ExitDenied      = 4
	ExitToolError   = 5
	ExitUnavailable = 6
	ExitTimeout     = 7
	ExitInterrupted = 130
)

// Meaning is what follows from a word.
type Meaning struct {
	Code    int             // JSON-RPC code of the refusal; of a dispatch failure where the method has no result of its own
	Outcome calllog.Outcome // in the row
	Exit    int             // of mcp-call
}

// Meaning looks the word up in the one table of R41. An unknown word is an
// internal error: the zero value of every field is never returned.
func (w Word) Meaning() Meaning {
	switch w {
	case UnknownTool, UnknownPrompt, UnknownResource, UnknownTask, InvalidArguments:
		return Meaning{wire.CodeInvalidParams, calllog.Denied, ExitUsage}
	case UnknownMethod:
		return Meaning{wire.CodeMethodNotFound, calllog.Denied, ExitUsage}
	case Untrusted, Stale, Denied, Expired:
		return Meaning{CodePolicy, calllog.Denied, ExitNotTrusted}
	case PolicyDenied, ApprovalRequired:
		return Meaning{CodePolicy, calllog.Denied, ExitDenied}
	case SupplyChainDenied:
		return Meaning{CodeSupplyChain, calllog.Denied, ExitDenied}
	case Timeout:
		return Meaning{wire.CodeInternal, calllog.Timeout, ExitTimeout}
	case Overload, CircuitOpen:
		return Meaning{wire.CodeInternal, calllog.CircuitOpen, ExitUnavailable}
	case Cancelled:
		return Meaning{wire.CodeInternal, calllog.Cancelled, ExitInterrupted}
	case ToolError:
		return Meaning{wire.CodeInternal, calllog.ToolError, ExitToolError}
	case UpstreamError:
		return Meaning{wire.CodeInternal, calllog.UpstreamError, ExitToolError}
	default:
		return Meaning{wire.CodeInternal, calllog.UpstreamError, ExitUnavailable}
	}
}
