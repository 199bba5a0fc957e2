package pool

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"postern/pkg/config"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// Subscriptions are counted by URI (R72): the server is told of the first session
// that wants one and when the last one does not any more. They belong to the key
// and not to the process, so that a restarted one is told of all of them.

const (
	methodSubscribe   = "resources/subscribe"
	methodUnsubscribe = "resources/unsubscribe"
)

// Subscribe has the session told of changes of a resource: resources/updated goes
// to its Peer until it Unsubscribes or Leaves, through restarts of the server.
// Only the first session of a URI is asked for upstream, and its answer is the
// server's; the others get {} from here. A legacy server is asked with params and
// what belongs to them, as the session's agent wrote them but for the uri; the zero
// Call is the uri alone. Nothing is subscribed to when the answer
// is an error. Errors are those of Do, ctx's cause while another subscription is
// under way, and an `overload` past config.ServerSubscriptions URIs of one server,
// of which a session of several has no more than it leaves to the others.
func (i *Instance) Subscribe(ctx context.Context, session, uri string, params upstream.Call) (upstream.Reply, error) {
	b := i.berth
	if err := b.subscribing.enter(ctx); err != nil {
		return upstream.Reply{}, i.notSent(err, 0)
	}
	defer b.subscribing.leave()
	others := i.subscribed(uri)
	switch {
	case others:
		i.subscribe(session, uri)
		return fine(), nil
	case i.full(session):
		return upstream.Reply{}, &upstream.Failure{
			Word: upstream.Overload, Server: i.server.ID, Phase: methodSubscribe,
			Detail: "too many resources of this server are subscribed to",
		}
	case i.modern.Load():
		return i.subscribeModern(ctx, session, uri)
	}
	// Noted first: what the server tells right behind its answer is for the session.
	if !i.subscribe(session, uri) {
		return upstream.Reply{}, i.notSent(ErrLeft, 0)
	}
	reply, _, err := i.Do(ctx, session, i.asWritten(methodSubscribe, uri, params))
	if err != nil || reply.Message.ErrorBytes() != nil {
		i.unsubscribed(session, uri)
	}
	return reply, err
}

// Unsubscribe takes back Subscribe. The last session of a URI is told upstream,
// and its answer is the server's, as is that of one which nobody is subscribed
// to; others get {} from here. The subscription is over whatever the answer is.
// params are as in Subscribe.
func (i *Instance) Unsubscribe(ctx context.Context, session, uri string, params upstream.Call) (upstream.Reply, error) {
	b := i.berth
	if err := b.subscribing.enter(ctx); err != nil {
		return upstream.Reply{}, i.notSent(err, 0)
	}
	defer b.subscribing.leave()
	if left := i.unsubscribed(session, uri); left > 0 {
		return fine(), nil
	}
	if i.modern.Load() {
		_, _ = i.listen(ctx) // failing that, the one before goes on, and what it tells goes nowhere
		return fine(), nil
	}
	reply, _, err := i.Do(ctx, session, i.asWritten(methodUnsubscribe, uri, params))
	return reply, err
}

// subscribeModern is Subscribe for the first session of a URI.
func (i *Instance) subscribeModern(ctx context.Context, session, uri string) (upstream.Reply, error) {
	if !i.subscribe(session, uri) {
		return upstream.Reply{}, i.notSent(ErrLeft, 0)
	}
	agreed, err := i.listen(ctx)
	if err == nil && agrees(agreed, uri) {
		return fine(), nil
	}
	i.unsubscribed(session, uri)
	var refused *refusedError
	switch {
	case errors.As(err, &refused) && refused.reply.Message.ErrorBytes() != nil:
		return refused.reply, nil
	case err != nil && refused == nil:
		return upstream.Reply{}, err
	}
	return synthesized(wire.ErrorLine([]byte("0"), &wire.RPCError{
		Code: wire.CodeInvalidParams, Message: "the server does not tell of changes of this resource",
	})), nil
}

// subscription is the request that begins or ends one.
func (i *Instance) subscription(method, uri string) upstream.Call {
	params := append(append([]byte(`{"uri":`), wire.Quote(uri)...), '}')
	return upstream.Call{Method: method, Params: params, Timeout: i.server.Timeout}
}

// asWritten is subscription with the params that an agent wrote, where there are
// any.
func (i *Instance) asWritten(method, uri string, params upstream.Call) upstream.Call {
	call := i.subscription(method, uri)
	if params.Params != nil {
		params.Method, params.Timeout = method, call.Timeout
		return params
	}
	return call
}

// fine is the answer {} to a request that is not sent on; its id is nobody's.
func fine() upstream.Reply {
	return synthesized(wire.ResultLine([]byte("0"), []byte("{}")))
}

func synthesized(line []byte) upstream.Reply {
	m, _ := wire.Parse(line) // a line of our own
	return upstream.Reply{Message: m}
}

