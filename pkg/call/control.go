package call

import (
	"encoding/json"
	"slices"
	"strings"

	"postern/pkg/config"
	"postern/pkg/policy"
)

// The control verbs: what the user of a shared process tells it from a shell.
const (
	VerbStatus  = "status"
	VerbKill    = "kill"
	VerbStart   = "start"
	VerbRestart = "restart"
	VerbStop    = "stop"
	VerbReload  = "reload"
	VerbRefresh = "refresh"
	// VerbRelease takes kill back and starts nothing itself: what start is to a process
	// beside another one that takes new sessions.
	VerbRelease = "release"
)

// viaControl is the `via` of their rows.
const viaControl = "control"

// Control does one control verb for the user and is its answer, a JSON object.
// kill, start, restart, refresh and release want the id of a server: it means the user's
// server of that id and those of the projects that have a session open, else what
// runs under it. stop only says that it may be done: ending is the caller's. pid is the process that asks,
// 0 when unknown. Each is a row, refusals too; the error is a *Refusal. Waits are
// bounded by start_timeout and teardown of the servers.
//
// The answers are, for status a HostStatus, for kill a Killed, for start, restart and release a Handled,
// for refresh a Relisted, for reload and stop a Reloaded.
func (h *Host) Control(verb, name string, pid int) (json.RawMessage, error) {
	s, err := h.join(SessionOptions{Via: viaControl, ClientPID: pid}, true)
	if err != nil {
		return nil, &Refusal{Step: StepResolve, Word: Unavailable, Message: h.redactor.Text(err.Error())}
	}
	defer s.Close()
	c := s.begin(Request{Server: policy.Gateway, Tool: verb, Params: controlParams(name), Via: viaControl})
	if c.found = slices.Contains(controlVerbs(), verb); c.found {
		c.name, c.decision.Tier = verb, config.TierAdmin
	}
	result, refusal := s.control(verb, name)
	if refusal == nil {
		c.answer.Result, _ = json.Marshal(result) // structures of our own: cannot fail
	}
	var out Answer
	s.end(c, refusal, func(a Answer) { out = a })
	if out.Refusal != nil {
		return nil, out.Refusal
	}
	return out.Result, nil
}

func controlVerbs() []string {
	return []string{VerbStatus, VerbKill, VerbStart, VerbRestart, VerbStop, VerbReload, VerbRefresh, VerbRelease}
}

// controlParams are those of the row.
func controlParams(name string) []byte {
	if name == "" {
		return []byte("{}")
	}
	params, _ := json.Marshal(map[string]any{"arguments": map[string]string{"name": name}}) // strings only
	return params
}

// control does a verb in the session that was opened for it.
func (s *Session) control(verb, name string) (any, *Refusal) {
	switch verb {
	case VerbStatus:
		return s.host.Status(), nil
	case VerbReload:
		s.host.Reload()
		fallthrough
	case VerbStop:
		return Reloaded{Sessions: len(s.host.others(s)), Problems: s.host.problems()}, nil
	case VerbKill, VerbStart, VerbRestart, VerbRefresh, VerbRelease:
		return s.manage(verb, name)
	}
	return nil, &Refusal{Step: StepResolve, Word: InvalidArguments, Reason: "unknown_verb", Tool: clip(verb),
		Message: "there is no such control verb; they are " + strings.Join(controlVerbs(), ", ")}
}
