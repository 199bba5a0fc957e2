package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"postern/pkg/config"
	"postern/pkg/wire"
)

// Identity says of which declaration a catalog is. Two catalogs with different
// identities never stand in for each other (MB-110). It holds no expanded value.
type Identity struct {
	Project string `json:"project"` // real root; "" in scope user
	Scope   string `json:"scope"`
	Source  string `json:"source"` // real path of the declaring file
	Server  string `json:"server"`
	Digest  string `json:"digest"` // of the declaration, C40
	CWD     string `json:"cwd"`    // as declared
}

// IdentityOf is the identity of a declaration's catalog.
func IdentityOf(s *config.Server) Identity {
	return Identity{
		Project: s.Project, Scope: string(s.Scope), Source: s.Source,
		Server: s.ID, Digest: s.Digest, CWD: s.CWD,
	}
}

// stem is the file name without its ending. Digest and cwd are left out, so
// that a changed declaration replaces its old catalog instead of adding one.
func (id Identity) stem() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{id.Project, id.Scope, id.Source, id.Server}, "\x00")))
	return hex.EncodeToString(sum[:])
}

// Refused names an item of a server's list that was left out, and why. Name is
// the item's own where it has a usable one, with its kind in front unless it is
// a tool; else its place, such as tools[3].
type Refused struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// Catalog is what one server offered at one moment. It comes from Build or from
// Store.Read, is never changed afterwards, and may be used concurrently. Raw
// values are the server's bytes and are shared: nobody writes into them.
type Catalog struct {
	V            int // 1
	Identity     Identity
	At           time.Time
	TTLMS        int64           // asked for by the server; 0 = nothing
	ServerInfo   json.RawMessage // nil = not sent
	Protocol     string
	Era          string
	Capabilities json.RawMessage // nil = not sent
	Instructions string
	Truncated    bool   // the lists went on after what is here
	Noise        uint64 // lines that were no JSON-RPC, until the list was there

	Tools, Prompts, Resources, ResourceTemplates []json.RawMessage

	Refused []Refused

	parsed    []Tool
	prompts   []Prompt
	resources []Resource
	templates []Template

	indexed sync.Once
	index   *Index
}

// Parsed is the tools in the server's order, one for each of c.Tools. The
// slice is shared and not to be changed.
func (c *Catalog) Parsed() []Tool { return c.parsed }

// CapabilityOf is a member of the server's capabilities as sent; nil when it is
// absent or null, which both mean that the server does not have it.
func (c *Catalog) CapabilityOf(name string) []byte {
	var at [1]wire.Span
	if wire.Lookup(c.Capabilities, []string{name}, at[:]) != nil || string(at[0].Of(c.Capabilities)) == "null" {
		return nil
	}
	return at[0].Of(c.Capabilities)
}

// fresh reports whether the catalog still counts as known at now (C71). The
// server may shorten our life time, though not below a minute.
func (c *Catalog) fresh(now time.Time) bool {
	ttl := config.CatalogTTL
	if ms := c.TTLMS; ms > 0 && ms < ttl.Milliseconds() {
		ttl = max(time.Duration(ms)*time.Millisecond, config.MinCatalogTTL)
	}
	return now.Sub(c.At) <= ttl
}
