package pool

import (
	"slices"
	"time"

	"postern/pkg/config"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// What a server says to its client, by method.
const (
	toolsChanged     = "notifications/tools/list_changed"
	promptsChanged   = "notifications/prompts/list_changed"
	resourcesChanged = "notifications/resources/list_changed"
	acknowledged     = "notifications/subscriptions/acknowledged"
	resourceUpdated  = "notifications/resources/updated"
	logMessage       = "notifications/message"
	elicited         = "notifications/elicitation/complete"
	taskStatus       = "notifications/tasks/status"
	taskModern       = "notifications/tasks"

	metaTask = "io.modelcontextprotocol/related-task"
)

// ask hands a request of the server to the session it is about; it is declined
// where that cannot be known (R72). It runs in the client's reader.
func (i *Instance) ask(q *upstream.Question) {
	session, peer := i.addressee(q.Message.ParamsBytes())
	if peer == nil {
		q.Decline()
		return
	}
	if q.Message.Method == "elicitation/create" {
		i.remember(session, member(q.Message.ParamsBytes(), "elicitationId"))
	}
	peer.Ask(i.server, q)
}

// addressee is the session that params are about: the one whose task they name,
// else the sole one. A task that was another session's is nobody else's, and of
// one that several have nobody knows whose it is.
func (i *Instance) addressee(params []byte) (session string, peer Peer) {
	if i.session == "" {
		if id := relatedTask(params); id != "" {
			if owners := i.owners(id); len(owners) > 0 {
				return sameOwner(owners)
			}
		}
	}
	return i.sole()
}

// sole is the one session that the server can mean: its only one, or the only
// one that has a call with it, or had one a moment ago that it gave up. peer is nil
// when there is none.
func (i *Instance) sole() (session string, peer Peer) {
	i.pool.mu.Lock()
	defer i.pool.mu.Unlock()
	if i.session != "" {
		return i.session, i.pool.peers[i.session]
	}
	for s, u := range i.berth.users {
		switch {
		case u.flying == 0:
		case session != "" || peer != nil:
			return "", nil
		default:
			session, peer = s, u.peer
		}
	}
	if i.otherGaveUp(session, time.Now()) {
		return "", nil
	}
	return session, peer
}

// givenUp is until when a server may still ask about a call that its session does
// not wait for any more.
type givenUp struct {
	session string
	until   time.Time
}

// gaveUp notes that a session did not wait for the answer to a call that the server
// has, the newest of two sessions. The caller holds Pool.mu, as it does for
// otherGaveUp.
func (i *Instance) gaveUp(session string, f *upstream.Failure, now time.Time) {
	if f == nil || !f.Sent || f.Word != upstream.Aborted && f.Word != upstream.Timeout {
		return
	}
	if i.left[0].session != session {
		i.left[1] = i.left[0]
	}
	i.left[0] = givenUp{session, now.Add(config.GivenUpLife)}
}

// otherGaveUp reports whether the server may be asking about a call of another
// session.
func (i *Instance) otherGaveUp(session string, now time.Time) bool {
	for _, g := range i.left {
		if g.session != session && now.Before(g.until) {
			return true
		}
	}
	return false
}

// note takes a notification of the server. It runs in the client's reader.
func (i *Instance) note(m wire.Message) {
	switch m.Method {
	case toolsChanged:
		i.changed(tools)
	case promptsChanged:
		i.changed(prompts)
	case resourcesChanged:
		i.changed(resources, templates)
	case acknowledged:
		i.listens.acknowledge(m.ParamsBytes())
	default:
		if i.modern.Load() {
			m = withoutSubscription(m)
		}
		i.pass(m)
	}
}

// pass hands a notification to the sessions it is for (R72).
func (i *Instance) pass(m wire.Message) {
	told := false
	for _, peer := range i.audience(m) {
		if m.Method != logMessage || i.wanted(peer, m) {
			peer.Note(i.server, m)
		}
		told = true // of a message it is known that it is not wanted
	}
	if !told {
		i.dropped.Add(1)
	}
}

// audience is the sessions a notification is for.
func (i *Instance) audience(m wire.Message) []Peer {
	params := m.ParamsBytes()
	_, meant := i.addressee(params)
	if i.session != "" {
		return one(meant)
	}
	switch m.Method {
	case resourceUpdated:
		return i.subscribers(member(params, "uri"))
	case taskStatus, taskModern:
		meant = i.toHolder(m)
	case elicited:
		if peer, ok := i.remembered(member(params, "elicitationId")); ok {
			meant = peer
		}
	case logMessage:
		if meant == nil {
			return i.everybody()
		}
	}
	return one(meant)
}

func one(peer Peer) []Peer {
	if peer == nil {
		return nil
	}
	return []Peer{peer}
}

// everybody is all sessions that use the server. They are of one caller.
func (i *Instance) everybody() (all []Peer) {
	i.pool.mu.Lock()
	defer i.pool.mu.Unlock()
	for _, u := range i.berth.users {
		if u.peer != nil {
			all = append(all, u.peer)
		}
	}
	return all
}

// member is a text in an object; "" when it is not there.
func member(object []byte, name string) string {
	var at [1]wire.Span
	if wire.Lookup(object, []string{name}, at[:]) != nil {
		return ""
	}
	s, _ := wire.Unquote(at[0].Of(object)) // no text: not there
	return s
}

// relatedTask is the task that a message says it belongs to; "" for none.
func relatedTask(params []byte) string {
	var at [1]wire.Span
	if wire.Lookup(params, []string{"_meta"}, at[:]) != nil {
		return ""
	}
	meta := at[0].Of(params)
	if wire.Lookup(meta, []string{metaTask}, at[:]) != nil {
		return ""
	}
	return member(at[0].Of(meta), "taskId")
}

// An elicitation may be completed long after it was answered, by a notification
// that has nothing but its id.

// elicitation is one, and the session that it was put to.
type elicitation struct{ id, session string }

// remember keeps whose an elicitation is. Of one server the last
// config.ElicitMemory are, those with an id that nobody would keep excepted; the
// session with most of them gives way.
func (i *Instance) remember(session, id string) {
	if id == "" || len(id) > config.MaxToolName {
		return
	}
	i.pool.mu.Lock()
	defer i.pool.mu.Unlock()
	b := i.berth
	if len(b.elicitations) >= config.ElicitMemory {
		gone := givesWay(b.elicitations, func(e elicitation) string { return e.session })
		b.elicitations = slices.Delete(b.elicitations, gone, gone+1)
	}
	b.elicitations = append(b.elicitations, elicitation{id, session})
}

// remembered is the session an elicitation was put to, nil when it has left;
// ok is false for one that is not known.
func (i *Instance) remembered(id string) (peer Peer, ok bool) {
	i.pool.mu.Lock()
	defer i.pool.mu.Unlock()
	for n := len(i.berth.elicitations) - 1; n >= 0; n-- {
		if e := i.berth.elicitations[n]; e.id == id {
			return i.pool.peers[e.session], true
		}
	}
	return nil, false
}

// codeElicit is the error of a legacy server that wants an address visited first.
const codeElicit = -32042

// rememberError keeps the elicitations that an error names as the session's.
func (i *Instance) rememberError(session string, raw []byte) {
	rpc, err := wire.ParseRPCError(raw)
	if err != nil || rpc.Code != codeElicit {
		return
	}
	var at [1]wire.Span
	if wire.Lookup(rpc.Data, []string{"elicitations"}, at[:]) != nil {
		return
	}
	list := at[0].Of(rpc.Data)
	_ = wire.EachElement(list, func(v wire.Span) bool { // no array: none are named
		i.remember(session, member(v.Of(list), "elicitationId"))
		return true
	})
}
