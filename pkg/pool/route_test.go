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

// crowd is three sessions that use one server, whose calls stay under way as long
// as a test wants.
type crowd struct {
	*world
	t       *testing.T
	i       *Instance
	server  *fake
	people  map[string]*person
	release map[string]chan upstream.Reply
}

func newCrowd(t *testing.T, info upstream.Info) *crowd {
	w, f := fakeWorld(t)
	f.info = info
	c := &crowd{world: w, t: t, people: map[string]*person{}, release: map[string]chan upstream.Reply{}}
	for _, s := range []string{"a", "b", "c"} {
		c.people[s] = w.join(s)
		c.release[s] = make(chan upstream.Reply)
	}
	c.i = w.get(w.approve(w.server()))
	c.server = f.last()
	for _, s := range []string{"a", "b", "c"} {
		await(t, begin(t, c.i, s, "echo", "{}")).result(t)
	}
	c.server.answers(func(ctx context.Context, call upstream.Call) (upstream.Reply, error) {
		var args [1]wire.Span
		if wire.Lookup(call.Params, []string{"name"}, args[:]) != nil || !args[0].Ok() {
			return fine(), nil
		}
		name, _ := wire.Unquote(args[0].Of(call.Params))
		return <-c.release[name], nil
	})
	return c
}

// calls makes a call of each of the sessions named, and waits until the server
// has them.
func (c *crowd) calls(sessions string) map[string]<-chan outcome {
	c.t.Helper()
	begun := map[string]<-chan outcome{}
	before := c.server.received()
	for _, s := range strings.Fields(sessions) {
		begun[s] = begin(c.t, c.i, s, s, "{}")
	}
	until(c.t, "the calls are with the server", func() bool { return c.server.received() == before+len(begun) })
	return begun
}

// answered ends the calls.
func (c *crowd) answered(begun map[string]<-chan outcome) {
	for s, done := range begun {
		c.release[s] <- fine()
		await(c.t, done)
	}
}

// heard is who was told something since the last time, in order.
func (c *crowd) heard() string {
	var who []string
	for s, p := range c.people {
		for range p.told() {
			who = append(who, s)
		}
	}
	slices.Sort(who)
	return strings.Join(who, " ")
}

