package hub

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"postern/pkg/call"
	"postern/pkg/config"
)

// Kinds of sessions.
const (
	KindBridge = "bridge" // of an agent; its lines are stamped
	KindCall   = "call"   // of another command; its lines are stamped too, and results come whole
)

// Hello is the first line of a session (see the package doc). Its zero fields are
// the defaults.
type Hello struct {
	Kind       string   `json:"kind"`
	Version    string   `json:"version,omitempty"` // of the client's build, for people
	Via        string   `json:"via,omitempty"`     // of its rows; "" = direct for a bridge, mcp-call for a call
	Dir        string   `json:"dir,omitempty"`     // the agent's working directory, absolute
	Project    string   `json:"project,omitempty"` // a directory in it; "" = the one around dir (C21)
	NoProject  bool     `json:"no_project,omitempty"`
	Policy     string   `json:"policy,omitempty"`
	Only       string   `json:"only,omitempty"`
	Exposure   string   `json:"exposure,omitempty"`
	ListWaitMS int64    `json:"list_wait_ms"`
	ClientPID  int      `json:"client_pid,omitempty"`
	Locale     []string `json:"locale,omitempty"` // LANG, LC_*, TZ and TERM, "NAME=value"
}

// line is the hello as its line, with the newline. One longer than HubLineBytes
// is refused by the hub.
func (h Hello) line() []byte { return line(h) }

// IsText reports whether the hub reads what the hello says: a path may be bytes that
// are no UTF-8, and a line would name another one in its place.
func (h Hello) IsText() bool {
	return utf8.ValidString(h.Dir + h.Project + h.Policy + h.Only)
}

// welcome is the hub's answer to a Hello.
type welcome struct {
	Session string   `json:"session"`
	Want    []string `json:"want,omitempty"` // variables whose values are asked for; none = no values follow
	// Notes are for whoever runs the agent: what is wrong with the configuration and
	// the trust that the session begins with (R90, MB-172).
	Notes []string `json:"notes,omitempty"`
}

// values answers the want of a welcome: those variables that there are.
type values struct {
	Env map[string]string `json:"env"`
}

// line is the values as their line, with the newline. Bytes that are no UTF-8 are as
// though they were not there: the line would hold others.
func (v values) line() []byte {
	v.Env = maps.Clone(v.Env)
	maps.DeleteFunc(v.Env, func(_, value string) bool { return !utf8.ValidString(value) })
	return line(v)
}

// order is one control verb, the only line of its connection.
type order struct {
	Verb      string `json:"verb"`           // call.VerbStatus and the like
	Name      string `json:"name,omitempty"` // of the server
	ClientPID int    `json:"client_pid,omitempty"`
}

// line is the order as its line, with the newline.
func (o order) line() []byte { return line(o) }

// wordRetiring is the word of a hub that takes no new session: Reach again.
const wordRetiring = "retiring"

// wordOverload is the word of a hub that has as many connections as it takes.
const wordOverload = string(call.Overload)

// RemoteError is a refusal of the hub.
type RemoteError struct {
	Word    string `json:"word"`
	Message string `json:"message"`
	Exit    int    `json:"exit"`             // of K4
	Remedy  string `json:"remedy,omitempty"` // what to run next
}

// Error is the hub's message.
func (e *RemoteError) Error() string { return e.Message }

// stoppedLine is the last line to a bridge of a hub that a person stopped: no other
// is to be started until the agent reconnects.
const stoppedLine = `{"postern":1,"stopped":true}`

// isStopped reports whether a line of the hub is stoppedLine, or ends with it: then the
// hub had to leave a line in the middle, as no whole one can end so, and what is
// before it is nothing.
func isStopped(line []byte) bool {
	line = bytes.TrimRight(line, "\r\n")
	return len(line) >= len(stoppedLine) && string(line[len(line)-len(stoppedLine):]) == stoppedLine
}

