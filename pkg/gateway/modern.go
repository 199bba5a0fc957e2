package gateway

import "postern/pkg/wire"

// modern takes a request of the modern era off the legacy table and reports
// whether it was one.
func (s *session) modern(wire.Message, func([]byte)) bool { return false }

// finishModern is an answer as an agent of the modern era gets it.
func (s *session) finishModern(_ *request, line []byte) []byte { return line }
