package call

import (
	"encoding/json"
	"fmt"

	"postern/pkg/wire"
)

// AskUser begins every remedy that only the agent's user may carry out: an
// agent cannot approve anything (R41).
const AskUser = "ask the user to run: "

// TriesAgain is the remedy of a start that failed: an agent has nothing to do
// but to call again. For a shell it is no command and no hint.
const TriesAgain = "the next call tries again"

// Refusal is why a call has no answer of its server: a step said no, or
// dispatch failed. It is an error; commands read Word, Remedy and Exit.
type Refusal struct {
	Step    string `json:"-"`
	Word    Word   `json:"word"`
	Reason  string `json:"reason,omitempty"` // within the word: not_permitted, denied_by, phase of a failed start, …
	Rule    string `json:"rule,omitempty"`   // file:line that decided
	Remedy  string `json:"remedy,omitempty"` // what to run or to write
	Server  string `json:"server,omitempty"`
	Tool    string `json:"tool,omitempty"`
	Message string `json:"-"` // for people and models; one sentence

	InputSchema json.RawMessage `json:"input_schema,omitempty"` // when arguments were refused; at most MaxReturnedSchema
	Row         string          `json:"row,omitempty"`          // id of the call's row where the caller chose it: no server can have written this refusal

	code  int  // in place of the word's; 0 = the word's
	plain bool // the request has no result in which it could be told
}

// Error is the message with the remedy, since agents show it to their model.
func (r *Refusal) Error() string {
	if r.Remedy == "" {
		return r.Message
	}
	return r.Message + "; " + r.Remedy
}

// Data is the refusal as the data member of an error, or as _meta["postern/error"].
func (r *Refusal) Data() json.RawMessage {
	data, err := json.Marshal(r)
	if err != nil { // a schema that is no JSON cannot come out of a catalog
		return json.RawMessage(fmt.Sprintf(`{"word":%q}`, r.Word))
	}
	return data
}

// RPC is the refusal as a JSON-RPC error.
func (r *Refusal) RPC() *wire.RPCError {
	return &wire.RPCError{Code: r.Code(), Message: r.Error(), Data: r.Data()}
}

// Code is the JSON-RPC code of the refusal: its word's, or what an older agent
// expects in its place.
func (r *Refusal) Code() int {
	if r.code != 0 {
		return r.code
	}
	return r.Word.Meaning().Code
}

// ToolResult is a dispatch failure as a result of tools/call (R40): agents
// show results to their model and often hide errors from it.
func (r *Refusal) ToolResult() []byte {
	text := wire.Quote(r.Error())
	out := make([]byte, 0, len(text)+256)
	out = append(out, `{"content":[{"type":"text","text":`...)
	out = append(out, text...)
	out = append(out, `}],"isError":true,"_meta":{"postern/error":`...)
	out = append(out, r.Data()...)
	return append(out, `}}`...)
}

// AsResult reports whether the refusal is answered as a result rather than as
// an error: dispatch failures of tools/call are.
func (r *Refusal) AsResult() bool { return r.Step == StepDispatch && !r.plain }

// ExitCode is the K4 code of a shell command that ends with this refusal.
func (r *Refusal) ExitCode() int { return r.Word.Meaning().Exit }
