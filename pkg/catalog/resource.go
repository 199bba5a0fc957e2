package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"postern/pkg/config"
	"postern/pkg/wire"
)

// Resource is one resource definition; see Prompt.
type Resource struct {
	URI string // the server's own
	Raw []byte // the definition as sent

	uri wire.Span
}

// WithURI is the definition under another URI, every other byte as sent. A URI
// that stays the same keeps its spelling.
func (r *Resource) WithURI(uri string) []byte { return renamed(r.Raw, r.uri, r.URI, uri) }

// ParsedResources is the resources in the server's order, one for each of
// c.Resources. The slice is shared and not to be changed. A URI may be there
// more than once.
func (c *Catalog) ParsedResources() []Resource { return c.resources }

// Resource finds a usable resource by its URI, byte for byte; nil when none is
// listed. Of several it is the first.
func (c *Catalog) Resource(uri string) *Resource {
	for i := range c.resources {
		if c.resources[i].URI == uri {
			return &c.resources[i]
		}
	}
	return nil
}

// usableResources takes a list in.
func usableResources(items []json.RawMessage, no *refusals) []Resource {
	out := make([]Resource, 0, len(items))
	for i, item := range items {
		r := Resource{Raw: wire.OneLine(item)}
		var err error
		r.URI, r.uri, err = keyOf(r.Raw, "uri", uriText)
		if err != nil {
			no.add(fmt.Sprintf("resources[%d]", i), err.Error())
			continue
		}
		out = append(out, r)
	}
	return out
}

// uriText is a URI, or a template of some, that can be routed, logged and shown.
// What scheme it has and whether it is well-formed is the server's business.
func uriText(raw []byte) (string, error) {
	uri, err := text(raw, "URI")
	switch {
	case err != nil:
		return "", err
	case uri == "":
		return "", errors.New("it has no URI")
	case len(uri) > config.MaxURIBytes:
		return "", fmt.Errorf("its URI has %d bytes, at most %d are carried", len(uri), config.MaxURIBytes)
	case strings.ContainsFunc(uri, unicode.IsControl):
		return "", errors.New("its URI has control characters")
	}
	return uri, nil
}
