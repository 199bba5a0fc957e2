package call

import (
	"postern/pkg/catalog"
	"postern/pkg/policy"
)

// Item is one prompt, resource or resource template of a server as a session
// sees it.
type Item struct {
	Server   *Server
	Kind     policy.Kind // PromptKind, or ResourceKind for resources and templates
	Name     string      // the server's own name, URI, or text of the template
	Exposed  string      // what the agent knows it by (R61)
	Decision policy.Decision
	Shadowed bool   // another prompt took the exposed name first; it cannot be asked for
	Raw      []byte // the definition as the server sent it

	rename func(exposed string) []byte
}

// Visible reports whether the item is listed: not denied, not shadowed, its
// server usable (R54).
func (i *Item) Visible() bool {
	return i.Decision.Verdict != policy.Deny && !i.Shadowed && i.Server.Usable()
}

// Shown is the definition as agents see it: under its exposed name, every other
// byte as the server sent it.
func (i *Item) Shown() []byte { return i.rename(i.Exposed) }

// items is the prompts, resources and templates of a view, by what agents know
// them by. A URI stands for the first that has it.
type items struct{ prompts, resources, templates map[string]*Item }

func newItems() items {
	return items{prompts: map[string]*Item{}, resources: map[string]*Item{}, templates: map[string]*Item{}}
}

// exposeItems is expose for what is no tool.
func (v *View) exposeItems(s *Server, h *Host) {
	c := s.Catalog
	for i := range c.ParsedPrompts() {
		p := &c.ParsedPrompts()[i]
		item := v.newItem(s, policy.PromptKind, p.Name, v.exposedName(s, p.Name), p.Raw, p.WithName)
		if first := v.items.prompts[item.Exposed]; first != nil {
			item.Shadowed = true
			h.warnOnce("shadow prompt "+item.Exposed, "prompt "+s.Declared.ID+"/"+p.Name+" is not exposed: its name "+item.Exposed+
				" is taken by "+first.Server.Declared.ID+"/"+first.Name)
		} else {
			v.items.prompts[item.Exposed] = item
		}
		s.prompts = append(s.prompts, item)
	}
	for i := range c.ParsedResources() {
		r := &c.ParsedResources()[i]
		s.resources = append(s.resources, v.exposeURI(v.items.resources, s, r.URI, r.Raw, r.WithURI))
	}
	for i := range c.ParsedTemplates() {
		t := &c.ParsedTemplates()[i]
		s.templates = append(s.templates, v.exposeURI(v.items.templates, s, t.URI, t.Raw, t.WithURI))
	}
}

// exposeURI gives a URI to the first server that lists it, and marks it with its
// server for all others (R61). One that is marked already gets another mark: it
// is no server's to say what another one's are. That a server lists one twice is
// its own affair.
func (v *View) exposeURI(known map[string]*Item, s *Server, uri string, raw []byte, rename func(string) []byte) *Item {
	exposed := uri
	_, _, marked := v.unprefixed(uri)
	if first := known[uri]; first != nil && first.Server != s || marked && v.only == "" {
		exposed = prefixed(s, uri)
	}
	item := v.newItem(s, policy.ResourceKind, uri, exposed, raw, rename)
	if known[exposed] == nil {
		known[exposed] = item
	}
	return item
}

func (v *View) newItem(s *Server, k policy.Kind, name, exposed string, raw []byte, rename func(string) []byte) *Item {
	return &Item{
		Server: s, Kind: k, Name: name, Exposed: exposed, Raw: raw, rename: rename,
		Decision: v.decideOn(s, k, name),
	}
}

// decideOn asks the policy about what is no tool.
func (v *View) decideOn(s *Server, k policy.Kind, name string) policy.Decision {
	return policy.Decide(v.subject, policyTool(v, s, k, name))
}

// exposedName is what a tool or prompt is called towards the agent (R60): its own
// name where the session is one server's alone (R62).
func (v *View) exposedName(s *Server, name string) string {
	if v.only != "" {
		return name
	}
	return catalog.Exposed(s.Declared.ID, name, v.Config.NamesMax)
}

// VisiblePrompts is the prompts that are listed, in server order, then upstream
// order.
func (v *View) VisiblePrompts() []*Item {
	return v.visible(func(s *Server) []*Item { return s.prompts })
}

// VisibleResources is VisiblePrompts for resources.
func (v *View) VisibleResources() []*Item {
	return v.visible(func(s *Server) []*Item { return s.resources })
}

// VisibleTemplates is VisiblePrompts for resource templates.
func (v *View) VisibleTemplates() []*Item {
	return v.visible(func(s *Server) []*Item { return s.templates })
}

func (v *View) visible(of func(*Server) []*Item) []*Item {
	var out []*Item
	for _, s := range v.Servers {
		for _, i := range of(s) {
			if i.Visible() {
				out = append(out, i)
			}
		}
	}
	return out
}
