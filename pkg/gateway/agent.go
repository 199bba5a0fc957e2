package gateway

import (
	"slices"
	"strings"

	"postern/pkg/wire"
)

// levels are the protocol's log levels, the lowest first.
var levels = [...]string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

func isLevel(word string) bool { return slices.Contains(levels[:], word) }

// setLevel answers logging/setLevel: the level holds for this session alone, and
// servers hear of it with the next call (R72).
func (s *session) setLevel(m wire.Message) []byte {
	var at [1]wire.Span
	params := m.ParamsBytes()
	err := wire.Lookup(params, []string{"level"}, at[:])
	level, bad := wire.Unquote(at[0].Of(params))
	if err != nil || bad != nil || !isLevel(level) {
		return wire.ErrorLine(m.IDBytes(), &wire.RPCError{Code: wire.CodeInvalidParams,
			Message: "logging/setLevel needs params.level, one of " + strings.Join(levels[:], ", ")})
	}
	s.mu.Lock()
	s.level = level
	s.mu.Unlock()
	return wire.ResultLine(m.IDBytes(), []byte("{}"))
}

// Level is the level that the agent wants log messages from, as call.Agent says:
// in the modern era the lowest that a request under way asks for.
func (s *session) Level() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.revision == "" {
		return s.requestLevel()
	}
	return s.level
}

// Capabilities is what the agent declared in initialize, as call.Agent says.
func (s *session) Capabilities() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.declared
}

// Modern reports whether all that came were requests of the modern era, as
// call.Agent says.
func (s *session) Modern() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision == "" && s.met
}

// Notify sends a server's notification to an agent that is there to hear it, as
// call.Agent says. Log messages go first where the agent does not read.
func (s *session) Notify(method string, params []byte) {
	s.guard(func() { s.notify(method, params) }) // a server's reader calls this
}

func (s *session) notify(method string, params []byte) {
	s.mu.Lock()
	ready, met := s.revision != "", s.met
	s.mu.Unlock()
	if met {
		s.notifyModern(method, params, !ready)
	}
	if !ready {
		return
	}
	line := wire.NotificationLine(method, params)
	if method == "notifications/message" {
		s.out.SendDroppable(line)
		return
	}
	// Waiting for room here would keep the server's other sessions waiting too.
	_ = s.out.Send(line, nil)
}

// notification handles a notification of the agent.
func (s *session) notification(m wire.Message) {
	switch m.Method {
	case "notifications/cancelled":
		s.cancelled(m)
	case "notifications/progress":
		s.asked.progressed(m.ParamsBytes())
	case "notifications/initialized": // nothing waits for it
	default:
		s.calls.NotifyServers(m.Method, m.ParamsBytes())
	}
}
