package call

import (
	"bytes"
	"slices"
	"sync"

	"postern/pkg/config"
	"postern/pkg/wire"
)

// place is a URI of a server.
type place struct{ server, uri string }

// links is what results of servers linked to, the last config.LinkMemory of it, of
// which the server with most gives way (R61). The zero value is empty.
type links struct {
	mu     sync.Mutex
	seen   map[place]bool
	owner  map[string]string // of a URI: the server that linked to it first
	oldest []place
	count  map[string]int // of oldest, by server
}

// first is the server that linked to a URI first; "" when none did.
func (l *links) first(uri string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.owner[uri]
}

func (l *links) has(server, uri string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen[place{server, uri}]
}

func (l *links) add(server, uri string) {
	p := place{server, uri}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen[p] {
		return
	}
	if l.seen == nil {
		l.seen, l.owner, l.count = map[place]bool{}, map[string]string{}, map[string]int{}
	}
	if len(l.oldest) == config.LinkMemory {
		most := server // a result may have thousands: it is not counted anew for each
		for s, n := range l.count {
			if n > l.count[most] {
				most = s
			}
		}
		at := slices.IndexFunc(l.oldest, func(p place) bool { return p.server == most })
		gone := l.oldest[at]
		l.oldest = slices.Delete(l.oldest, at, at+1)
		if l.count[most]--; l.count[most] == 0 {
			delete(l.count, most)
		}
		delete(l.seen, gone)
		if l.owner[gone.uri] == gone.server {
			delete(l.owner, gone.uri)
		}
	}
	l.seen[p] = true
	l.count[server]++
	l.oldest = append(l.oldest, p)
	if l.owner[uri] == "" {
		l.owner[uri] = server
	}
}

// linkMark is looked for before a result is taken apart, which most results are
// spared.
const linkMark = `"resource_link"`

// linked calls each with the URIs that a result of a tool or a prompt links to.
func linked(result []byte, each func(uri string)) {
	if !bytes.Contains(result, []byte(linkMark)) {
		return
	}
	var at [2]wire.Span
	if wire.Lookup(result, []string{"content", "messages"}, at[:]) != nil {
		return
	}
	eachObject(at[0].Of(result), func(block []byte) { linkOf(block, each) })
	eachObject(at[1].Of(result), func(message []byte) {
		var in [1]wire.Span
		if wire.Lookup(message, []string{"content"}, in[:]) == nil {
			linkOf(in[0].Of(message), each)
		}
	})
}

func linkOf(block []byte, each func(uri string)) {
	var at [2]wire.Span
	if wire.Lookup(block, []string{"type", "uri"}, at[:]) != nil || string(at[0].Of(block)) != linkMark {
		return
	}
	if uri, err := wire.Unquote(at[1].Of(block)); err == nil && uri != "" && len(uri) <= config.MaxURIBytes {
		each(uri)
	}
}

// eachObject calls each with the objects of an array; what is none is passed over.
func eachObject(array []byte, each func([]byte)) {
	_ = wire.EachElement(array, func(v wire.Span) bool { // no array: no objects
		if element := v.Of(array); wire.IsObject(element) {
			each(element)
		}
		return true
	})
}
