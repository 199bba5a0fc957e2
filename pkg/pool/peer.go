package pool

import (
	"postern/pkg/config"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// Peer is one session as the pool needs it. Its methods are called from the
// goroutines that read from servers and must not block.
type Peer interface {
	// Capabilities is what is declared as the client's to a server that is this
	// session's alone, a JSON object; nil declares nothing (R16).
	Capabilities(s *config.Server) []byte
	// Modern is whether the session's agent speaks the modern era. Its own server
	// is asked in that era first, and told of no capabilities in the other (R73).
	Modern() bool
	// Ask is given a request of a server, which is to be answered or declined, at
	// once or later (R72).
	Ask(s *config.Server, q *upstream.Question)
	// Note is given a notification of a server for this session; the three that
	// say that a list changed are not among them.
	Note(s *config.Server, m wire.Message)
	// Level is the log level wanted, one of the protocol's eight words; "" is none.
	Level() string
}

// sharedCapabilities is what a server is told of the many sessions that share it:
// what is asked of one of them, it answers by itself (R16).
const sharedCapabilities = `{"elicitation":{"form":{},"url":{}}}`

// Join says that a session is there, before its first Get, Do or Want: what
// servers say to it goes to peer until it Leaves. A session that never joins can
// call all the same, and is told and asked nothing. A server that is one
// session's alone is started for nobody else, nor after it has left.
func (p *Pool) Join(session string, peer Peer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.peers[session], p.joined = peer, true
	}
}

// Leave says that a session is over: nothing is restarted for it, what it was
// subscribed to and its tasks are forgotten, and servers of its own are ended.
// That goes on in the background; Close waits for it. Shared servers run on until
// idle_stop.
func (p *Pool) Leave(session string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.peers, session)
	for _, b := range p.berths {
		if u := b.users[session]; u != nil {
			u.peer = nil
			b.letGoOf(session, u)
			if i := b.up(); i != nil && i.session == "" && u.level.Load() > 0 && u.level.Load() == i.level.Load() {
				p.watch.Add(1)
				go i.retune() // ends with the server's answer, which LevelWait bounds
			}
		}
		delete(b.eager, session)
		b.forgetTasks(session)
		uris := b.forgetSubscriptions(session)
		if own := b.approved.Session(); own != "" && own == session {
			b.retired = true
			b.finish()
		} else if i := b.up(); i != nil && len(uris) > 0 {
			p.watch.Add(1)
			go i.unsubscribe(uris) // ends when each was sent, or the process with it
		}
	}
	p.nudge()
}

// here reports whether a session may be served: every one in a pool that nobody
// ever joined. "" is no session in particular. The caller holds mu.
func (p *Pool) here(session string) bool {
	return session == "" || !p.joined || p.peers[session] != nil
}

// declared is what is declared to the server of i, and the era that it is to be
// asked in first, "" for the one that is known of it.
func (p *Pool) declared(i *Instance) (capabilities []byte, era string) {
	if i.session == "" {
		return []byte(sharedCapabilities), ""
	}
	switch peer := p.peer(i.session); {
	case peer == nil:
		return nil, ""
	case peer.Modern():
		return nil, upstream.EraModern
	default:
		return peer.Capabilities(i.server), ""
	}
}

// peer is the session's; nil when it is not there.
func (p *Pool) peer(session string) Peer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.peers[session]
}

// user is what one session has to do with one key, as long as it wants the server
// up or has calls. Pool.mu guards all but level.
type user struct {
	session string
	peer    Peer // nil = nobody to ask or to tell
	wants   bool // it called since the server was last let go (R21)
	calls   int  // under way or waiting
	flying  int  // of them, those that the server may be working on
	level   level
}

// user finds or makes it for a session that wants something. One that has left
// wants nothing, whatever it still does. The caller holds mu.
func (p *Pool) user(b *berth, session string) *user {
	u := b.users[session]
	if u == nil {
		u = &user{session: session, peer: p.peers[session]}
		b.users[session] = u
	}
	u.wants = u.wants || p.here(session)
	return u
}
