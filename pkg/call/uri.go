package call

import "strings"

// uriMark begins the URI of a resource whose plain URI belongs to another server
// (R61): postern+SERVER:URI.
const uriMark = "postern+"

func prefixed(s *Server, uri string) string { return uriMark + s.Declared.ID + ":" + uri }

// unprefixed takes a marked URI apart; ok is false for one that is not marked, or
// marked with no server of this view.
func (v *View) unprefixed(exposed string) (s *Server, uri string, ok bool) {
	rest, marked := strings.CutPrefix(exposed, uriMark)
	if !marked {
		return nil, "", false
	}
	id, uri, cut := strings.Cut(rest, ":")
	s = v.byID[id]
	return s, uri, cut && s != nil && uri != ""
}

// ownerOf finds whose resource a URI is that an agent wrote, among what the
// servers list, and what they call it: a listed URI, else one that a template
// matches, servers in their order. s is nil when it is nobody's.
func (v *View) ownerOf(exposed string) (s *Server, uri string) {
	if i := v.items.resources[exposed]; i != nil {
		return i.Server, i.Name
	}
	if s, uri, ok := v.unprefixed(exposed); ok {
		return s, uri
	}
	if i := v.items.templates[exposed]; i != nil {
		return i.Server, i.Name
	}
	for _, s := range v.Servers {
		if s.Catalog != nil && s.Catalog.Template(exposed) != nil {
			return s, exposed
		}
	}
	return nil, ""
}

// exposedURI is what the agent knows a server's URI by.
func (v *View) exposedURI(s *Server, uri string) string {
	if v.only != "" {
		return uri
	}
	if owner, own := v.ownerOf(uri); owner == nil || owner == s && own == uri {
		return uri
	}
	return prefixed(s, uri)
}
