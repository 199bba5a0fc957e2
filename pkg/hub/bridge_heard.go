package hub

import (
	"bytes"
	"strconv"
	"strings"

	"postern/pkg/config"
	"postern/pkg/wire"
)

// heard notes a line of the hub. What the agent gets is the line itself, another
// one, or nothing: nil.
func (m *memory) heard(line []byte) []byte {
	msg, ok := glance(line)
	if !ok {
		var err error
		if msg, err = wire.Parse(line); err != nil {
			return m.heardBatch(line, err)
		}
	}
	switch {
	case msg.Kind == wire.Response:
		if !m.response(msg) {
			return nil
		}
	case msg.Kind == wire.Request:
		return m.question(msg)
	case msg.Method == cancelledMethod:
		return m.withdrawn(msg)
	case msg.Method == acknowledgedMethod:
		return m.acknowledged(msg)
	}
	return line
}

// heardBatch notes the answers to a batch.
func (m *memory) heardBatch(line []byte, err error) []byte {
	if bad, ok := err.(*wire.ParseError); ok && bad.Batch {
		_ = wire.EachElement(line, func(at wire.Span) bool {
			if msg, err := wire.Parse(at.Of(line)); err == nil && msg.Kind == wire.Response {
				m.response(msg)
			}
			return true
		})
	}
	return line
}

// response notes the answer to a request, and what follows from it; false when it
// is the bridge's own.
func (m *memory) response(msg wire.Message) (shown bool) {
	id := msg.IDBytes()
	if len(m.muted) > 0 && m.muted[string(id)] {
		delete(m.muted, string(id))
		return false
	}
	r, ok := m.answered(string(id))
	if !ok || r.line == nil || msg.Error.Ok() {
		return true
	}
	switch r.method {
	case "initialize":
		m.initialize = r.line
	case "logging/setLevel":
		m.level = r.line
	case "resources/subscribe":
		if uri := uriOf(r.line); uri != "" && len(m.subs) < config.ServerSubscriptions {
			m.subs[uri] = r.line
		}
	case "resources/unsubscribe":
		delete(m.subs, uriOf(r.line))
	}
	return true
}

func uriOf(line []byte) string {
	msg, err := wire.Parse(line)
	var at [1]wire.Span
	if err != nil || wire.Lookup(msg.ParamsBytes(), []string{"uri"}, at[:]) != nil {
		return ""
	}
	return string(at[0].Of(msg.ParamsBytes()))
}

// question notes a request of the hub. Hubs number their questions, each from the
// beginning: so that an answer cannot go to the wrong one, later hubs' have the
// number of the hub in front.
func (m *memory) question(msg wire.Message) []byte {
	q := question{hub: bytes.Clone(msg.IDBytes())}
	if q.agent = q.hub; m.epoch > 0 {
		q.agent = wire.Quote(strconv.Itoa(m.epoch) + "-" + strings.Trim(string(q.hub), `"`))
	}
	m.asked[wire.IDKey(q.agent)] = q
	if m.epoch == 0 {
		return msg.Raw
	}
	return msg.WithID(q.agent)
}

// withdrawn notes that the hub gives a question up.
func (m *memory) withdrawn(msg wire.Message) []byte {
	var at [1]wire.Span
	params := msg.ParamsBytes()
	if wire.Lookup(params, []string{"requestId"}, at[:]) != nil {
		return msg.Raw
	}
	for key, q := range m.asked {
		if bytes.Equal(q.hub, at[0].Of(params)) {
			delete(m.asked, key)
			if m.epoch == 0 {
				return msg.Raw
			}
			return wire.NotificationLine(msg.Method, wire.Splice(params, wire.Edit{Span: at[0], New: q.agent}))
		}
	}
	return msg.Raw
}

// acknowledged notes that a listen was. The agent sees that once of each.
func (m *memory) acknowledged(msg wire.Message) []byte {
	var at [1]wire.Span
	params := msg.ParamsBytes()
	if wire.Lookup(params, []string{"_meta"}, at[:]) != nil {
		return msg.Raw
	}
	meta := at[0].Of(params)
	if wire.Lookup(meta, []string{"io.modelcontextprotocol/subscriptionId"}, at[:]) != nil {
		return msg.Raw
	}
	id := string(at[0].Of(meta))
	r, ok := m.open[id]
	if !ok || r.method != listenMethod {
		return msg.Raw
	}
	hidden := r.renewed
	if r.renewed {
		m.again--
	}
	r.heard, r.renewed = true, false
	m.open[id] = r
	if hidden {
		return nil
	}
	return msg.Raw
}
