package pool

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"postern/pkg/config"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

const text = "fake://text"

func updated(uri string) string { return resourceUpdated + ` {"uri":"` + uri + `"}` }

// subscribe and unsubscribe are what a session is answered.
func (w *world) subscribe(i *Instance, session, uri string) wire.Message {
	w.t.Helper()
	reply, err := i.Subscribe(w.t.Context(), session, uri, upstream.Call{})
	if err != nil {
		w.t.Fatal(err)
	}
	return reply.Message
}

func (w *world) unsubscribe(i *Instance, session, uri string) wire.Message {
	w.t.Helper()
	reply, err := i.Unsubscribe(w.t.Context(), session, uri, upstream.Call{})
	if err != nil {
		w.t.Fatal(err)
	}
	return reply.Message
}

// sent is how many subscriptions, and ends of some, were sent on.
func (w *world) sent() string {
	return fmt.Sprint(len(w.received(methodSubscribe)), " ", len(w.received(methodUnsubscribe)))
}

// R72: the first session of a URI is asked for upstream, and the last one ends
// it; each is told as long as it is subscribed, and a restarted server is told of
// all that is left (R21).
func TestSubscriptionsAreCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.join("a"), w.join("b")
	srv := w.server("-more")
	srv.RestartDelay = 1
	approved := w.approve(srv)
	i := w.get(approved)
	for n, s := range []string{"a", "b", "b"} {
		if m := w.subscribe(i, s, text); string(m.ResultBytes()) != "{}" || w.sent() != "1 0" {
			t.Errorf("%d: answered %s, sent on %s", n, m.Raw, w.sent())
		}
	}
	w.mustCall(i, "update", `{"uri":"`+text+`"}`)
	a.hears(t, updated(text))
	b.hears(t, updated(text))
	a.told()
	b.told()

	w.unsubscribe(i, "a", text)
	w.unsubscribe(i, "a", text)
	w.mustCall(i, "update", `{"uri":"`+text+`"}`)
	b.hears(t, updated(text))
	if told := a.told(); len(told) > 0 || w.sent() != "1 0" {
		t.Errorf("told %q of what it ended; sent on %s", told, w.sent())
	}

	b.told()
	w.try(i, toolCall("exit", `{"status":3}`))
	until(t, "the restarted server is told", func() bool { return w.sent() == "2 0" })
	until(t, "it is up", func() bool { return w.pool.Running(approved.Key()) != nil })
	i = w.pool.Running(approved.Key())
	w.mustCall(i, "update", `{"uri":"`+text+`"}`)
	b.hears(t, updated(text))

	if m := w.unsubscribe(i, "b", text); string(m.ResultBytes()) != "{}" || w.sent() != "2 1" {
		t.Errorf("answered %s, sent on %s", m.Raw, w.sent())
	}
	w.subscribe(i, "b", text)
	w.pool.Leave("b")
	until(t, "the end of a session ends it", func() bool { return w.sent() == "3 2" })
}

// R72: what a server refuses is not subscribed to, and its error is the answer;
// the next session is asked for again.
func TestRefusedSubscription(t *testing.T) {
	t.Parallel()
	w, f := fakeWorld(t)
	w.join("a")
	i := w.get(w.approve(w.server()))
	refused := synthesized([]byte(`{"jsonrpc":"2.0","id":7,"error":{"code":-32002,"message":"no such","data":{"x":1.0}}}`))
	f.last().answers(func(context.Context, upstream.Call) (upstream.Reply, error) { return refused, nil })
	for n := range 2 {
		if m := w.subscribe(i, "a", text); string(m.Raw) != string(refused.Message.Raw) || f.last().received() != n+1 || len(i.uris()) != 0 {
			t.Errorf("answered %s after %d requests", m.Raw, f.last().received())
		}
	}
	f.last().answers(nil)
	for n := range config.ServerSubscriptions {
		i.subscribe("a", fmt.Sprint("fake:", n))
	}
	_, err := i.Subscribe(t.Context(), "a", text, upstream.Call{})
	failure(t, err, upstream.Overload)
	w.subscribe(i, "a", "fake:1") // one that is there
}

// R24, R72: what one session is subscribed to leaves room for others, however many
// there are; a server of one session is that one's as a whole.
func TestSubscriptionsLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	w, _ := fakeWorld(t)
	i := w.get(w.approve(w.server()))
	fill := func(session string) (n int) {
		w.join(session)
		for ; n <= config.ServerSubscriptions; n++ {
			if _, err := i.Subscribe(t.Context(), session, fmt.Sprint(session, ":", n), upstream.Call{}); err != nil {
				failure(t, err, upstream.Overload)
				break
			}
		}
		if session != "e" {
			w.subscribe(i, session, "a:0") // which costs nobody anything
		}
		return n
	}
	for n, session := range []string{"a", "b", "c"} {
		if got, want := fill(session), config.ServerSubscriptions>>(n+1); got != want {
			t.Errorf("%s is subscribed to %d, want %d", session, got, want)
		}
	}
	w.pool.Leave("a")
	if got := fill("d"); got < config.ServerSubscriptions/4 {
		t.Errorf("with room again only %d", got)
	}
	i.session = "e"
	w.pool.Leave("b")
	w.pool.Leave("c")
	w.pool.Leave("d")
	if got := fill("e"); got != config.ServerSubscriptions {
		t.Errorf("alone %d", got)
	}
}

