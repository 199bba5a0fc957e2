package gateway

import (
	"encoding/json"
	"slices"

	"postern/pkg/wire"
)

// revisions are the protocol revisions spoken with agents, newest first.
var revisions = [...]string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// initialize answers the handshake: the agent's own revision where it is
// spoken here, else the newest legacy one (R71). It starts the discovery of
// servers that were never listed and waits for nothing (R66).
func (s *session) initialize(m wire.Message) []byte {
	var p struct {
		ProtocolVersion string `json:"protocolVersion"`
		ClientInfo      struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"clientInfo"`
	}
	if err := json.Unmarshal(m.ParamsBytes(), &p); err != nil || p.ProtocolVersion == "" {
		return wire.ErrorLine(m.IDBytes(), &wire.RPCError{Code: wire.CodeInvalidParams,
			Message: "initialize needs protocolVersion, a string"})
	}
	revision := revisions[0]
	if slices.Contains(revisions[:], p.ProtocolVersion) {
		revision = p.ProtocolVersion
	}
	s.mu.Lock()
	first := s.revision == ""
	s.revision = revision
	s.mu.Unlock()
	if !first {
		return wire.ErrorLine(m.IDBytes(), &wire.RPCError{Code: wire.CodeInvalidRequest, Message: "the session is initialized already"})
	}
	s.calls.Claim(p.ClientInfo.Name, p.ClientInfo.Version)
	if s.o.ListWait > 0 {
		done := s.calls.Discover(s.ctx)
		s.mu.Lock()
		s.discovery = done
		s.mu.Unlock()
	}
	o := s.offer()
	s.wg.Go(func() { s.guard(func() { s.warm(o) }) }) // ends with the last index, some milliseconds a server
	result := initializeResult(revision, s.g.version, instructions(o.view, o.mode))
	return wire.ResultLine(m.IDBytes(), result)
}

// initializeResult writes the answer itself: encoding/json would spell the
// brackets of the instructions as escapes.
func initializeResult(revision, version, instructions string) []byte {
	out := append([]byte(`{"protocolVersion":`), wire.Quote(revision)...)
	out = append(out, `,"capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"postern","version":`...)
	out = append(append(out, wire.Quote(version)...), '}')
	if instructions != "" {
		out = append(append(out, `,"instructions":`...), wire.Quote(instructions)...)
	}
	return append(out, '}')
}
