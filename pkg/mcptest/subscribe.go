package mcptest

import (
	"bytes"
	"strings"

	"postern/pkg/wire"
)

const (
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
	metaLogLevel     = "io.modelcontextprotocol/logLevel"
)

// listen is an open subscriptions/listen.
type listen struct {
	id     []byte // as sent
	filter []byte // the object that was asked for, and is acknowledged as it is
}

// subscribe counts nothing: a second subscription to a URI changes nothing, and
// the first end of one ends it.
func (s *server) subscribe(m wire.Message, on bool) {
	uri := text(m.ParamsBytes(), "uri")
	s.mu.Lock()
	if on {
		s.uris[uri] = true
	} else {
		delete(s.uris, uri)
	}
	s.mu.Unlock()
	s.answer(m, []byte("{}"))
}

// listen opens one; it is answered only by the tool unlisten.
func (s *server) listen(m wire.Message) {
	filter := member(m.ParamsBytes(), "notifications")
	switch {
	case !isModern(m):
		s.refuse(m, wire.CodeMethodNotFound, "no method "+m.Method)
		return
	case !wire.IsObject(filter):
		s.refuse(m, wire.CodeInvalidParams, "no notifications are named")
		return
	}
	l := listen{bytes.Clone(m.IDBytes()), bytes.Clone(filter)}
	l.send(s, "notifications/subscriptions/acknowledged", `{"notifications":`+string(filter)+`}`)
	s.mu.Lock()
	s.listens = append(s.listens, l)
	s.mu.Unlock()
}

// send sends a notification on a listen; params is an object.
func (l listen) send(s *server, method, params string) {
	id := []byte(`{"` + metaSubscription + `":` + string(l.id) + `}`)
	s.out.line(wire.NotificationLine(method, wire.InsertMember([]byte(params), "_meta", id)))
}

// unlisten forgets the listen with that key of an id. s.mu is held.
func (s *server) unlisten(key string) {
	for i, l := range s.listens {
		if wire.IDKey(l.id) == key {
			s.listens = append(s.listens[:i:i], s.listens[i+1:]...)
			return
		}
	}
}

// endListens answers all of them, which ends them.
func (s *server) endListens() {
	s.mu.Lock()
	all := s.listens
	s.listens = nil
	s.mu.Unlock()
	for _, l := range all {
		s.out.line(wire.ResultLine(l.id, []byte(`{"resultType":"complete","_meta":{"`+metaSubscription+`":`+string(l.id)+`}}`)))
	}
}

// tell sends a notification to the listens that want it, and plainly where the
// client is a legacy one.
func (s *server) tell(method, params string, plainly bool, wants func(filter []byte) bool) {
	s.mu.Lock()
	all := append([]listen(nil), s.listens...)
	s.mu.Unlock()
	for _, l := range all {
		if wants(l.filter) {
			l.send(s, method, params)
		}
	}
	if plainly && s.o.era != "modern" {
		raw := []byte(params)
		if params == "{}" {
			raw = nil
		}
		s.out.line(wire.NotificationLine(method, raw))
	}
}

// changed tells that a list is another.
func (s *server) changed(list string) {
	kind, _, _ := strings.Cut(list, "/")
	s.tell("notifications/"+kind+"/list_changed", "{}", true, func(filter []byte) bool { return flagged(filter, kind+"ListChanged") })
}

// updated tells those who are subscribed to it that a resource is another.
func (s *server) updated(uri string) {
	s.mu.Lock()
	plainly := s.uris[uri]
	s.mu.Unlock()
	s.tell("notifications/resources/updated", `{"uri":`+string(wire.Quote(uri))+`}`, plainly, func(filter []byte) bool {
		return holds(member(filter, "resourceSubscriptions"), uri)
	})
}

// holds says whether an array has that string.
func holds(array []byte, want string) (found bool) {
	items, _ := elements(array) // no array: nothing
	for _, item := range items {
		s, err := wire.Unquote(item)
		found = found || err == nil && s == want
	}
	return found
}
