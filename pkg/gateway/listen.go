package gateway

import (
	"context"

	"golang.org/x/sync/errgroup"

	"postern/pkg/call"
	"postern/pkg/config"
	"postern/pkg/wire"
)

// listen answers subscriptions/listen: first with what of it will be carried,
// then, for as long as the agent wants it, with the notifications. It is over
// when the agent cancels it, without an answer, and with a result when the
// session ends or nothing could be carried at all.
func (s *session) listen(r *request, m wire.Message) {
	wanted, err := readFilter(m.ParamsBytes())
	if err != nil {
		s.done(r, wire.ErrorLine(r.id, &wire.RPCError{Code: wire.CodeInvalidParams, Message: err.Error()}))
		return
	}
	st := newStream(r, s.out, &wanted)
	s.begin(st)
	if !s.streams.add(st) {
		s.done(r, wire.ErrorLine(r.id, tooManyStreams()))
		return
	}
	agreed, subs := s.agree(r, wanted)
	st.carry(&agreed)
	if r.ctx.Err() == nil {
		s.send(st.acknowledgement(&agreed))
	}
	s.tell(st) // what changed since the agent was shown it
	if !agreed.empty() {
		s.flow(r, st)
	}
	s.streams.remove(st)
	s.done(r, wire.ResultLine(r.id, withSubscription([]byte("{}"), st.id)))
	for _, sub := range subs {
		s.unsubscribe(r.modern, sub)
	}
}

// begin notes what the agent knows of the lists: what it was shown, and else what
// is there now.
func (s *session) begin(st *stream) {
	o := s.offer(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range listKinds {
		if st.told[k] = s.listed[k]; st.told[k] == "" {
			st.told[k] = o.lists[k].digest
		}
	}
}

// promised is those of the groups whose changes the capabilities speak of.
func (s *session) promised(groups []string) (kept []string) {
	capabilities := s.modernCapabilities(s.offer(true).view)
	for _, group := range groups {
		var at, in [1]wire.Span
		_ = wire.Lookup(capabilities, []string{group}, at[:]) // nothing that can be read: no promise
		of := at[0].Of(capabilities)
		if wire.Lookup(of, []string{"listChanged"}, in[:]) == nil && string(in[0].Of(of)) == "true" {
			kept = append(kept, group)
		}
	}
	return kept
}

// flow sends what the stream keeps until it is over. The rest goes out from where
// it is posted.
func (s *session) flow(r *request, st *stream) {
	for {
		for lines := st.take(); lines != nil; lines = st.take() {
			for _, line := range lines {
				if r.ctx.Err() == nil {
					s.send(line)
				}
			}
		}
		select {
		case <-r.ctx.Done():
			return
		case <-s.streams.over:
			return
		case <-st.wake:
		}
	}
}

// agree is what of a filter can be carried: resources that the agent may read and
// whose server takes subscriptions, and tasks that are its own. It waits for the
// servers to answer.
func (s *session) agree(r *request, wanted filter) (filter, []*subscription) {
	agreed := filter{groups: s.promised(wanted.groups)}
	subs := make([]*subscription, len(wanted.uris))
	var g errgroup.Group
	g.SetLimit(config.StreamJobs)
	for i, uri := range wanted.uris {
		g.Go(func() error { // ends with the server's answer, which Do bounds and r.ctx hastens
			s.guard(func() { subs[i] = s.subscribe(r, uri) })
			return nil
		})
	}
	_ = g.Wait() // what failed is not there
	var taken []*subscription
	for _, sub := range subs {
		if sub != nil {
			agreed.uris = append(agreed.uris, sub.uri)
			taken = append(taken, sub)
		}
	}
	for _, id := range wanted.tasks {
		if s.calls.HasTask(id) {
			agreed.tasks = append(agreed.tasks, id)
		}
	}
	return agreed, taken
}

// subscribe asks for the updates of a resource; nil when they will not come. The
// line is walked each time, so that the right to it is checked.
func (s *session) subscribe(r *request, uri string) *subscription {
	sub := s.streams.hold(uri)
	taken := false
	if sub.lock(r.ctx) {
		if taken = s.accepts(r.ctx, r.modern, "resources/subscribe", uri); taken {
			sub.users++
		}
		sub.unlock()
	}
	if !taken {
		s.streams.drop(sub)
		return nil
	}
	return sub
}

// unsubscribe gives up a subscription of a stream that is over. The end of the
// session does it for all, and where the agent is of the legacy era too it is left
// to that: it may have subscribed to the same by itself.
func (s *session) unsubscribe(modern *call.Modern, sub *subscription) {
	if !sub.lock(s.ctx) {
		return
	}
	if sub.users--; sub.users == 0 && !s.initialized() {
		s.accepts(s.ctx, modern, "resources/unsubscribe", sub.uri)
	}
	sub.unlock()
	s.streams.drop(sub)
}

// accepts walks a request of the gateway's own down the line and reports whether the
// server did what it asks for.
func (s *session) accepts(ctx context.Context, modern *call.Modern, method, uri string) (done bool) {
	var params object
	params.text("uri", uri)
	q := call.Request{Method: method, Exposed: uri, Params: params.bytes(), Modern: modern}
	s.calls.Do(ctx, q, func(a call.Answer) {
		done = a.Refusal == nil && a.Error == nil && (a.Reply == nil || !a.Reply.Error.Ok())
	})
	return done
}
