package mcptest

import (
	"slices"

	"postern/pkg/wire"
)

// levels are the protocol's, the lowest first.
func levels() []string {
	return []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
}

func (s *server) setLevel(m wire.Message) {
	level := text(m.ParamsBytes(), "level")
	if !slices.Contains(levels(), level) {
		s.refuse(m, wire.CodeInvalidParams, "no level "+level)
		return
	}
	s.mu.Lock()
	s.level = level
	s.mu.Unlock()
	s.answer(m, []byte("{}"))
}

// logged says whether a message of that level goes out during a request: a
// modern one says so itself, without a level nothing does; of a legacy client
// that set none everything.
func (s *server) logged(m wire.Message, level string) bool {
	wanted := text(member(m.ParamsBytes(), "_meta"), metaLogLevel)
	if !isModern(m) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if wanted = s.level; wanted == "" {
			return true
		}
	}
	return wanted != "" && slices.Index(levels(), level) >= slices.Index(levels(), wanted)
}
