package gateway

import (
	"encoding/json"
	"slices"

	"postern/pkg/wire"
)

// revisions are the protocol revisions that begin with initialize, newest first.
var revisions = [...]string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// hello is what an agent says in initialize.
type hello struct {
	ProtocolVersion string `json:"protocolVersion"`
	ClientInfo      struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"clientInfo"`
	capabilities []byte // as written; nil unless an object
}

func readHello(params []byte) (h hello, problem string) {
	var at [1]wire.Span
	if err := json.Unmarshal(params, &h); err != nil || h.ProtocolVersion == "" {
		return h, "initialize needs protocolVersion, a string"
	}
	if err := wire.Lookup(params, []string{"capabilities"}, at[:]); err != nil {
		return h, err.Error()
	}
	if raw := at[0].Of(params); wire.IsObject(raw) {
		h.capabilities = raw
	}
	return h, ""
}

// initialize answers the handshake: the agent's own revision where it is
// spoken here, else the newest legacy one (R71). It starts the discovery of
// servers that were never listed and waits for nothing (R66), but for a session of
// one server, which says itself who it is (R62).
func (s *session) initialize(m wire.Message, reply func([]byte)) {
	h, problem := readHello(m.ParamsBytes())
	if problem != "" {
		reply(wire.ErrorLine(m.IDBytes(), &wire.RPCError{Code: wire.CodeInvalidParams, Message: problem}))
		return
	}
	revision := revisions[0]
	if slices.Contains(revisions[:], h.ProtocolVersion) {
		revision = h.ProtocolVersion
	}
	s.mu.Lock()
	first := s.revision == ""
	if first {
		s.revision, s.declared = revision, h.capabilities
	}
	s.mu.Unlock()
	if !first {
		reply(wire.ErrorLine(m.IDBytes(), &wire.RPCError{Code: wire.CodeInvalidRequest, Message: "the session is initialized already"}))
		return
	}
	s.calls.Claim(h.ClientInfo.Name, h.ClientInfo.Version)
	if s.discover(); !s.unheard() {
		reply(wire.ResultLine(m.IDBytes(), s.welcome(revision)))
		return
	}
	s.start(m, nil, reply, func(r *request, _ wire.Message) {
		s.awaitDiscovery(r.ctx)
		s.done(r, wire.ResultLine(r.id, s.welcome(revision)))
	})
}

// discover begins the discovery of this session, once.
func (s *session) discover() {
	if s.o.ListWait <= 0 {
		return
	}
	s.begun.Do(func() {
		done := s.calls.Discover(s.ctx)
		s.mu.Lock()
		s.discovery = done
		s.mu.Unlock()
	})
}

// unheard reports whether the one server of this session was not listed yet, and
// an answer to who it is has to wait for the discovery.
func (s *session) unheard() bool {
	return s.o.Only != "" && s.o.ListWait > 0 && s.only(s.calls.View()) == nil
}

// welcome is the result of initialize. It writes JSON itself: encoding/json would
// spell the brackets of the instructions as escapes.
func (s *session) welcome(revision string) []byte {
	o := s.offer(false)
	s.wg.Go(func() { s.guard(func() { s.warm(o) }) }) // ends with the last index, some milliseconds a server
	result := object{}
	result.text("protocolVersion", revision)
	result.raw("capabilities", s.capabilities(o.view, revision))
	result.raw("serverInfo", s.serverInfo())
	result.optional("instructions", s.instructions(o))
	return result.bytes()
}
