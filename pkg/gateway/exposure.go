package gateway

import (
	"crypto/sha256"
	"encoding/hex"

	"postern/pkg/call"
	"postern/pkg/config"
)

// The values of toolSet.mode.
const (
	full = "full"
	lazy = "lazy"
)

// toolSet is the effective set of one view as the agent sees it.
type toolSet struct {
	view   *call.View
	mode   string   // full or lazy
	items  [][]byte // definitions as the agent sees them
	digest string   // of all items
}

// exposure is what holds for this session in a view: what its policies say, and
// in place of their mode the one that the session was opened with.
func (s *session) exposure(v *call.View) call.Exposure {
	e := s.calls.Exposure(v)
	if s.o.Exposure != "" {
		e.Mode = s.o.Exposure
	}
	return e
}

// tools is the effective set now; it is computed once a view (R54).
func (s *session) tools() *toolSet {
	view := s.calls.View()
	s.mu.Lock()
	set, decided := s.set, s.decided
	s.mu.Unlock()
	if set != nil && set.view == view {
		return set
	}
	set = s.build(view, decided)
	s.mu.Lock()
	s.set = set
	s.mu.Unlock()
	return set
}

// build makes the set of a view. decided is what auto means in this session, ""
// when that is still open.
func (s *session) build(v *call.View, decided string) *toolSet {
	e := s.exposure(v)
	set := &toolSet{view: v, mode: e.Mode}
	if e.Mode != lazy {
		size := 0
		for _, t := range v.VisibleTools() {
			item := t.Def.Shown(t.Exposed, e.MaxDescriptionChars)
			set.items = append(set.items, item)
			size += len(item)
		}
		if e.Mode == "auto" {
			set.mode = s.auto(v, size, decided)
		}
	}
	if set.mode == lazy {
		set.items = nil
		set.add(v, s.own.search, s.own.describe, s.own.call)
	}
	if e.MaxResultBytes > 0 && len(set.items) > 0 { // a result may be cut
		set.add(v, s.own.readResult)
	}
	sum := sha256.New()
	for _, item := range set.items {
		sum.Write(item)
	}
	set.digest = hex.EncodeToString(sum.Sum(nil)[:8])
	return set
}

// auto is what exposure auto comes to: lazy for many tools, and where a trusted
// server has no list yet, so that the list would change under the agent. It is
// full where the policies leave no way to find and call what is not listed.
func (s *session) auto(v *call.View, size int, decided string) string {
	switch {
	case decided != "":
		return decided
	case !v.Offers(&s.own.search.Own) || !v.Offers(&s.own.call.Own):
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

// add appends those of the gateway's own tools that the policies allow.
func (t *toolSet) add(v *call.View, tools ...*ownTool) {
	for _, own := range tools {
		if v.Offers(&own.Own) {
			t.items = append(t.items, []byte(own.definition))
		}
	}
}

// warm makes the indexes that searches in a set need, so that no request waits
// for them.
func (s *session) warm(t *toolSet) {
	if t.mode == full {
		return
	}
	for _, srv := range t.view.Servers {
		if s.ctx.Err() == nil && srv.Catalog != nil {
			srv.Catalog.Index()
		}
	}
}
