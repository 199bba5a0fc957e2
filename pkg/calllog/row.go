package calllog

import (
	"encoding/json"
	"time"
)

// Version is the "v" of the rows this package writes.
const Version = 1

// Outcome is how a call ended, in one word of a closed list.
type Outcome string

// The outcomes (C80).
const (
	OK            Outcome = "ok"             // the tool answered
	ToolError     Outcome = "tool_error"     // the tool answered that it failed
	UpstreamError Outcome = "upstream_error" // the server failed, or answered with a protocol error
	Timeout       Outcome = "timeout"        // no answer in time
	Denied        Outcome = "denied"         // refused before anything was sent
	CircuitOpen   Outcome = "circuit_open"   // not sent: the server is held down or overloaded
	Cancelled     Outcome = "cancelled"      // the caller gave up
)

// Outcomes lists every outcome, in the order of the documentation.
func Outcomes() []Outcome {
	return []Outcome{OK, ToolError, UpstreamError, Timeout, Denied, CircuitOpen, Cancelled}
}

// Row is one line of the log (C80). V, Writer and Seq are the writer's to fill,
// Dropped too, and ID when it is empty. Durations are milliseconds.
type Row struct {
	V      int       `json:"v"`
	ID     string    `json:"id"`     // sorts by time
	Writer string    `json:"writer"` // the process that wrote the row
	Seq    uint64    `json:"seq"`    // running number of that writer, from 1
	TS     time.Time `json:"ts"`     // start of the call

	LatencyMS float64 `json:"latency_ms"`         // whole duration
	QueueMS   float64 `json:"queue_ms,omitempty"` // of it, waiting for a free place
	StartMS   float64 `json:"start_ms,omitempty"` // of it, starting the server

	Caller     string   `json:"caller,omitempty"` // proved, never claimed; "" is anonymous
	Level      int      `json:"level"`            // trust level in force
	ClientPID  int      `json:"client_pid,omitempty"`
	Claimed    *Claimed `json:"claimed,omitempty"` // what the client says of itself
	Session    string   `json:"session,omitempty"`
	ConfigHash string   `json:"config_hash,omitempty"` // of the configuration in force
	Launch     string   `json:"launch,omitempty"`      // digest of the declaration that ran

	Scope    string `json:"scope,omitempty"`   // user or project
	Project  string `json:"project,omitempty"` // root of the session's project
	Upstream string `json:"upstream,omitempty"`
	Tool     string `json:"tool,omitempty"` // the server's own name for it
	Tier     string `json:"tier,omitempty"`
	Via      string `json:"via,omitempty"`
	ArgsHash string `json:"args_hash,omitempty"` // of the arguments in canonical form

	// Args are the arguments with every secret taken out, compact JSON of at most
	// LogArgsBytes. What is no JSON on one line, or longer, is left out.
	Args json.RawMessage `json:"args,omitempty"`

	Outcome Outcome `json:"outcome"`
	Step    string  `json:"step,omitempty"`   // of the line, that ended the call
	Word    string  `json:"word,omitempty"`   // why it failed, from a closed list
	Reason  string  `json:"reason,omitempty"` // details of that
	Rule    string  `json:"rule,omitempty"`   // file:line that decided
	Code    int     `json:"code,omitempty"`   // JSON-RPC error code of the answer

	RequestBytes   int    `json:"request_bytes"`
	ResponseBytes  int    `json:"response_bytes"`
	ResponseTokens int    `json:"response_tokens_est"` // at four bytes each
	TraceID        string `json:"trace_id,omitempty"`  // W3C's, of the caller's traceparent; and of it
	SpanID         string `json:"span_id,omitempty"`   // this call
	ParentSpanID   string `json:"parent_span_id,omitempty"`
	Dropped        uint64 `json:"dropped,omitempty"` // rows lost just before this one
}

// Claimed is what a client says of itself in its handshake: anybody's word.
type Claimed struct {
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
}
