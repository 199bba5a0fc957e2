package catalog

import (
	"encoding/json"
	"fmt"
	"time"

	"postern/pkg/config"
	"postern/pkg/wire"
)

// Raw is what a server said about itself, before anybody looked at it.
type Raw struct {
	ServerInfo, Capabilities                     json.RawMessage
	Protocol, Era, Instructions                  string
	TTLMS                                        int64
	Truncated                                    bool
	Noise                                        uint64 // lines that were no JSON-RPC
	Tools, Prompts, Resources, ResourceTemplates []json.RawMessage
	Refused                                      []Refused // what was left out before
}

// TooLargeError says that a server's lists exceed what a catalog may hold.
type TooLargeError struct {
	Server      string
	Bytes, Most int
}

// Error names the server and both sizes.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the lists of server %s take %d bytes, and a catalog holds at most %d", e.Server, e.Bytes, e.Most)
}

// MalformedError says that something a server sent of itself is not JSON.
type MalformedError struct {
	Server, What string
	Err          error
}

// Error names the server and the part.
func (e *MalformedError) Error() string {
	return fmt.Sprintf("%s of server %s: %v", e.What, e.Server, e.Err)
}

// Unwrap gives the fault alone.
func (e *MalformedError) Unwrap() error { return e.Err }

// Build makes a catalog of what a server sent. An unusable item is left out and
// named in Refused, the others stay (R14); items past config.MaxTools, MaxPrompts,
// MaxResources and MaxTemplates are left out and Truncated is set. Where all lists together
// are too large, those beside the tools give way, named in Refused. Errors are
// *TooLargeError and *MalformedError; no catalog may be written then, so that the
// last good one survives (MB-107).
func Build(id Identity, at time.Time, raw Raw) (*Catalog, error) {
	c := &Catalog{
		V: 1, Identity: id, At: at.Round(0).UTC(), TTLMS: max(raw.TTLMS, 0),
		Protocol: raw.Protocol, Era: raw.Era, Instructions: raw.Instructions, Truncated: raw.Truncated, Noise: raw.Noise,
	}
	var err error
	if c.ServerInfo, err = optional(raw.ServerInfo); err != nil {
		return nil, &MalformedError{Server: id.Server, What: "serverInfo", Err: err}
	}
	if c.Capabilities, err = optional(raw.Capabilities); err != nil {
		return nil, &MalformedError{Server: id.Server, What: "capabilities", Err: err}
	}
	c.Truncated = raw.cut() || c.Truncated
	c.fill(raw)
	for _, l := range raw.beside() {
		if len(*l.items) > 0 && len(c.encode()) > config.MaxCatalogBytes {
			raw.Refused = append(raw.Refused, Refused{Name: l.name, Why: "the lists of the server are too large together"})
			*l.items = nil
			c.fill(raw)
		}
	}
	if n := len(c.encode()); n > config.MaxCatalogBytes {
		return nil, &TooLargeError{Server: id.Server, Bytes: n, Most: config.MaxCatalogBytes}
	}
	return c, nil
}

// namedList is one of the lists beside the tools.
type namedList struct {
	name  string
	items *[]json.RawMessage
}

// beside is those lists, the first to give way first: a server that offers
// resources by the megabyte mostly has templates as well.
func (r *Raw) beside() []namedList {
	return []namedList{{"resources", &r.Resources}, {"prompts", &r.Prompts}, {"resourceTemplates", &r.ResourceTemplates}}
}

// cut takes from each list what is more than a catalog holds, and reports
// whether that was anything.
func (r *Raw) cut() (any bool) {
	for list, most := range map[*[]json.RawMessage]int{
		&r.Tools: config.MaxTools, &r.Prompts: config.MaxPrompts,
		&r.Resources: config.MaxResources, &r.ResourceTemplates: config.MaxTemplates,
	} {
		if len(*list) > most {
			*list, any = (*list)[:most], true
		}
	}
	return any
}

// fill takes over the usable items of all lists.
func (c *Catalog) fill(raw Raw) {
	var no refusals
	for _, r := range raw.Refused {
		no.add(r.Name, r.Why)
	}
	c.parsed = usableTools(raw.Tools, &no)
	c.Tools = rawOf(c.parsed, func(t *Tool) []byte { return t.Raw })
	c.prompts = usablePrompts(raw.Prompts, &no)
	c.Prompts = rawOf(c.prompts, func(p *Prompt) []byte { return p.Raw })
	c.resources = usableResources(raw.Resources, &no)
	c.Resources = rawOf(c.resources, func(r *Resource) []byte { return r.Raw })
	c.templates = usableTemplates(raw.ResourceTemplates, &no)
	c.ResourceTemplates = rawOf(c.templates, func(t *Template) []byte { return t.Raw })
	c.Refused = no.list()
}

// optional is nil for what was not sent. It is checked here because it is
// written to the file unread.
func optional(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if err := wire.EachMember(raw, func([]byte, wire.Span) bool { return true }); err != nil {
		return nil, err
	}
	return wire.OneLine(raw), nil
}

// refusals collects what was left out; a hostile list is not copied into it.
type refusals struct {
	named []Refused
	more  int
}

func (r *refusals) add(name, why string) {
	if len(r.named) < config.MaxRefused {
		r.named = append(r.named, Refused{Name: name, Why: why})
	} else {
		r.more++
	}
}

func (r *refusals) list() []Refused {
	if r.more == 0 {
		return r.named
	}
	return append(r.named, Refused{Name: "…", Why: fmt.Sprintf("%d more items are unusable", r.more)})
}

func usableTools(items []json.RawMessage, no *refusals) []Tool {
	out := make([]Tool, 0, len(items))
	seen := make(map[string]bool, len(items))
	for i, item := range items {
		t, err := parseTool(wire.OneLine(item))
		switch {
		case err != nil && t.Name == "":
			no.add(fmt.Sprintf("tools[%d]", i), err.Error())
		case err != nil:
			no.add(t.Name, err.Error())
		case seen[t.Name]:
			no.add(t.Name, "an earlier tool has the same name")
		default:
			seen[t.Name] = true
			out = append(out, t)
		}
	}
	return out
}
