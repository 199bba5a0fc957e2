package gateway

import (
	"slices"

	"postern/pkg/wire"
)

// requestLevel is the lowest level that a request under way wants log messages
// from, "" when none does. The caller holds mu.
func (s *session) requestLevel() (lowest string) {
	for _, r := range s.open {
		if r.modern == nil || r.modern.LogLevel == "" {
			continue
		}
		if lowest == "" || slices.Index(levels[:], r.modern.LogLevel) < slices.Index(levels[:], lowest) {
			lowest = r.modern.LogLevel
		}
	}
	return lowest
}

// notifyModern hands a server's notification to an agent of the modern era: what a
// stream carries on that stream and, where the agent is of no other era, log
// messages while a request wants them and what is not known here. What only the
// legacy era has does not reach it.
func (s *session) notifyModern(method string, params []byte, alone bool) {
	switch method {
	case "notifications/resources/updated":
		uri := member(params, "uri")
		s.streams.post(method, params, uri, func(f *filter) bool { return f.hasURI(uri) })
	case "notifications/tasks":
		id := member(params, "taskId")
		s.streams.post(method, params, id, func(f *filter) bool { return slices.Contains(f.tasks, id) })
	case "notifications/elicitation/complete", "notifications/tasks/status":
	case "notifications/message":
		if alone && s.logs(member(params, "level")) {
			s.out.SendDroppable(wire.NotificationLine(method, params))
		}
	default:
		if alone {
			_ = s.out.Send(wire.NotificationLine(method, params), nil)
		}
	}
}

// logs reports whether a request under way wants log messages of a level.
func (s *session) logs(level string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	wanted := s.requestLevel()
	return wanted != "" && slices.Index(levels[:], level) >= slices.Index(levels[:], wanted)
}

// tell posts to streams which lists have changed since they were told last.
func (s *session) tell(streams ...*stream) {
	if len(streams) == 0 {
		return
	}
	o := s.offer(true)
	s.mu.Lock()
	shown := s.listed
	s.mu.Unlock()
	for _, st := range streams {
		for _, group := range st.differing(o, &shown) {
			method := "notifications/" + group + "/list_changed"
			st.post(method, method, nil)
		}
	}
}

// member is a member of an object that is a text, "" without one.
func member(obj []byte, name string) string {
	var at [1]wire.Span
	if wire.Lookup(obj, []string{name}, at[:]) != nil {
		return ""
	}
	text, _ := wire.Unquote(at[0].Of(obj)) // none: ""
	return text
}