// A session that leaves while the server is asked is not subscribed, and the
// server is told so.
func TestLeavingWhileSubscribing(t *testing.T) {
	t.Parallel()
	w, f := fakeWorld(t)
	w.join("a")
	i := w.get(w.approve(w.server()))
	asked, methods := make(chan struct{}), make(chan string, 2)
	f.last().answers(func(_ context.Context, call upstream.Call) (upstream.Reply, error) {
		if methods <- call.Method; call.Method == methodSubscribe {
			<-asked
		}
		return fine(), nil
	})
	done := make(chan error)
	go func() { // ends with the subscription
		_, err := i.Subscribe(context.Background(), "a", text, upstream.Call{})
		done <- err
	}()
	await(t, methods)
	gaveUp, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := i.Subscribe(gaveUp, "b", text, upstream.Call{}); err == nil {
		t.Error("two subscriptions at once")
	}
	w.pool.Leave("a")
	close(asked)
	if err := await(t, done); err != nil || len(i.uris()) != 0 || await(t, methods) != methodUnsubscribe {
		t.Errorf("%v, %q", err, i.uris())
	}
}

// What a server tells before its answer is taken in is for the session that asked.
func TestNewsBehindASubscription(t *testing.T) {
	t.Parallel()
	w, f := fakeWorld(t)
	a := w.join("a")
	i := w.get(w.approve(w.server()))
	c := f.last()
	c.answers(func(context.Context, upstream.Call) (upstream.Reply, error) {
		c.says(resourceUpdated, `{"uri":"`+text+`"}`)
		return fine(), nil
	})
	w.subscribe(i, "a", text)
	a.hears(t, updated(text))
}

// listens is the filters of the listens a server got, and how many were cancelled.
func (w *world) listens() (filters []string, cancelled int) {
	for _, line := range w.received(methodListen) {
		_, rest, _ := strings.Cut(line, `"notifications":`)
		depth := 0
		for n := range rest {
			switch rest[n] {
			case '{':
				depth++
			case '}':
				if depth--; depth == 0 {
					filters = append(filters, rest[:n+1])
					depth = -1 << 20
				}
			}
		}
	}
	return filters, len(w.received("notifications/cancelled"))
}

const allLists = `{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true`

// R72, R73: subscriptions of a modern server are one listen, which another takes
// the place of before it is ended; a restarted server is listened to again.
func TestModernSubscriptions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.join("a"), w.join("b")
	srv := w.server("-more", "-era", "modern")
	srv.RestartDelay = 1
	approved := w.approve(srv)
	i := w.get(approved)
	until(t, "its lists are listened to", func() bool { f, _ := w.listens(); return slices.Equal(f, []string{allLists + "}"}) })
	for _, s := range []string{"a", "b"} {
		if m := w.subscribe(i, s, text); string(m.ResultBytes()) != "{}" {
			t.Errorf("answered %s", m.Raw)
		}
	}
	w.subscribe(i, "a", "fake://blob")
	w.mustCall(i, "update", `{"uri":"`+text+`"}`)
	a.hears(t, updated(text))
	b.hears(t, updated(text))
	w.unsubscribe(i, "a", "fake://blob")
	w.unsubscribe(i, "a", text)
	want := []string{
		allLists + "}",
		allLists + `,"resourceSubscriptions":["fake://text"]}`,
		allLists + `,"resourceSubscriptions":["fake://blob","fake://text"]}`,
		allLists + `,"resourceSubscriptions":["fake://text"]}`,
	}
	until(t, "the ones before are ended", func() bool { _, n := w.listens(); return n == 3 })
	if got, _ := w.listens(); !slices.Equal(got, want) {
		t.Errorf("listened for\n%s", strings.Join(got, "\n"))
	}
	w.try(i, toolCall("exit", `{"status":3}`))
	until(t, "the restarted server is listened to", func() bool { f, _ := w.listens(); return len(f) == 5 && f[4] == want[3] })
}

// A listen that the server ends is opened again, and the lists are read, since
// they may have changed meanwhile.
func TestListenIsOpenedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	srv := w.server("-more", "-era", "modern")
	srv.RestartDelay = 1
	i := w.get(w.approve(srv))
	until(t, "it is listened to", func() bool {
		i.listens.mu.Lock()
		defer i.listens.mu.Unlock()
		return i.listens.now != nil
	})
	w.mustCall(i, "change", `{"prompts":[{"name":"missed"}],"silent":true}`)
	w.mustCall(i, "unlisten", "{}")
	until(t, "it is listened to again", func() bool { f, _ := w.listens(); return len(f) == 2 })
	until(t, "what changed meanwhile is seen", func() bool { return i.Catalog().Prompt("missed") != nil })
}