// subscribed reports whether anybody is to uri.
func (i *Instance) subscribed(uri string) bool {
	i.pool.mu.Lock()
	defer i.pool.mu.Unlock()
	return len(i.berth.subscriptions[uri]) > 0
}

// full reports whether one more of a session is too many: nobody else could have as
// many as it has.
func (i *Instance) full(session string) bool {
	i.pool.mu.Lock()
	defer i.pool.mu.Unlock()
	free := config.ServerSubscriptions - len(i.berth.subscriptions)
	return free <= 0 || i.session == "" && i.berth.subscribed[session] >= free
}

// subscribe notes one; false when the session is not there any more.
func (i *Instance) subscribe(session, uri string) bool {
	i.pool.mu.Lock()
	defer i.pool.mu.Unlock()
	b := i.berth
	if !i.pool.here(session) {
		return false
	}
	i.pool.user(b, session)
	if b.subscriptions[uri] == nil {
		b.subscriptions[uri] = map[string]bool{}
	}
	if !b.subscriptions[uri][session] {
		b.subscriptions[uri][session] = true
		b.subscribed[session]++
	}
	return true
}

// unsubscribed takes one back and is how many others have it.
func (i *Instance) unsubscribed(session, uri string) (left int) {
	i.pool.mu.Lock()
	defer i.pool.mu.Unlock()
	b, subs := i.berth, i.berth.subscriptions
	if subs[uri][session] {
		delete(subs[uri], session)
		if b.subscribed[session]--; b.subscribed[session] == 0 {
			delete(b.subscribed, session)
		}
	}
	if left = len(subs[uri]); left == 0 {
		delete(subs, uri)
		i.pool.nudge() // it may rest now
	}
	return left
}

// forgetSubscriptions takes back all of one session, and is what nobody has any
// more. The caller holds Pool.mu.
func (b *berth) forgetSubscriptions(session string) (uris []string) {
	if b.subscribed[session] == 0 {
		return nil
	}
	delete(b.subscribed, session)
	for uri, sessions := range b.subscriptions {
		if delete(sessions, session); len(sessions) == 0 {
			delete(b.subscriptions, uri)
			uris = append(uris, uri)
		}
	}
	slices.Sort(uris)
	return uris
}

// uris is all that is subscribed to, in order.
func (i *Instance) uris() []string {
	i.pool.mu.Lock()
	defer i.pool.mu.Unlock()
	return slices.Sorted(maps.Keys(i.berth.subscriptions))
}

// subscribers is the sessions subscribed to a resource, or to one that it is part
// of: a server may name the part that changed.
func (i *Instance) subscribers(uri string) (all []Peer) {
	i.pool.mu.Lock()
	defer i.pool.mu.Unlock()
	seen := map[string]bool{}
	for whole, sessions := range i.berth.subscriptions {
		if !partOf(uri, whole) {
			continue
		}
		for session := range sessions {
			if peer := i.pool.peers[session]; peer != nil && !seen[session] {
				seen[session] = true
				all = append(all, peer)
			}
		}
	}
	return all
}

// partOf reports whether uri is whole, or stands below it.
func partOf(uri, whole string) bool {
	rest, ok := strings.CutPrefix(uri, whole)
	return ok && (rest == "" || strings.HasSuffix(whole, "/") || strings.IndexByte("/?#", rest[0]) >= 0)
}

// unsubscribe tells the server that nobody wants these any more.
func (i *Instance) unsubscribe(uris []string) { i.tellAll(methodUnsubscribe, uris, false) }

// restore tells a process that has just started what sessions were subscribed to
// by then.
func (i *Instance) restore(uris []string) { i.tellAll(methodSubscribe, uris, true) }

// tellAll tells of each of them, a modern server of all at once.
func (i *Instance) tellAll(method string, uris []string, wanted bool) {
	defer i.pool.watch.Done()
	i.pool.contain("server "+i.server.ID, func() {
		if i.modern.Load() {
			i.listenAgain()
			return
		}
		ctx, done := i.lifetime()
		defer done()
		for _, uri := range uris {
			i.tell(ctx, method, uri, wanted)
		}
	})
}

// tell sends one of our own accord, unless a session changed its mind meanwhile.
// What the server answers changes nothing: there is nobody to be told.
func (i *Instance) tell(ctx context.Context, method, uri string, wanted bool) {
	if i.berth.subscribing.enter(ctx) != nil {
		return
	}
	defer i.berth.subscribing.leave()
	if i.subscribed(uri) == wanted {
		_, _ = i.client.Do(ctx, i.subscription(method, uri))
	}
}

// lifetime ends with the connection.
func (i *Instance) lifetime() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() { // ends with ctx, or the connection
		select {
		case <-i.client.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