// R72: whom a server's notification is for. What is for nobody is counted.
func TestNotificationsFindTheirSessions(t *testing.T) {
	c := newCrowd(t, upstream.Info{})
	c.i.remember("b", "e1")
	c.i.Hold("c", "t1")
	for _, uri := range []string{"fake://dir", "fake://other/"} {
		if _, err := c.i.Subscribe(t.Context(), "a", uri, upstream.Call{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.i.Subscribe(t.Context(), "b", "fake://dir/x", upstream.Call{}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ flying, method, params, want string }{
		{"", "notifications/vendor/x", `{}`, ""},
		{"b", "notifications/vendor/x", `{}`, "b"},
		{"a b", "notifications/vendor/x", `{}`, ""},
		{"", logMessage, `{"level":"info","data":1}`, "a b c"},
		{"b", logMessage, `{"level":"info","data":1}`, "b"},
		{"a c", logMessage, `{"level":"info","data":1}`, "a b c"},
		{"c", resourceUpdated, `{"uri":"fake://dir"}`, "a"},
		{"", resourceUpdated, `{"uri":"fake://dir/x"}`, "a b"},
		{"", resourceUpdated, `{"uri":"fake://dir/y#1"}`, "a"},
		{"", resourceUpdated, `{"uri":"fake://dirt"}`, ""},
		{"", resourceUpdated, `{"uri":"fake://other/1"}`, "a"},
		{"a", resourceUpdated, `{}`, ""},
		{"a", elicited, `{"elicitationId":"e1"}`, "b"},
		{"", elicited, `{"elicitationId":"e2"}`, ""},
		{"a", taskStatus, `{"taskId":"t1","status":"working"}`, "c"},
		{"", taskModern, `{"taskId":"t1","status":"working"}`, "c"},
		{"a", taskStatus, `{"taskId":"t2"}`, ""},
		{"a b", "notifications/vendor/x", `{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t1"}}}`, "c"},
		{"a", "notifications/vendor/x", `{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t9"}}}`, "a"},
	} {
		begun := c.calls(tt.flying)
		dropped := c.i.Info().Dropped
		c.server.says(tt.method, tt.params)
		got, lost := c.heard(), c.i.Info().Dropped-dropped
		if got != tt.want || (lost == 1) != (tt.want == "") {
			t.Errorf("calls of %q: %s %s is heard by %q, want %q; %d dropped", tt.flying, tt.method, tt.params, got, tt.want, lost)
		}
		c.answered(begun)
	}
}

// R72: an elicitation that a call was refused for is the session's of that call,
// as is one it was asked; of each server the last hundred are remembered.
func TestElicitationsAreRemembered(t *testing.T) {
	c := newCrowd(t, upstream.Info{})
	begun := c.calls("a")
	m, err := wire.Parse([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"visit","data":{"elicitations":[{"mode":"url","elicitationId":"e1"},{"elicitationId":2},{"elicitationId":"e2"}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	c.release["a"] <- upstream.Reply{Message: m}
	await(t, begun["a"])
	for _, id := range []string{"e1", "e2"} {
		if c.server.says(elicited, `{"elicitationId":"`+id+`"}`); c.heard() != "a" {
			t.Errorf("%s is not of the session that was refused for it", id)
		}
	}
	for n := range config.ElicitMemory - 1 {
		c.i.remember("b", fmt.Sprint(n))
	}
	if c.server.says(elicited, `{"elicitationId":"0"}`); c.heard() != "" {
		t.Error("more are remembered")
	}
	for _, id := range []string{"e1", "e2"} {
		if c.server.says(elicited, `{"elicitationId":"`+id+`"}`); c.heard() != "a" {
			t.Error("a session with many made others' forgotten")
		}
	}
	if c.server.says(elicited, `{"elicitationId":"1"}`); c.heard() != "b" {
		t.Error("less are remembered")
	}
	c.pool.Leave("a")
	if c.server.says(elicited, `{"elicitationId":"e2"}`); c.heard() != "" {
		t.Error("a session that has left is told")
	}
}

// R72: a call of a session that has left counts as long as the server may be
// working on it, and its session is told nothing; nor does it want the server up,
// whatever it still calls.
func TestCallsOutliveTheirSession(t *testing.T) {
	c := newCrowd(t, upstream.Info{})
	begun := c.calls("a b")
	c.pool.Leave("a")
	for method, want := range map[string]string{"notifications/vendor/x": "", logMessage: "b c"} {
		c.server.says(method, `{}`)
		if got := c.heard(); got != want {
			t.Errorf("%s is heard by %q, want %q", method, got, want)
		}
	}
	c.answered(begun)
	c.answered(c.calls("a"))
	c.pool.Leave("b")
	c.pool.Leave("c")
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	if b := c.i.berth; b.wanted() || len(b.users) != 0 {
		t.Errorf("wanted by %d", len(b.users))
	}
}

// What names our own listen is taken out of what a modern server says, and the
// _meta with it if nothing else is there; all other bytes stay (R4).
func TestOwnSubscriptionIsTakenOut(t *testing.T) {
	const id = `"io.modelcontextprotocol/subscriptionId"`
	for params, want := range map[string]string{
		`{"_meta":{` + id + `:7},"uri":"a:","n":1e400}`:          `{"uri":"a:","n":1e400}`,
		`{"uri":"a:", "_meta" : {"x":1, ` + id + ` : "7"}}`:      `{"uri":"a:", "_meta" : {"x":1}}`,
		`{"_meta":{` + id + `:7}}`:                               `{}`,
		`{"_meta":{"x":-0}}`:                                     `{"_meta":{"x":-0}}`,
		`{"_meta":[` + id + `]}`:                                 `{"_meta":[` + id + `]}`,
		`{` + id + `:7}`:                                         `{` + id + `:7}`,
		`{"_meta":{` + id + `:7,"y":{}},"z":[1.0],"u":"\u00e9"}`: `{"_meta":{"y":{}},"z":[1.0],"u":"\u00e9"}`,
	} {
		m, err := wire.Parse(wire.NotificationLine("notifications/x", []byte(params)))
		if err != nil {
			t.Fatal(err)
		}
		if got := withoutSubscription(m); string(got.ParamsBytes()) != want || got.Method != m.Method {
			t.Errorf("%s\nbecame %s\nwant   %s", params, got.ParamsBytes(), want)
		}
	}
}

// FuzzNote: whatever a server says, it is passed on as it is but for our own
// subscription, or not at all.
func FuzzNote(f *testing.F) {
	f.Add(`{"_meta":{"io.modelcontextprotocol/subscriptionId":7},"uri":"a:"}`)
	f.Add(`{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}},"level":"x"}`)
	f.Add(`{"elicitationId":"e","taskId":["t"]}`)
	f.Fuzz(func(t *testing.T, params string) {
		m, err := wire.Parse(wire.NotificationLine("notifications/x", []byte(params)))
		if err != nil {
			return
		}
		relatedTask(m.ParamsBytes())
		got := withoutSubscription(m)
		if strings.Contains(params, metaSubscription) || strings.Contains(params, `\`) {
			if _, err := wire.Parse(got.Raw); err != nil {
				t.Fatalf("%s became %s: %v", m.Raw, got.Raw, err)
			}
			return
		}
		if string(got.Raw) != string(m.Raw) {
			t.Fatalf("%s became %s", m.Raw, got.Raw)
		}
	})
}
