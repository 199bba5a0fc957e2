package wire

import (
	"encoding/json"
	"strconv"
)

// Error codes of JSON-RPC 2.0.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
)

// RPCError is the error object of a response.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"` // as written; nil when absent
}

func (e *RPCError) Error() string { return e.Message + " (code " + itoa(e.Code) + ")" }

// ParseRPCError reads an error object: an integer code, a string message and
// whatever data. Anything else is a *SyntaxError or a *MemberError. Data shares
// memory with raw.
func ParseRPCError(raw []byte) (*RPCError, error) {
	var at [3]Span
	if err := Lookup(raw, []string{"code", "message", "data"}, at[:]); err != nil {
		return nil, err
	}
	code, err := strconv.Atoi(string(at[0].Of(raw)))
	if err != nil {
		return nil, &SyntaxError{Offset: at[0].Start, Reason: "code of the error is not an integer"}
	}
	message, err := Unquote(at[1].Of(raw))
	if err != nil {
		return nil, &SyntaxError{Offset: at[1].Start, Reason: "message of the error is not a string"}
	}
	return &RPCError{Code: code, Message: message, Data: at[2].Of(raw)}, nil
}
