package gateway

import (
	"postern/pkg/call"
	"postern/pkg/config"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// only is the one server that the session is of, once it was listed; nil in a
// session of all servers.
func (s *session) only(v *call.View) *call.Server {
	if s.o.Only == "" {
		return nil
	}
	if srv := v.Server(s.o.Only); srv != nil && srv.Catalog != nil && srv.Usable() && v.Serves(srv) {
		return srv
	}
	return nil
}

// serverInfo is who the agent talks with: the gateway, or its one server (R71).
func (s *session) serverInfo() []byte {
	if s.o.Only != "" { // every answer of the modern era names it: no view without need
		if srv := s.only(s.calls.View()); srv != nil && srv.Catalog.ServerInfo != nil {
			return srv.Catalog.ServerInfo
		}
	}
	o := object{}
	o.text("name", "postern")
	o.text("version", s.g.version)
	return o.bytes()
}

// instructions is what the agent is told about what is offered (R67), or what its
// one server says itself.
func (s *session) instructions(o *offer) string {
	if srv := s.only(o.view); srv != nil {
		return srv.Catalog.Instructions
	}
	return instructions(o.view, o.mode)
}

// capabilities are those towards an agent of a legacy revision (R71): the
// gateway's own, and what only servers can have; or those of its one server.
func (s *session) capabilities(v *call.View, revision string) []byte {
	if srv := s.only(v); srv != nil {
		if srv.Catalog.Capabilities == nil {
			return []byte("{}")
		}
		return srv.Catalog.Capabilities
	}
	o := object{}
	o.raw("tools", []byte(`{"listChanged":true}`))
	o.raw("prompts", []byte(`{"listChanged":true}`))
	o.raw("resources", []byte(`{"subscribe":true,"listChanged":true}`))
	o.raw("logging", []byte(`{}`))
	if revision >= "2025-03-26" {
		o.raw("completions", []byte(`{}`))
	}
	if tasks := merged(v, upstream.EraLegacy, "tasks"); tasks != nil && revision >= "2025-11-25" {
		o.raw("tasks", tasks)
	}
	if experimental := merged(v, upstream.EraLegacy, "experimental"); experimental != nil {
		o.raw("experimental", experimental)
	}
	return o.bytes()
}

// merged is a capability that the servers of one era have, as far as they are
// known and the session can use them: all members that any of them has, of the
// same member the first server's. nil is that none of them has it.
func merged(v *call.View, era, name string) []byte {
	var sum []byte
	for _, srv := range v.Servers {
		if srv.Catalog == nil || srv.Catalog.Era != era || !srv.Usable() || !v.Serves(srv) {
			continue
		}
		if c := srv.Catalog.CapabilityOf(name); wire.IsObject(c) && len(c) <= config.MaxCapabilityBytes {
			sum = union(sum, c, config.CapabilityNesting)
		}
	}
	return sum
}

// union is the object a with the members that only b has, and those that both
// have as objects united likewise, nesting levels deep.
func union(a, b []byte, nesting int) []byte {
	if a == nil {
		return b
	}
	_ = wire.EachMember(b, func(key []byte, v wire.Span) bool { // b was checked with the message it came in
		name, err := wire.Unquote(key)
		if err != nil {
			return true // no name that anybody could ask for
		}
		at := memberNamed(a, name)
		switch mine, its := at.Of(a), v.Of(b); {
		case !at.Ok():
			a = wire.InsertMember(a, name, its)
		case nesting > 1 && wire.IsObject(mine) && wire.IsObject(its):
			a = wire.Splice(a, wire.Edit{Span: at, New: union(mine, its, nesting-1)})
		}
		return true
	})
	return a
}

// memberNamed is where the first member of that very name stands.
func memberNamed(obj []byte, name string) (at wire.Span) {
	_ = wire.EachMember(obj, func(key []byte, v wire.Span) bool {
		if n, err := wire.Unquote(key); err == nil && n == name {
			at = v
		}
		return !at.Ok()
	})
	return at
}
