package call

import (
	"postern/pkg/catalog"
	"postern/pkg/config"
	"postern/pkg/policy"
)

// Whose is the declaration of the server that a request of method about a prompt or
// a resource goes to, and the server's own name for that; exposed is what agents
// know it by. It is nil when it is nobody's.
func (v *View) Whose(method, exposed string) (s *config.Server, name string) {
	var owner *Server
	if i := v.items.prompts[exposed]; method == methodPrompt && i != nil {
		owner, name = i.Server, i.Name
	} else if method == methodPrompt {
		owner, name = v.owner(exposed)
	} else {
		owner, name = v.ownerOf(exposed)
	}
	if owner == nil {
		return nil, exposed
	}
	return owner.Declared, name
}

// find sets what the request is about: the server, its own name for the thing,
// and, where that is known, what the policy says of it. name is what it would
// have to be where it is not known.
func (c *Call) find() {
	c.server, c.tool, c.name, c.found, c.decision = nil, nil, c.Tool, false, policy.Decision{}
	c.method.find(c)
}

// is notes what was found.
func (c *Call) is(s *Server, name string, d policy.Decision) {
	c.server, c.name, c.decision, c.found = s, name, d, true
}

func (c *Call) findTool() {
	t := c.view.routes[c.Exposed]
	if c.Server != "" {
		if c.server = c.view.Server(c.Server); c.server == nil {
			return
		}
		t = c.server.byName(c.Tool)
	}
	switch {
	case t != nil && c.view.lacks(t): // as if it were not there
		c.server, c.name = t.Server, t.Def.Name
	case t != nil:
		c.tool = t
		c.is(t.Server, t.Def.Name, t.Decision)
	case c.Server == "":
		c.server, c.name = c.view.owner(c.Exposed)
	}
}

func (c *Call) findPrompt() {
	if i := c.view.items.prompts[c.Exposed]; i != nil {
		c.is(i.Server, i.Name, i.Decision)
		return
	}
	c.server, c.name = c.view.owner(c.Exposed)
}

func (c *Call) listsPrompt(live *catalog.Catalog) bool { return live.Prompt(c.name) != nil }

// findResource looks a URI up in what servers list, then in what results linked
// to (R61). A session of one server leaves it to that server which URIs it has.
func (c *Call) findResource() {
	v := c.view
	c.server, c.name = v.ownerOf(c.Exposed)
	if c.server == nil {
		c.server = v.byID[c.session.links.first(c.Exposed)]
		c.name = c.Exposed
	}
	if c.server == nil && v.only != "" {
		c.server = v.byID[v.only]
	}
	if c.server != nil && c.server.Catalog != nil && c.listsResource(c.server.Catalog) {
		c.is(c.server, c.name, v.decideOn(c.server, policy.ResourceKind, c.name))
	}
}

func (c *Call) listsResource(live *catalog.Catalog) bool {
	return c.view.only != "" || live.Resource(c.name) != nil || live.Template(c.name) != nil ||
		c.session.links.has(c.server.Declared.ID, c.name)
}

// findSubscribed finds a URI that the session subscribed to, wherever it is listed
// now. To give a subscription up needs no right.
func (c *Call) findSubscribed() {
	if sub, ok := c.session.subs.get(c.Exposed); ok {
		if s := c.view.Server(sub.server); s != nil {
			c.is(s, sub.uri, policy.Decision{Verdict: policy.Allow, Tier: config.TierRead})
			return
		}
	}
	c.findResource()
}

// findReference finds what a completion is for.
func (c *Call) findReference() {
	if c.method.kind == policy.PromptKind {
		c.findPrompt()
		return
	}
	c.findResource()
}

func (c *Call) listsReference(live *catalog.Catalog) bool {
	if c.method.kind == policy.PromptKind {
		return c.listsPrompt(live)
	}
	return c.listsResource(live)
}

// findSole finds whom a method that is not known here can be meant for: the one
// server of the session that speaks the era of the request.
func (c *Call) findSole() {
	c.name = c.method.name
	s := c.view.sole()
	if s == nil || disguised(c.name) || s.Catalog != nil && s.modern() != (c.Modern != nil) {
		return
	}
	c.server = s
	if s.Catalog != nil {
		c.is(s, c.name, c.view.decideOn(s, policy.MethodKind, c.name))
	}
}

// sole is the one server that this session can use; nil when there are several
// or none.
func (v *View) sole() (sole *Server) {
	for _, s := range v.Servers {
		if !s.Usable() || !v.Serves(s) {
			continue
		}
		if sole != nil {
			return nil
		}
		sole = s
	}
	return sole
}
