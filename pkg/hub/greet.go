package hub

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"postern/pkg/call"
	"postern/pkg/calllog"
	"postern/pkg/config"
	"postern/pkg/gateway"
	"postern/pkg/secret"
	"postern/pkg/state"
)

// Exit codes that the hub's own refusals lead to (K4).
const (
	exitFailed      = 1
	exitUsage       = 2
	exitUnavailable = 6
)

// welcome answers a hello and serves its session.
func (h *shared) welcome(conn *net.UnixConn, lines *firstLines, hello Hello) {
	o, err := hello.options()
	if err != nil {
		h.refuse(conn, err)
		return
	}
	want, err := h.o.Host.Names(call.SessionOptions{Project: o.Project, Policy: o.Policy, Only: o.Only})
	if err != nil {
		h.refuse(conn, err)
		return
	}
	if extra := len(want) - config.HubVariables; extra > 0 {
		h.o.Say(fmt.Sprintf("servers want %d variables of an agent more than %d: those are not asked for", extra, config.HubVariables))
		want = want[:config.HubVariables]
	}
	if !h.begin() {
		h.retired(conn)
		return
	}
	defer h.end()
	if answer(conn, line(welcome{Session: o.Session, Want: want, Notes: notes(h.o.Host.Remarks(o.Project))})) != nil {
		return
	}
	given, err := readValues(lines, want)
	if err != nil {
		return // it is gone, or no client of ours
	}
	o.Environ = append(o.Environ, given...)
	h.serve(conn, lines.rest(), o)
	h.goodbye(conn)
}

// notes bounds what a client is told.
func notes(all []string) []string {
	if more := len(all) - config.HubNotes; more > 0 {
		all = append(all[:config.HubNotes:config.HubNotes], fmt.Sprintf("and %d more: mcp-catalog servers --check", more))
	}
	for i, text := range all {
		if len(text) > config.HubNoteBytes {
			all[i] = strings.ToValidUTF8(text[:config.HubNoteBytes], "") + "…"
		}
	}
	return all
}

// readValues reads what the client has of the variables that it was asked for.
func readValues(lines *firstLines, want []string) (environ []string, err error) {
	if len(want) == 0 {
		return nil, nil
	}
	text, err := lines.next(config.HubEnvBytes)
	if err != nil {
		return nil, err
	}
	var v values
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, err
	}
	for _, name := range want {
		if value, ok := v.Env[name]; ok && !strings.Contains(value, "\x00") {
			environ = append(environ, name+"="+value)
		}
	}
	return environ, nil
}

// options is what a hello asks for.
func (h *Hello) options() (gateway.Options, error) {
	project, err := h.project()
	o := gateway.Options{
		Project: project, Policy: h.Policy, Only: h.Only, Exposure: h.Exposure, Dir: h.Dir, ClientPID: h.ClientPID,
		ListWait: time.Duration(h.ListWaitMS) * time.Millisecond, Session: calllog.NewID(time.Now()), Via: h.Via, Stamped: true,
		Environ: append([]string{}, secret.WithLocale(nil, h.Locale)...), // never nil, which would be ours
	}
	if h.Kind == KindCall {
		o.Whole, o.Exposure = true, "full"
		if o.Via == "" {
			o.Via = "mcp-call"
		}
	}
	return o, err
}

// project is the real path of the project of a session, "" for none (C21).
func (h *Hello) project() (string, error) {
	if h.NoProject || h.Project == "" && h.Dir == "" {
		return "", nil
	}
	home, _ := state.Home(os.Getenv)
	if h.Project == "" {
		root, err := config.FindProject(h.Dir, home)
		if err != nil {
			return "", nil // a directory that is gone, or not to be read, is in no project
		}
		return root, nil
	}
	root, err := config.FindProject(h.Project, home)
	switch {
	case err != nil:
		return "", &RemoteError{Word: "failed", Message: err.Error(), Exit: exitFailed}
	case root == "":
		return "", &RemoteError{Word: "failed", Message: h.Project + " is in no project: no .git, .postern or .mcp.json there or above", Exit: exitFailed}
	}
	return root, nil
}

