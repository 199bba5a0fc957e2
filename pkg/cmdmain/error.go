package cmdmain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The rules of what is said on standard error:
//   - every line begins with the command's name; no capital, no full stop
//   - the message names the subject; hints name the command to run next
//   - hints come from the error's type, never from its text
//   - nothing in it can move the cursor or hide: all of it passes Printable
//   - no secret is in it: all but hints passes the Redactor
//   - with -o json or jsonl a failure is one JSON object on one line

// Error is a failure with what the person is told and the code it ends with.
// An Error without Err says nothing: the product already told the story, and
// only the code is left to report.
type Error struct {
	Err   error
	Word  string   // for programs; "" = the word of Exit
	Hints []string // each one the exact next step, without the "hint:" prefix
	Exit  Exit     // Done counts as Failed
}

// Error is the message without hints.
func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit %d", e.Exit)
	}
	return e.Err.Error()
}

// Unwrap gives the cause, so that errors.As looks through.
func (e *Error) Unwrap() error { return e.Err }

// Usagef is a mistake in how the command was called: code 2. The hint to
// --help is added when it is reported.
func Usagef(format string, args ...any) error {
	return &Error{Err: fmt.Errorf(format, args...), Exit: Usage}
}

// classify turns any error of an action into one that can be reported.
func classify(err error, interrupted bool) *Error {
	var e *Error
	switch {
	case errors.As(err, &e):
		out := *e
		if out.Exit == Done {
			out.Exit = Failed
		}
		if e.Err != nil {
			out.Err = err
		}
		return &out
	case interrupted && errors.Is(err, context.Canceled):
		return &Error{Err: errors.New("interrupted"), Exit: Interrupted}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Err: err, Exit: Timeout}
	default:
		return &Error{Err: err, Exit: Failed}
	}
}

// report says e on standard error.
func (e *Env) report(failure *Error) {
	if failure.Err == nil {
		return
	}
	hints := failure.Hints
	if failure.Exit == Usage && len(hints) == 0 {
		hints = []string{e.verb() + " --help"}
	}
	hints = slices.Clone(hints)
	for i, hint := range hints {
		hints[i] = e.placed(hint)
	}
	if e.jsonErrors {
		e.reportJSON(failure, hints)
		return
	}
	e.Sayf("%s", failure.Error())
	for _, hint := range hints {
		e.Sayf(hintMark+"%s", hint)
	}
}

func (e *Env) reportJSON(failure *Error, hints []string) {
	type body struct {
		Word    string `json:"word"`
		Message string `json:"message"`
		Hint    string `json:"hint"`
		Exit    Exit   `json:"exit"`
	}
	word := failure.Word
	if word == "" {
		word = failure.Exit.word()
	}
	line, err := marshal(map[string]body{"error": {
		Word: word, Message: e.Clean(failure.Error()), Hint: strings.Join(hints, "\n"), Exit: failure.Exit,
	}})
	if err == nil {
		e.say(PrintableJSON(line))
	}
}

// Sayf writes one message for people to standard error, prefixed with the
// command's name. A message of several lines keeps the prefix on each. It may be
// called concurrently.
func (e *Env) Sayf(format string, args ...any) {
	text := e.message(strings.TrimRight(fmt.Sprintf(format, args...), "\n"))
	var out strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		out.WriteString(e.Name + ": " + Printable(line) + "\n")
	}
	e.say([]byte(out.String()))
}

// say writes text to standard error, in one piece, so that lines of several
// processes do not mix.
func (e *Env) say(text []byte) {
	e.saying.Lock()
	defer e.saying.Unlock()
	_, _ = e.Stderr.Write(text) // nowhere is left to say that this failed
}

// marshal is v as one line of JSON that leaves < > & readable.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
