package hub

import (
	"bytes"
	"slices"
	"time"

	"postern/pkg/calllog"
	"postern/pkg/config"
	"postern/pkg/wire"
)

// Notifications that the bridge has to understand.
const (
	initializedMethod  = "notifications/initialized"
	cancelledMethod    = "notifications/cancelled"
	acknowledgedMethod = "notifications/subscriptions/acknowledged"
)

const listenMethod = "subscriptions/listen"

// stampBytes is what stands before a line to the hub: the id of its row, a blank.
const stampBytes = calllog.IDBytes + 1

// memory is what the bridge knows of a session: enough to go on with another hub
// (R74). Nothing in it is of a call but its id, method and subject.
type memory struct {
	open  map[string]request  // requests of the agent, by id as written
	asked map[string]question // of the hub to the agent, by wire.IDKey of the id that the agent knows
	given []request           // calls that the agent gave up lately: the hub may not have written their rows yet

	initialize  []byte            // that was answered with a result; as all lines here without newline
	initialized []byte            // the notification
	level       []byte            // of the last logging/setLevel that was taken
	subs        map[string][]byte // resources/subscribe that were taken, by uri as written

	requests int             // so far
	epoch    int             // how many hubs were lost
	own      int             // requests that the bridge made itself
	muted    map[string]bool // of them, by id: their answers are not shown
	again    int             // listens that were repeated and are not acknowledged anew yet
}

// request is one of the agent that has no answer yet.
type request struct {
	number  int // of all, in their order
	method  string
	name    string // of the tool, prompt or resource, as far as it is read
	stamp   [calllog.IDBytes]byte
	began   time.Time
	ended   time.Time // when the agent gave it up
	size    int       // of the line
	line    []byte    // what can be asked again: nil for a call
	twins   int       // further requests with this id, which the hub refuses
	heard   bool      // a listen that was acknowledged
	renewed bool      // a listen that is to be acknowledged anew, which is not shown
}

// question is one of the hub that the agent has not answered.
type question struct{ agent, hub []byte } // its id as each of them knows it

func newMemory() *memory {
	return &memory{open: map[string]request{}, asked: map[string]question{}, subs: map[string][]byte{}, muted: map[string]bool{}}
}

// repeatable tells what asks for nothing but what the hub itself knows, or sets it
// to what it was set to before: everything else is a call, which is made once.
func repeatable(method string) bool {
	switch method {
	case "initialize", "ping", "server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list",
		"logging/setLevel", "resources/subscribe", "resources/unsubscribe", listenMethod:
		return true
	}
	return false
}

// sent notes a line of the agent that is about to go out. What goes out is the
// line itself, another one, or nothing: nil. ids are those of the requests in it.
func (m *memory) sent(line, stamp []byte, now time.Time) (out []byte, ids []string) {
	msg, err := wire.Parse(line)
	if err != nil {
		return line, m.sentBatch(line, err, stamp, now)
	}
	switch msg.Kind {
	case wire.Request:
		return line, []string{m.requested(msg, stamp, now)}
	case wire.Response:
		return m.answer(msg), nil
	}
	switch msg.Method {
	case initializedMethod:
		m.initialized = bytes.Clone(line)
	case cancelledMethod:
		m.cancelled(msg, now)
	}
	return line, nil
}

// sentBatch notes the requests of a batch, of which the first has the stamp. What
// is neither message nor batch is answered by the hub.
func (m *memory) sentBatch(line []byte, err error, stamp []byte, now time.Time) (ids []string) {
	if bad, ok := err.(*wire.ParseError); !ok || !bad.Batch {
		return nil
	}
	parts, _ := wire.SplitBatch(line, config.MaxBatch) // the hub refuses what is none
	for _, part := range parts {
		if msg, err := wire.Parse(part); err == nil && msg.Kind == wire.Request {
			if len(ids) > 0 {
				stamp = []byte(calllog.NewID(now))
			}
			ids = append(ids, m.requested(msg, stamp, now))
		}
	}
	return ids
}

func (m *memory) requested(msg wire.Message, stamp []byte, now time.Time) string {
	id := string(msg.IDBytes())
	if r, taken := m.open[id]; taken {
		r.twins++
		m.open[id] = r
		return id
	}
	m.requests++
	r := request{number: m.requests, method: msg.Method, began: now, size: len(msg.Raw)}
	copy(r.stamp[:], stamp)
	if repeatable(msg.Method) {
		r.line = bytes.Clone(msg.Raw)
	} else {
		r.name = subject(msg.ParamsBytes())
	}
	m.open[id] = r
	return id
}

// subject is what a call is about, for its row.
func subject(params []byte) string {
	if rest, ok := bytes.CutPrefix(params, []byte(`{"name":"`)); ok { // almost always
		if end := bytes.IndexAny(rest, `"\`); end > 0 && rest[end] == '"' {
			return string(rest[:end])
		}
	}
	var at [3]wire.Span
	if wire.Lookup(params, []string{"name", "uri", "taskId"}, at[:]) != nil {
		return ""
	}
	for _, v := range at {
		if text, err := wire.Unquote(v.Of(params)); err == nil {
			return text
		}
	}
	return ""
}

// unsent takes requests back that nobody has read.
func (m *memory) unsent(ids []string) {
	for _, id := range ids {
		m.answered(id)
	}
}

// answered takes one request off the open ones.
func (m *memory) answered(id string) (r request, ok bool) {
	if r, ok = m.open[id]; !ok {
		return r, false
	}
	if r.twins > 0 {
		r.twins--
		m.open[id] = r
		return request{}, true
	}
	delete(m.open, id)
	if r.renewed {
		m.again--
	}
	return r, true
}

// cancelled takes off what the agent gives up: nobody answers that.
func (m *memory) cancelled(msg wire.Message, now time.Time) {
	var at [1]wire.Span
	params := msg.ParamsBytes()
	if wire.Lookup(params, []string{"requestId"}, at[:]) != nil || !at[0].Ok() {
		return
	}
	id := at[0].Of(params)
	if r, ok := m.open[string(id)]; ok && r.method != "initialize" {
		m.giveUp(string(id), now)
		return
	}
	for other, r := range m.open { // written otherwise
		if r.method != "initialize" && wire.IDKey([]byte(other)) == wire.IDKey(id) {
			m.giveUp(other, now)
			return
		}
	}
}

func (m *memory) giveUp(id string, now time.Time) {
	r, ok := m.answered(id)
	if !ok || r.method == "" || r.line != nil {
		return
	}
	if len(m.given) == config.BridgeGivenUp {
		m.given = slices.Delete(m.given, 0, 1)
	}
	r.ended = now
	m.given = append(m.given, r)
}

// answer is the agent's answer to a question as the hub gets it: nil when the hub
// that asked is gone, or takes no answer any more.
func (m *memory) answer(msg wire.Message) []byte {
	key := wire.IDKey(msg.IDBytes())
	q, ok := m.asked[key]
	delete(m.asked, key)
	switch {
	case !ok:
		return nil
	case m.epoch == 0:
		return msg.Raw
	}
	return msg.WithID(q.hub)
}

// settled reports whether the hub has answered all that the bridge repeated.
func (m *memory) settled() bool { return len(m.muted) == 0 && m.again == 0 }

// pending are the open requests in the order they were made.
func (m *memory) pending() (ids []string) {
	for id := range m.open {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int { return m.open[a].number - m.open[b].number })
	return ids
}
