package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"postern/pkg/call"
	"postern/pkg/cmdmain"
	"postern/pkg/wire"
)

// ended is the error of something that ctx ended; what says when.
func (m *caller) ended(ctx context.Context, what string) error {
	var over *timeoutError
	if errors.As(context.Cause(ctx), &over) {
		return &cmdmain.Error{Err: fmt.Errorf("%w %s", over, what), Word: string(call.Timeout), Exit: cmdmain.Timeout}
	}
	return &cmdmain.Error{Err: fmt.Errorf("interrupted %s", what), Word: string(call.Cancelled), Exit: cmdmain.Interrupted}
}

// refused words a refusal of the line, or a dispatch failure, for the shell.
func (m *caller) refused(ctx context.Context, r *call.Refusal) error {
	v := m.session.View()
	early := r.Step != call.StepDispatch
	switch {
	case ctx.Err() != nil && (r.Word == call.Cancelled || r.Word == call.Unavailable || r.Word == call.Timeout):
		what := "before server " + r.Server + " answered"
		if r.Tool != "" && m.runs(v, r.Server) {
			what += "; the call may have happened"
		}
		return m.ended(ctx, what)
	case early && v.Config.Refused: // that nothing is there must not look like a name mistyped (MB-172)
		return m.notInForce()
	case r.Word == call.UnknownTool:
		return m.unknown(v, r)
	case r.Word == call.UnknownPrompt || r.Word == call.UnknownResource:
		return m.unknownItem(v, r)
	}
	err := cmdmain.Failure(r)
	var e *cmdmain.Error
	if log := m.stderrLog(v, r); log != "" && errors.As(err, &e) {
		e.Hints = append(e.Hints, "tail "+call.ShellQuoted(log))
	}
	return err
}

// notInForce says that there is nothing because the user's file is refused.
func (m *caller) notInForce() error {
	return &cmdmain.Error{Err: fmt.Errorf("nothing of %s is in force until it is mended", m.userFile),
		Word: "invalid_file", Exit: cmdmain.Failed, Hints: []string{"mcp-catalog servers --check" + m.place()}}
}

// unknown names what there is instead.
func (m *caller) unknown(v *call.View, r *call.Refusal) error {
	e := &cmdmain.Error{Word: string(r.Word), Exit: cmdmain.Usage}
	near := ""
	if r.Remedy != "" {
		near = "; " + r.Remedy
	}
	if v.Server(r.Server) != nil {
		e.Hints = []string{m.command("", r.Server)}
	} else {
		known := make([]string, len(v.Servers))
		for i, s := range v.Servers {
			known[i] = s.Declared.ID
		}
		if like := cmdmain.DidYouMean(r.Server, known); like != "" {
			near = like
		}
		e.Hints = []string{"mcp-catalog servers" + m.place()}
	}
	e.Err = errors.New(r.Message + near)
	return e
}

// unknownItem names what there is instead of a prompt or resource, and has the
// servers listed that may have it: the one it names, else those that nobody ever
// listed, else all.
func (m *caller) unknownItem(v *call.View, r *call.Refusal) error {
	e := &cmdmain.Error{Err: errors.New(r.Error()), Word: string(r.Word), Exit: cmdmain.Usage}
	again := []string{"mcp-catalog refresh"}
	if v.Server(r.Server) != nil {
		again = append(again, call.ShellQuoted(r.Server))
	} else {
		for _, s := range v.Servers {
			if s.Usable() && s.Catalog == nil && v.Serves(s) {
				again = append(again, call.ShellQuoted(s.Declared.ID))
			}
		}
	}
	e.Hints = []string{strings.Join(again, " ") + m.place()}
	return e
}

// stderrLog is where the server may have said why it failed, "" when it did not
// fail or said nothing.
func (m *caller) stderrLog(v *call.View, r *call.Refusal) string {
	if !tellsOnStderr(r.Word) {
		return ""
	}
	path := m.host.Pool().StderrLog(r.Server, m.key(v, r.Server))
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		return ""
	}
	return path
}

// tellsOnStderr tells failures of which the server may have said why.
func tellsOnStderr(w call.Word) bool {
	switch w {
	case call.Closed, call.OutcomeUnknown, call.ProtocolError, call.Timeout, call.ServerError:
		return true
	}
	return false
}

// runs tells whether a server is up: what it was asked may have reached it.
func (m *caller) runs(v *call.View, server string) bool {
	return m.host.Pool().Running(m.key(v, server)) != nil
}

// key names a server in the pool; "" when it was not approved.
func (m *caller) key(v *call.View, server string) string {
	s := v.Server(server)
	if s == nil {
		return ""
	}
	a, err := v.Approve(m.env.Ctx, s)
	if err != nil {
		return ""
	}
	return a.Key()
}

// serverError is the server's JSON-RPC error as this command's failure.
func (m *caller) serverError(t target, raw []byte) error {
	e, err := wire.ParseRPCError(raw)
	if err != nil {
		return &cmdmain.Error{Err: fmt.Errorf("server %s answered with an error that cannot be read: %w", t.server, err),
			Word: string(call.UpstreamError), Exit: cmdmain.ToolError}
	}
	failure := &cmdmain.Error{Err: fmt.Errorf("server %s: %s", t.server, e.Message), Word: string(call.UpstreamError), Exit: cmdmain.ToolError}
	switch {
	case e.Code == wire.CodeInvalidParams:
		failure.Word, failure.Exit = string(call.InvalidArguments), cmdmain.Usage
		failure.Hints = m.helpOf(t)
	case e.Code == call.CodeNoResource && t.method == readResource:
		failure.Word, failure.Exit = string(call.UnknownResource), cmdmain.Usage
	}
	return failure
}
