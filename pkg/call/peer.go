package call

import (
	"bytes"
	"context"
	"strings"

	"postern/pkg/config"
	"postern/pkg/policy"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// peer is a session as the pool of servers sees it.
type peer Session

func (p *peer) session() *Session { return (*Session)(p) }

// Capabilities is what is declared to a server that serves this session alone.
func (p *peer) Capabilities(d *config.Server) []byte { return p.session().capabilities(d, true) }

// Modern reports whether the agent speaks the modern era.
func (p *peer) Modern() bool { return p.o.Agent != nil && p.o.Agent.Modern() }

// Level is the lowest level of log messages that the agent wants.
func (p *peer) Level() string {
	if p.o.Agent == nil {
		return ""
	}
	return p.o.Agent.Level()
}

// Ask puts a server's request to the agent, if it may be put at all. The server's
// reader calls it, and Note: a panic in the session is not the server's end (R26).
func (p *peer) Ask(d *config.Server, q *upstream.Question) {
	s, put := p.session(), false
	s.host.contain("session "+s.ID, func() {
		s.putToAgent(d, q)
		put = true
	})
	if !put {
		q.Decline()
	}
}

func (s *Session) putToAgent(d *config.Server, q *upstream.Question) {
	method := q.Message.Method
	params, problem := s.question(d, method, q.Message.ParamsBytes())
	switch {
	case problem == noAgentTask:
		q.Answer(noTask())
		return
	case problem != "" || !s.places.take(d.ID, len(params)):
		q.Decline()
		return
	}
	ctx := q.Context()
	go s.host.contain("a question of server "+d.ID, func() { // ends with Agent.Ask, which ends with q's context and with the session
		defer s.places.give(d.ID, len(params))
		defer q.Decline() // does nothing after an answer
		s.relay(ctx, d, q, params)
	})
}

// relay puts a question to the agent and hands its answer to the server.
func (s *Session) relay(ctx context.Context, d *config.Server, q *upstream.Question, params []byte) {
	method := q.Message.Method
	if d.Shared || objectIn(params, "task") == nil {
		m, err := s.asked(ctx, method, params, q.Progress)
		if err == nil && method == methodTaskList {
			m = s.agentTasks.listed(d.ID, m)
		}
		if err == nil {
			q.Answer(m)
		}
		return
	}
	id, answer := "", func() {}
	s.agentTasks.begin()
	defer func() {
		srv := s.view.Load().Server(d.ID)
		s.agentTasks.end(d.ID, id, answer, func(status []byte) { s.notify(srv, false, agentTaskStatus, status) })
	}()
	if m, err := s.asked(ctx, method, params, q.Progress); err == nil {
		id, answer = taskIn(m.ResultBytes(), false), func() { q.Answer(m) }
	}
}

// Note passes a server's notification on to the agent.
func (p *peer) Note(d *config.Server, m wire.Message) {
	s := p.session()
	s.host.contain("session "+s.ID, func() { s.tellAgent(d, m) })
}

func (s *Session) tellAgent(d *config.Server, m wire.Message) {
	agent := s.o.Agent
	if agent == nil {
		return
	}
	params := unsubscribed(m.ParamsBytes())
	switch m.Method {
	case "notifications/resources/updated":
		for _, named := range s.updated(d, params) {
			agent.Notify(m.Method, named)
		}
		return
	case "notifications/tasks":
		if s.overreaches(d, params) != "" {
			return // a task's questions stand here as in its result
		}
	case "notifications/elicitation/complete":
		if agent.Modern() {
			return // there is no such thing in its era
		}
	}
	agent.Notify(m.Method, params)
}

// subscriptionID is what a modern server's notification says it belongs to: a
// request of the gateway's, which no agent knows.
const subscriptionID = "io.modelcontextprotocol/subscriptionId"

// unsubscribed is params without it.
func unsubscribed(params []byte) []byte {
	if !bytes.Contains(params, []byte(subscriptionID)) {
		return params
	}
	var at, in [1]wire.Span
	if wire.Lookup(params, []string{"_meta"}, at[:]) != nil ||
		wire.Lookup(at[0].Of(params), []string{subscriptionID}, in[:]) != nil || !in[0].Ok() {
		return params
	}
	meta := without(at[0].Of(params), in[0])
	return wire.Splice(params, wire.Edit{Span: at[0], New: meta})
}

// updated is the params of a resource's update under each URI by which the agent
// subscribed to it: what lies below one has the name it would be listed by. One
// that may not be read any more is none of the agent's business. It asks the view
// that there is: to look for another one might take a while, and the server's
// reader calls this.
func (s *Session) updated(d *config.Server, params []byte) (out [][]byte) {
	var at [1]wire.Span
	if wire.Lookup(params, []string{"uri"}, at[:]) != nil {
		return nil
	}
	uri, err := wire.Unquote(at[0].Of(params))
	v := s.view.Load()
	srv := v.Server(d.ID)
	if err != nil || srv == nil || v.decideOn(srv, policy.ResourceKind, uri).Verdict != policy.Allow {
		return nil
	}
	names := s.subs.names(place{d.ID, uri})
	if len(names) == 0 {
		names = []string{v.exposedURI(srv, uri)}
	}
	for _, name := range names {
		if name == uri {
			out = append(out, params)
			continue
		}
		out = append(out, wire.Splice(params, wire.Edit{Span: at[0], New: wire.Quote(name)}))
	}
	return out
}

// NotifyServers passes a notification of the agent on to servers that run and that
// this session has called: that its roots changed to those that know them, how a
// task goes to the server whose question it is, any other that is not known here to
// the one server that it can be meant for, if its method may be used there (R73). A
// request that has no id is no notification: it would be carried out without having
// walked the line. It waits for nothing.
func (s *Session) NotifyServers(method string, params []byte) {
	v := s.View()
	switch method {
	case agentTaskStatus:
		s.agentTasks.status(params, func(server string) { s.notify(v.Server(server), false, method, params) })
		return
	case "notifications/roots/list_changed":
		for _, srv := range v.Servers {
			if !srv.Declared.Shared {
				s.notify(srv, false, method, params)
			}
		}
		return
	}
	srv := v.sole()
	if srv == nil || !strings.HasPrefix(method, notificationPrefix) || disguised(strings.TrimPrefix(method, notificationPrefix)) ||
		v.decideOn(srv, policy.MethodKind, method).Verdict != policy.Allow {
		return
	}
	s.notify(srv, s.o.Agent != nil && s.o.Agent.Modern(), method, params)
}

// notify sends a notification to a server that is still there, runs and speaks an
// era.
func (s *Session) notify(srv *Server, modern bool, method string, params []byte) {
	if srv == nil {
		return
	}
	i := s.host.pool.Running(srv.running())
	if i == nil || (i.Catalog().Era == upstream.EraModern) != modern {
		return
	}
	// One that cannot be queued meets a server that is about to end.
	_ = i.Notify(method, params)
}