// plain serves a connection that began with anything else (R81). A hub that retires
// just closes it: that protocol has no word for it.
func (h *shared) plain(conn *net.UnixConn, begin []byte, lines *firstLines) {
	if h.replaced() || !h.begin() {
		return
	}
	defer h.end()
	_, pid, _ := peerOf(conn)
	h.serve(conn, lines.rest(begin...), gateway.Options{ClientPID: pid, ListWait: config.ListWait, Environ: []string{}})
}

// serve is one session, until its end. The connection is what it ends with: an
// error of a session is its client's affair.
func (h *shared) serve(conn *net.UnixConn, r io.Reader, o gateway.Options) {
	err := h.o.Gateway.Serve(h.ctx, r, conn, o)
	if errors.Is(err, gateway.ErrStamp) {
		h.o.Say("a session was ended: " + err.Error())
	}
}

// goodbye tells a bridge that a person stopped the hub.
func (h *shared) goodbye(conn *net.UnixConn) {
	h.mu.Lock()
	stopped := h.stopped
	h.mu.Unlock()
	if stopped && conn.SetWriteDeadline(time.Now().Add(config.HubGoodbye)) == nil {
		_, _ = conn.Write([]byte(stoppedLine + "\n")) // who does not read it sees the end
	}
}

// order carries out a control verb. A hub that takes no new session leaves it to the
// one that does to start a server: it would be there twice.
func (h *shared) order(conn *net.UnixConn, o order) {
	if o.Verb == call.VerbStart && h.replaced() {
		o.Verb = call.VerbRelease
	}
	result, err := h.o.Control(o.Verb, o.Name, o.ClientPID)
	if err != nil {
		h.refuse(conn, err)
		return
	}
	_ = answer(conn, line(struct {
		Result json.RawMessage `json:"result"`
	}{result}))
	switch o.Verb {
	case call.VerbStop:
		h.o.Place.markStopped()
		h.stop(conn)
	case call.VerbReload:
		h.note() // of how long it stays
	}
}

func (h *shared) retired(conn *net.UnixConn) {
	h.refuse(conn, &RemoteError{Word: wordRetiring, Exit: exitUnavailable, Message: "this hub takes no new session: look for it again"})
}

// refuse answers with an error, as the last line.
func (h *shared) refuse(conn *net.UnixConn, err error) {
	_ = answer(conn, line(struct {
		Error *RemoteError `json:"error"`
	}{remote(err)})) // the end says it as well
}

// remote is an error as the client is told it.
func remote(err error) *RemoteError {
	var r *RemoteError
	var refusal *call.Refusal
	var noPolicy *call.UnknownPolicyError
	var noServer *call.UnknownServerError
	switch {
	case errors.As(err, &r):
		return r
	case errors.As(err, &refusal):
		return &RemoteError{Word: string(refusal.Word), Message: refusal.Message, Exit: refusal.ExitCode(), Remedy: refusal.Remedy}
	case errors.As(err, &noPolicy):
		return &RemoteError{Word: "usage", Message: err.Error(), Exit: exitUsage}
	case errors.As(err, &noServer):
		return &RemoteError{Word: "usage", Message: err.Error(), Exit: exitUsage, Remedy: "mcp-catalog servers"}
	}
	return &RemoteError{Word: "failed", Message: err.Error(), Exit: exitFailed}
}

// answer writes one line; the client is waited for HubLineWait.
func answer(conn *net.UnixConn, text []byte) error {
	if err := conn.SetWriteDeadline(time.Now().Add(config.HubLineWait)); err != nil {
		return err
	}
	if _, err := conn.Write(text); err != nil {
		return err
	}
	return conn.SetWriteDeadline(time.Time{})
}
