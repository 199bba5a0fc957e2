package mcptest

import (
	"slices"
	"strconv"

	"postern/pkg/wire"
)

const (
	modern         = "2026-07-28"
	newestLegacy   = "2025-11-25"
	metaVersion    = "io.modelcontextprotocol/protocolVersion"
	metaClientCaps = "io.modelcontextprotocol/clientCapabilities"

	codeUnsupportedVersion = -32022
)

func legacyRevisions() []string {
	return []string{newestLegacy, "2025-06-18", "2025-03-26", "2024-11-05"}
}

// refused is what the eras demand of a request before anything else.
func (s *server) refused(m wire.Message) *wire.RPCError {
	meta := member(m.ParamsBytes(), "_meta")
	version := text(meta, metaVersion)
	unknown := &wire.RPCError{Code: wire.CodeMethodNotFound, Message: "no method " + m.Method}
	switch {
	case m.Method == "initialize" && s.o.era == "modern", m.Method == "server/discover" && s.o.era == "legacy":
		return unknown
	case s.o.era == "legacy", m.Method == "initialize", s.o.era == "dual" && version == "":
		return nil
	case version == "" || !wire.IsObject(member(meta, metaClientCaps)):
		return &wire.RPCError{Code: wire.CodeInvalidParams, Message: "_meta must name " + metaVersion + " and " + metaClientCaps}
	case version != modern:
		return &wire.RPCError{Code: codeUnsupportedVersion, Message: "unsupported protocol version", Data: []byte(`{"supported":["` + modern + `"],"requested":` + string(wire.Quote(version)) + `}`)}
	case m.Method == "ping", m.Method == "logging/setLevel", m.Method == "resources/subscribe":
		return unknown
	}
	return nil
}

func (s *server) initialize(m wire.Message) {
	f := s.o.faults
	if f.has("no-initialize") {
		return
	}
	if result, ok := f["initialize"]; ok {
		s.out.line(wire.ResultLine(m.IDBytes(), []byte(result)))
		return
	}
	version := s.o.protocol
	if version == "" {
		if version = text(m.ParamsBytes(), "protocolVersion"); !slices.Contains(legacyRevisions(), version) {
			version = newestLegacy
		}
	}
	result := `{"protocolVersion":` + string(wire.Quote(version)) + `,"capabilities":` + s.capabilities() + `,"serverInfo":` + s.o.info
	s.out.line(wire.ResultLine(m.IDBytes(), []byte(result+s.instructions()+"}")))
}

func (s *server) discover(m wire.Message) {
	f := s.o.faults
	if status, ok := f["exit-on-discover"]; ok {
		n, _ := strconv.Atoi(status) // not a number: 0
		s.quit(n)
		return
	}
	if f.has("no-discover") {
		return
	}
	result := `{"resultType":"complete","supportedVersions":["` + modern + `"],"capabilities":` + s.capabilities() +
		`,"ttlMs":` + strconv.Itoa(s.o.ttl) + `,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":` + s.o.info + `}`
	s.mu.Lock()
	s.ready = true
	s.mu.Unlock()
	s.out.line(wire.ResultLine(m.IDBytes(), []byte(result+s.instructions()+"}")))
}

func (s *server) instructions() string {
	if s.o.instructions == "" {
		return ""
	}
	return `,"instructions":` + string(wire.Quote(s.o.instructions))
}

func (s *server) capabilities() string {
	if s.o.capabilities != "" {
		return s.o.capabilities
	}
	caps := `{"tools":{"listChanged":true}`
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lists["prompts/list"] != nil {
		caps += `,"prompts":{}`
	}
	if s.lists["resources/list"] != nil || s.lists["resources/templates/list"] != nil {
		caps += `,"resources":{"subscribe":true}`
	}
	return caps + "}"
}