// parseWelcome reads the hub's answer to a Hello. The error is a *RemoteError
// when the hub refuses.
func parseWelcome(line []byte) (welcome, error) {
	var w welcome
	err := parseAnswer(line, &w)
	return w, err
}

// parseResult reads the hub's answer to an Order. The error is a *RemoteError
// when the hub refuses.
func parseResult(line []byte) (json.RawMessage, error) {
	var r struct {
		Result json.RawMessage `json:"result"`
	}
	err := parseAnswer(line, &r)
	return r.Result, err
}

func parseAnswer(line []byte, into any) error {
	var head struct {
		Postern int          `json:"postern"`
		Error   *RemoteError `json:"error"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return fmt.Errorf("the hub's answer is not JSON: %w", err)
	}
	switch {
	case head.Postern != 1:
		return errors.New("the answer is not a hub's: it has no \"postern\":1")
	case head.Error != nil:
		return head.Error
	}
	return json.Unmarshal(line, into)
}

// line is v, an object, with the protocol's version in front, on one line.
func line(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil || len(raw) < 2 || raw[0] != '{' {
		panic("hub: a line that is no object") // of our own types none
	}
	head := []byte(`{"postern":1`)
	if raw[1] != '}' {
		head = append(head, ',')
	}
	return append(append(head, raw[1:]...), '\n')
}

// opening is what a client begins with: a hello or an order, and neither is plain
// MCP.
type opening struct {
	hello *Hello
	order *order
}

// parseOpening reads a first line. An error is a *RemoteError to answer with.
func parseOpening(text []byte) (opening, error) {
	var head struct {
		Postern json.RawMessage `json:"postern"`
		Kind    json.RawMessage `json:"kind"`
		Verb    json.RawMessage `json:"verb"`
	}
	if json.Unmarshal(text, &head) != nil || string(head.Postern) != "1" {
		return opening{}, nil // MCP, or nothing: the session says what it thinks of it
	}
	switch {
	case head.Verb != nil && head.Kind == nil:
		var o order
		if err := json.Unmarshal(text, &o); err != nil {
			return opening{}, badHello("the order is malformed: %s", problem(err))
		}
		return opening{order: &o}, nil
	case head.Kind != nil && head.Verb == nil:
		var h Hello
		if err := json.Unmarshal(text, &h); err != nil {
			return opening{}, badHello("the hello is malformed: %s", problem(err))
		}
		return opening{hello: &h}, h.check()
	}
	return opening{}, badHello("the first line needs either a kind or a verb")
}

// problem says what is wrong with a value without the words of Go.
func problem(err error) string {
	var e *json.UnmarshalTypeError
	if errors.As(err, &e) {
		return fmt.Sprintf("%s has a value of the wrong kind: %s", e.Field, e.Value)
	}
	return "it is no JSON object"
}

func badHello(format string, args ...any) *RemoteError {
	return &RemoteError{Word: "usage", Message: fmt.Sprintf(format, args...), Exit: exitUsage}
}

// check judges what a hello says, as far as it can be judged alone.
func (h *Hello) check() error {
	wait := config.MaxListWait.Milliseconds()
	switch {
	case h.Kind != KindBridge && h.Kind != KindCall:
		return badHello("there is no kind %q of session", h.Kind)
	case h.ListWaitMS < 0 || h.ListWaitMS > wait:
		return badHello("list_wait_ms is between 0 and %d, not %d", wait, h.ListWaitMS)
	case h.NoProject && h.Project != "":
		return badHello("project and no_project exclude each other")
	case h.Dir != "" && !filepath.IsAbs(h.Dir) || h.Project != "" && !filepath.IsAbs(h.Project):
		return badHello("dir and project are absolute paths")
	case !slices.Contains([]string{"", "direct", "mcp-call", "mcp-catalog", "mcp-trust"}, h.Via): // else a session could hide as a control verb's
		return badHello("there is no via %q", h.Via)
	case !slices.Contains([]string{"", "auto", "full", "lazy"}, h.Exposure):
		return badHello("there is no exposure %q", h.Exposure)
	}
	return nil
}
