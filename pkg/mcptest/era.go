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
	case slices.Contains(onlyLegacy(), m.Method):
		return unknown
	}
	return nil
}

// onlyLegacy are the methods that the newest revision has no more.
func onlyLegacy() []string {
	return []string{"ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "tasks/result", "tasks/list"}
}

// isModern says in which era a request was made.
func isModern(m wire.Message) bool {
	return text(member(m.ParamsBytes(), "_meta"), metaVersion) == modern
}

// answer sends a result, which in the modern era has a type.
func (s *server) answer(m wire.Message, result []byte) {
	if isModern(m) && member(result, "resultType") == nil {
		result = wire.InsertMember(result, "resultType", []byte(`"complete"`))
	}
	s.out.line(wire.ResultLine(m.IDBytes(), result))
}

func (s *server) refuse(m wire.Message, code int, message string) {
	s.out.line(wire.ErrorLine(m.IDBytes(), &wire.RPCError{Code: code, Message: message}))
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
	result := `{"protocolVersion":` + string(wire.Quote(version)) + `,"capabilities":` + s.capabilities("legacy") + `,"serverInfo":` + s.o.info
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
	result := `{"resultType":"complete","supportedVersions":["` + modern + `"],"capabilities":` + s.capabilities("modern") +
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

func (s *server) capabilities(era string) string {
	if s.o.capabilities != "" {
		return s.o.capabilities
	}
	if s.o.more {
		return moreCapabilities(era)
	}
	caps := `{"tools":{"listChanged":true}`
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lists[promptsList] != nil {
		caps += `,"prompts":{}`
	}
	if s.lists[resourcesList] != nil || s.lists[templatesList] != nil {
		caps += `,"resources":{"subscribe":true}`
	}
	return caps + "}"
}
