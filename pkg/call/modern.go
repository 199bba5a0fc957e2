package call

// Modern is what a request of the 2026-07-28 era brings with it in its _meta.
type Modern struct {
	Capabilities []byte // io.modelcontextprotocol/clientCapabilities as sent
	LogLevel     string // io.modelcontextprotocol/logLevel, "" for none
}

// HasTask reports whether a call of this session became a task of the modern era
// with that id, so that the agent may hear of it.
func (s *Session) HasTask(id string) bool {
	t, ok := s.tasks.get(id)
	return ok && t.modern
}
