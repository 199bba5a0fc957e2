package gateway

import (
	"postern/pkg/call"
	"postern/pkg/catalog"
	"postern/pkg/config"
)

// The values of offer.mode.
const (
	full = "full"
	lazy = "lazy"
)

// offer is what one view offers the agent, list by list.
type offer struct {
	view  *call.View
	mode  string // full or lazy
	lists [listKinds]list
}

// exposure is what holds for this session in a view: what its policies say, and
// in place of their mode the one that the session was opened with. A server that
// is alone is shown as it is (R62).
func (s *session) exposure(v *call.View) call.Exposure {
	e := s.calls.Exposure(v)
	if s.o.Whole {
		e.MaxResultBytes = 0
	}
	switch {
	case s.o.Only != "":
		e.Mode, e.MaxDescriptionChars = full, 0
	case s.o.Exposure != "":
		e.Mode = s.o.Exposure
	}
	return e
}

// offer is what there is now for requests of an era; it is computed once a view
// (R54).
func (s *session) offer(modern bool) *offer {
	view, last := s.calls.View(), &s.last[0]
	if other := view.Modern(); modern && other != view {
		view, last = other, &s.last[1]
	}
	s.mu.Lock()
	o, decided := *last, s.decided
	s.mu.Unlock()
	if o != nil && o.view == view {
		return o
	}
	o = s.build(view, decided)
	s.mu.Lock()
	*last = o
	s.mu.Unlock()
	return o
}

// build makes the offer of a view. decided is what auto means in this session, ""
// when that is still open.
func (s *session) build(v *call.View, decided string) *offer {
	e := s.exposure(v)
	o := &offer{view: v, mode: e.Mode}
	l := &o.lists[toolList]
	if e.Mode != lazy {
		size := 0
		for _, t := range v.VisibleTools() {
			item, digest := t.Def.ShownDigest(t.Exposed, e.MaxDescriptionChars)
			l.add(item, digest)
			size += len(item)
		}
		if e.Mode == "auto" {
			o.mode = s.auto(v, size, decided)
		}
	}
	if o.mode == lazy {
		*l = list{}
		s.add(l, v, s.own.search, s.own.describe, s.own.call)
	}
	if e.MaxResultBytes > 0 && len(l.items) > 0 { // a result may be cut
		s.add(l, v, s.own.readResult)
	}
	o.lists[promptList].show(v.VisiblePrompts())
	o.lists[resourceList].show(v.VisibleResources())
	o.lists[templateList].show(v.VisibleTemplates())
	for k := range listKinds {
		o.lists[k].seal()
	}
	return o
}

func (l *list) show(items []*call.Item) {
	for _, i := range items {
		item := i.Shown()
		l.add(item, catalog.DigestOf(item))
	}
}

// auto is what exposure auto comes to: lazy for many tools, and where a trusted
// server has no list yet, so that the list would change under the agent. It is
// full where the policies leave no way to find and call what is not listed.
func (s *session) auto(v *call.View, size int, decided string) string {
	switch {
	case decided != "":
		return decided
	case !s.offers(v, s.own.search) || !s.offers(v, s.own.call):
		return full
	case size > config.FullBytes || unlisted(v):
		return lazy
	}
	return full
}

// unlisted reports whether a server that the session can use was never listed.
func unlisted(v *call.View) bool {
	for _, srv := range v.Servers {
		if srv.Usable() && srv.Catalog == nil && v.Serves(srv) {
			return true
		}
	}
	return false
}

// offers reports whether the agent has one of the gateway's own tools: where a
// server is alone there are none (R62).
func (s *session) offers(v *call.View, own *ownTool) bool {
	return s.o.Only == "" && v.Offers(&own.Own)
}

// add appends those of the gateway's own tools that the agent has.
func (s *session) add(l *list, v *call.View, tools ...*ownTool) {
	for _, own := range tools {
		if s.offers(v, own) {
			item := []byte(own.definition)
			l.add(item, catalog.DigestOf(item))
		}
	}
}

// warm makes the indexes that searches in an offer need, so that no request
// waits for them.
func (s *session) warm(o *offer) {
	if o.mode == full {
		return
	}
	for _, srv := range o.view.Servers {
		if s.ctx.Err() == nil && srv.Catalog != nil {
			srv.Catalog.Index()
		}
	}
}
