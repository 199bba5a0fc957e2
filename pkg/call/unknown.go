package call

import (
	"fmt"
	"strings"

	"postern/pkg/catalog"
	"postern/pkg/policy"
)

// unknown refuses what no server has, with visible names like it.
func (c *Call) unknown(s *Server, name string) *Refusal {
	name = clip(name)
	r := &Refusal{Word: c.method.word, Tool: name}
	if s != nil {
		r.Server = s.Declared.ID
	}
	switch {
	case r.Word == UnknownMethod:
		r.Message = fmt.Sprintf("method %q is not known here, and there is no one server that it can be meant for", name)
	case r.Word == UnknownTask:
		r.Message = fmt.Sprintf("this session has no task %q", name)
	case s != nil:
		r.Message = fmt.Sprintf("server %s has no %s %q", r.Server, noun(c.method.kind), name)
	case c.Server != "":
		r.Server, r.Tool = clip(c.Server), clip(c.Tool)
		r.Message = fmt.Sprintf("there is no server %q", r.Server)
	default:
		r.Message = fmt.Sprintf("there is no %s %q", noun(c.method.kind), name)
	}
	if r.Word == UnknownResource && c.Modern == nil && c.method.name != methodComplete {
		r.code = CodeNoResource
	}
	if near := c.nearest(); len(near) > 0 {
		r.Remedy = "did you mean " + strings.Join(near, " or ")
	}
	return r
}

// nearest is visible names like the one that was asked for.
func (c *Call) nearest() []string {
	wanted := c.Exposed
	if wanted == "" && c.Server != "" {
		wanted = catalog.Exposed(c.Server, c.Tool, c.view.Config.NamesMax)
	}
	switch c.method.word {
	case UnknownTool:
		return c.view.nearest(clip(wanted))
	case UnknownPrompt:
		return nearestItems(clip(wanted), c.view.VisiblePrompts())
	case UnknownResource:
		return nearestItems(clip(wanted), c.view.VisibleResources())
	}
	return nil
}

func nearestItems(name string, items []*Item) []string {
	var near nearby
	for _, i := range items {
		most := max(2, min(len(i.Name)/3, mostApart))
		if i.Kind == policy.PromptKind {
			near.add(i.Exposed, min(distance(name, i.Exposed), distance(name, i.Name)), most)
			continue
		}
		near.add(i.Exposed, apart(name, i.Exposed), min(most, len(i.Exposed)/4))
	}
	return near.names()
}

// apart is the distance of two texts that may be long and mostly alike; what they
// begin and end with in common is passed over.
func apart(a, b string) int {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if max(len(a), len(b)) > 4*mostApart {
		return 4 * mostApart
	}
	return distance(a, b)
}
