package gateway

import (
	"encoding/json"

	"postern/pkg/call"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// advertise answers server/discover: what an agent of the modern era may want to
// know before its first request (R71). Only where the session is one server's does
// it wait, for that server to be listed (R62).
func (s *session) advertise(r *request, _ wire.Message) {
	if s.unheard() {
		s.awaitDiscovery(r.ctx)
	}
	offered := s.offer(true)
	versions, _ := json.Marshal(supportedVersions()) // strings only: cannot fail
	var o object
	o.raw("supportedVersions", versions)
	o.raw("capabilities", s.modernCapabilities(offered.view))
	o.optional("instructions", s.instructions(offered))
	s.done(r, wire.ResultLine(r.id, o.bytes()))
}

// modernCapabilities are those towards an agent of the modern era: the gateway's
// own, and what only servers of that era can have; or those of its one server.
func (s *session) modernCapabilities(v *call.View) []byte {
	if srv := s.only(v); srv != nil {
		return portable(srv.Catalog.Capabilities, srv.Catalog.Era)
	}
	var o object
	o.raw("tools", []byte(`{"listChanged":true}`))
	o.raw("prompts", []byte(`{"listChanged":true}`))
	o.raw("resources", []byte(`{"subscribe":true,"listChanged":true}`))
	o.raw("logging", []byte(`{}`))
	o.raw("completions", []byte(`{}`))
	for _, name := range []string{"extensions", "experimental"} {
		if c := merged(v, upstream.EraModern, name); c != nil {
			o.raw(name, c)
		}
	}
	return o.bytes()
}

// portable is what remains of a server's capabilities in the modern era. Tasks of
// the legacy one are another thing, and methods that only the server knows stay
// within its era (R73).
func portable(capabilities []byte, era string) []byte {
	if capabilities == nil {
		return []byte("{}")
	}
	if era == upstream.EraModern {
		return capabilities
	}
	var at [2]wire.Span
	if wire.Lookup(capabilities, []string{"tasks", "experimental"}, at[:]) != nil {
		return []byte("{}")
	}
	if at[0].Start > at[1].Start {
		at[0], at[1] = at[1], at[0]
	}
	return wire.Splice(capabilities, wire.Removals(capabilities, at[:]...)...)
}