// listener is a fake modern server; answers says what a listen comes to, given
// what it is for.
func listener(t *testing.T, w *world, f *fakes, comesTo func(c *fake, ctx context.Context, id string, call upstream.Call) (upstream.Reply, error)) *Instance {
	t.Helper()
	f.info = upstream.Info{Era: upstream.EraModern, Protocol: "2026-07-28", Capabilities: []byte(`{"resources":{"subscribe":true}}`)}
	i := w.get(w.approve(w.server()))
	c := f.last()
	c.answers(func(ctx context.Context, call upstream.Call) (upstream.Reply, error) {
		if call.Method != methodListen {
			return fine(), nil
		}
		id := fmt.Sprint(c.received())
		call.Sent([]byte(id))
		return comesTo(c, ctx, id, call)
	})
	return i
}

// acknowledges is a server that agrees to notifications and holds the listen.
func acknowledges(c *fake, ctx context.Context, id, notifications string) (upstream.Reply, error) {
	c.says(acknowledged, `{"_meta":{"io.modelcontextprotocol/subscriptionId":`+id+`},"notifications":`+notifications+`}`)
	select {
	case <-ctx.Done():
	case <-c.done:
	}
	return upstream.Reply{}, &upstream.Failure{Word: upstream.Aborted, Server: "fake", Detail: "cancelled"}
}

// R73: a modern server that does not agree to a resource, or refuses to be
// listened to, or is silent, is told of no subscription; the answer says which.
func TestModernServerRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		comesTo func(c *fake, ctx context.Context, id string, call upstream.Call) (upstream.Reply, error)
		want    string
	}{
		"not this one": {func(c *fake, ctx context.Context, id string, _ upstream.Call) (upstream.Reply, error) {
			return acknowledges(c, ctx, id, `{"resourceSubscriptions":["fake://other"]}`)
		}, "-32602"},
		"nothing, and the end": {func(c *fake, _ context.Context, id string, _ upstream.Call) (upstream.Reply, error) {
			c.says(acknowledged, `{"_meta":{"io.modelcontextprotocol/subscriptionId":`+id+`},"notifications":{}}`)
			return fine(), nil
		}, "-32602"},
		"the end": {func(*fake, context.Context, string, upstream.Call) (upstream.Reply, error) { return fine(), nil }, "-32602"},
		"an error": {func(*fake, context.Context, string, upstream.Call) (upstream.Reply, error) {
			return synthesized([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`)), nil
		}, "-32601"},
		"a failure": {func(*fake, context.Context, string, upstream.Call) (upstream.Reply, error) {
			return upstream.Reply{}, &upstream.Failure{Word: upstream.Overload, Server: "fake", Detail: "full"}
		}, "overload"},
		"another's acknowledgement": {func(c *fake, ctx context.Context, _ string, _ upstream.Call) (upstream.Reply, error) {
			c.says(acknowledged, `{"_meta":{"io.modelcontextprotocol/subscriptionId":99},"notifications":{"resourceSubscriptions":["fake://text"]}}`)
			c.says(acknowledged, `{"notifications":{"resourceSubscriptions":["fake://text"]}}`)
			return fine(), nil
		}, "-32602"},
	} {
		t.Run(name, func(t *testing.T) {
			w, f := fakeWorld(t)
			w.join("a")
			i := listener(t, w, f, tt.comesTo)
			reply, err := i.Subscribe(t.Context(), "a", text, upstream.Call{})
			got := string(reply.Message.ErrorBytes())
			if err != nil {
				failure(t, err, upstream.Word(tt.want))
				got = tt.want
			}
			if !strings.Contains(got, tt.want) || len(i.uris()) != 0 {
				t.Errorf("answered %q, %v; subscribed to %q", got, err, i.uris())
			}
		})
	}
}

// A listen is not waited for longer than the caller waits.
func TestSilentListen(t *testing.T) {
	t.Parallel()
	w, f := fakeWorld(t)
	w.join("a")
	ctx, cancel := context.WithCancel(t.Context())
	i := listener(t, w, f, func(c *fake, listening context.Context, _ string, _ upstream.Call) (upstream.Reply, error) {
		cancel()
		<-listening.Done()
		return upstream.Reply{}, &upstream.Failure{Word: upstream.Aborted, Server: "fake", Detail: context.Cause(listening).Error()}
	})
	_, err := i.Subscribe(ctx, "a", text, upstream.Call{})
	if failure(t, err, upstream.Aborted); len(i.uris()) != 0 {
		t.Errorf("subscribed to %q", i.uris())
	}
}
