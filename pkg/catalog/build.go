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
// named in Refused, the others stay (R14); tools past config.MaxTools are left
// out and Truncated is set. Errors are *TooLargeError and *MalformedError; no
// catalog may be written then, so that the last good one survives (MB-107).
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
	if len(raw.Tools) > config.MaxTools {
		raw.Tools, c.Truncated = raw.Tools[:config.MaxTools], true
	}
	c.fill(raw)
	if n := len(c.encode()); n > config.MaxCatalogBytes {
		return nil, &TooLargeError{Server: id.Server, Bytes: n, Most: config.MaxCatalogBytes}
	}
	return c, nil
}

// fill takes over the usable items of all lists.
func (c *Catalog) fill(raw Raw) {
	var no refusals
	c.parsed = usableTools(raw.Tools, &no)
	c.Tools = make([]json.RawMessage, len(c.parsed))
	for i := range c.parsed {
		c.Tools[i] = c.parsed[i].Raw
	}
	c.Prompts = usableItems(raw.Prompts, itemKind{list: "prompts", word: "prompt:", key: "name", once: true}, &no)
	c.Resources = usableItems(raw.Resources, itemKind{list: "resources", word: "resource:", key: "uri"}, &no)
	c.ResourceTemplates = usableItems(raw.ResourceTemplates,
		itemKind{list: "resourceTemplates", word: "resource:", key: "uriTemplate"}, &no)
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

// itemKind describes a list whose items are only passed on.
type itemKind struct {
	list, word string
	key        string // the member an item is asked for by
	once       bool   // a second item with the same key cannot be reached
}

func usableItems(items []json.RawMessage, k itemKind, no *refusals) []json.RawMessage {
	out := make([]json.RawMessage, 0, len(items))
	seen := map[string]bool{}
	for i, item := range items {
		item = wire.OneLine(item)
		var at [1]wire.Span
		err := wire.Lookup(item, []string{k.key}, at[:])
		if err != nil {
			no.add(fmt.Sprintf("%s[%d]", k.list, i), err.Error())
			continue
		}
		key, err := text(at[0].Of(item), k.key)
		switch {
		case err != nil:
			no.add(fmt.Sprintf("%s[%d]", k.list, i), err.Error())
		case k.once && seen[key]:
			no.add(k.word+clip(key), "an earlier item has the same "+k.key)
		default:
			seen[key] = true
			out = append(out, item)
		}
	}
	return out
}
