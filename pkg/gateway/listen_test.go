package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"postern/pkg/config"
	"postern/pkg/mcptest"
	"postern/pkg/wire"
)

const modernServer = `version: 1
servers:
  fake: {command: $FAKE, args: [-more, -era, modern, -events, $WORK/events]}
` + allowAll

// hears waits for a notification and checks which stream it came on and that it
// says what is wanted.
func hears(t *testing.T, a *mcptest.Agent, method, id, want string) {
	t.Helper()
	got := a.ExpectNotification(method).ParamsBytes()
	if !bytes.Contains(got, []byte(`"`+metaSubscription+`":`+id+`}`)) || !bytes.Contains(got, []byte(want)) {
		t.Errorf("%s: %s, want %s on %s", method, got, want, id)
	}
}

// modernAgent connects an agent of the modern era, which has seen the lists.
func (w *world) modernAgent(o Options) *mcptest.Agent {
	w.t.Helper()
	a := w.connect(o)
	a.Modern(`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`)
	a.Ask("tools/list", "")
	return a
}

func listens(a *mcptest.Agent, filter string) (id string) {
	return a.Request("subscriptions/listen", `{"notifications":`+filter+`}`)
}

const acked = "notifications/subscriptions/acknowledged"

// received counts the requests of a method that the fake server got.
func (w *world) count(method string) (n int) {
	for _, e := range mcptest.Events(w.t, w.path("events"), "recv") {
		if strings.Contains(e.Data, `"method":"`+method+`"`) {
			n++
		}
	}
	return n
}

// A stream that is open when the agent closes its end, or the gateway ends, is
// answered: what comes after it was not carried.
func TestStreamsAreAnsweredAtTheEnd(t *testing.T) {
	for _, end := range []string{"agent", "gateway"} {
		t.Run(end, func(t *testing.T) {
			w := newWorld(t, plainConfig, nil)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			in, toGateway := io.Pipe()
			fromGateway, out := io.Pipe()
			ended := make(chan error, 1)
			go func() { // ends with the session
				ended <- w.g.Serve(ctx, in, out, Options{})
				out.Close()
			}()
			a := mcptest.Connect(t, fromGateway, toGateway)
			a.Modern("{}")
			first, second := listens(a, `{"toolsListChanged":true}`), listens(a, `{"promptsListChanged":true}`)
			a.ExpectNotification(acked)
			a.ExpectNotification(acked)
			if end == "agent" {
				a.Hangup()
			} else {
				cancel()
			}
			for _, id := range []string{first, second} {
				result := a.Expect(id).ResultBytes()
				want := fmt.Sprintf(`{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"postern","version":"1.0"},"io.modelcontextprotocol/subscriptionId":%s}}`, id)
				if string(result) != want {
					t.Errorf("%s, want %s", result, want)
				}
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// The end of the agent's input ends streams at once: nobody waits for them as for
// requests that are under way (R80).
func TestStreamsDoNotHoldUpTheEnd(t *testing.T) {
	w := newWorld(t, plainConfig, nil)
	s, _ := w.bare()
	s.streams, s.revision = newStreams(), ""
	s.own = newOwnTools(s)
	out := &sink{open: make(chan struct{})}
	close(out.open)
	s.out = pipeTo(out, 1<<20)
	m, err := wire.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + introduced("")[1:] + `}`))
	if err != nil {
		t.Fatal(err)
	}
	s.message(m, s.send)
	if !mcptest.Eventually(func() bool { return strings.Contains(out.lines()[0], acked) }) {
		t.Fatal("not acknowledged")
	}
	s.finish()
	if len(s.open) != 0 || s.ctx.Err() != nil {
		t.Errorf("%d requests are open at the end", len(s.open))
	}
	s.cancel(nil)
	s.wg.Wait()
	if err := s.out.Close(mcptest.Bound); err != nil {
		t.Fatal(err)
	}
	if lines := out.lines(); len(lines) != 2 || !strings.Contains(lines[1], `"id":1,"result":`) {
		t.Errorf("%q", lines)
	}
}

// R72: streams share the subscription to a resource. The server hears of the first
// and of the last; in between nobody loses anything.
func TestStreamsShareASubscription(t *testing.T) {
	w := newWorld(t, moreConfig, nil)
	a := w.modernAgent(Options{})
	const filter = `{"resourceSubscriptions":["fake://text"]}`
	first := listens(a, filter)
	hears(t, a, acked, first, filter)
	second := listens(a, filter)
	hears(t, a, acked, second, filter)
	a.Cancel(first, "")
	a.Call("fake__update", `{"uri":"fake://text"}`)
	hears(t, a, "notifications/resources/updated", second, `"uri":"fake://text"`)
	if n := w.count("resources/unsubscribe"); n != 0 || w.count("resources/subscribe") != 1 {
		t.Errorf("the server was asked %d times to subscribe, %d times to end it", w.count("resources/subscribe"), n)
	}
	a.Cancel(second, "")
	if !mcptest.Eventually(func() bool { return w.count("resources/unsubscribe") == 1 }) {
		t.Error("the server was not told of the last")
	}
	third := listens(a, filter) // and it can be had again
	hears(t, a, acked, third, filter)
	a.Call("fake__update", `{"uri":"fake://text"}`)
	hears(t, a, "notifications/resources/updated", third, `"uri":"fake://text"`)
}

// An agent that listens hears of changes of lists whether or not it has asked for
// them, and nothing outside of its stream (R54, MB-095).
func TestStreamsOfLists(t *testing.T) {
	w := newWorld(t, moreConfig, nil)
	a := w.connect(Options{})
	a.Modern("{}")
	const filter = `{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}`
	id := listens(a, filter)
	hears(t, a, acked, id, filter)
	a.Call("fake__change", `{"tools":[{"name":"change","inputSchema":{"type":"object"}}],"prompts":[{"name":"new"}],"resources":[{"uri":"new://x","name":"n"}]}`)
	for _, group := range listGroups() {
		hears(t, a, "notifications/"+group+"/list_changed", id, "")
	}
	// The first it hears may be of the server's start.
	if !mcptest.Eventually(func() bool { return shows(t, a.Ask("tools/list", "")) == "fake__change" }) {
		t.Errorf("what it was told of: %s", shows(t, a.Ask("tools/list", "")))
	}
	a.Ask("resources/templates/list", "")
	for _, uri := range []string{"new://{x}", "newer://{x}"} {
		a.Call("fake__change", `{"templates":[{"uriTemplate":"`+uri+`","name":"n"}]}`)
		hears(t, a, "notifications/resources/list_changed", id, "")
	}
	for _, m := range a.Lines() {
		if m.Kind == wire.Notification && !bytes.Contains(m.Raw, []byte(metaSubscription)) {
			t.Errorf("outside of any stream: %s", m.Raw)
		}
	}
}

// MB-093, R54: a server that says its list has changed when it has not is not
// repeated on streams.
func TestMB093StreamsHearOfChangesOnly(t *testing.T) {
	w := newWorld(t, moreConfig, nil)
	a := w.modernAgent(Options{})
	const filter = `{"toolsListChanged":true,"promptsListChanged":true}`
	id := listens(a, filter)
	hears(t, a, acked, id, filter)
	a.Call("fake__notify", `{"method":"notifications/tools/list_changed","times":5}`)
	a.Call("fake__change", `{"prompts":[{"name":"new"}]}`)
	hears(t, a, "notifications/prompts/list_changed", id, "")
	for _, m := range a.Lines() {
		if m.Method == "notifications/tools/list_changed" {
			t.Errorf("%s", m.Raw)
		}
	}
}

// MB-077: streams are told apart by their ids as they are written, a number and a
// text of the same digits included.
func TestMB077StreamsKeepTheirIDs(t *testing.T) {
	w := newWorld(t, moreConfig, nil)
	a := w.modernAgent(Options{})
	ids := []string{`7001`, `"7001"`, `9007199254740993`, `""`, `-0`}
	for _, id := range ids {
		a.Send(`{"jsonrpc":"2.0","id":` + id + `,"method":"subscriptions/listen","params":{"notifications":{"promptsListChanged":true},` + introduced("")[1:] + `}`)
		hears(t, a, acked, id, "")
	}
	a.Call("fake__change", `{"prompts":[{"name":"new"}]}`)
	got := map[string]int{}
	for range ids {
		raw := string(a.ExpectNotification("notifications/prompts/list_changed").Raw)
		_, id, _ := strings.Cut(raw, metaSubscription+`":`)
		got[strings.TrimRight(id, "}")]++
	}
	for _, id := range ids {
		if got[id] != 1 {
			t.Errorf("%d on the stream %s: %v", got[id], id, got)
		}
	}
	for _, id := range ids {
		a.Cancel(id, "")
	}
}

// A legacy agent of the same connection hears of its lists as ever.
func TestStreamsBesideTheLegacyEra(t *testing.T) {
	w := newWorld(t, moreConfig, nil)
	a := w.connect(Options{})
	a.Initialize()
	a.Ask("prompts/list", "")
	a.Ask("resources/subscribe", `{"uri":"fake://text"}`)
	a.Modern("{}")
	const filter = `{"promptsListChanged":true,"resourceSubscriptions":["fake://text"]}`
	id := listens(a, filter)
	hears(t, a, acked, id, filter)
	a.Call("fake__change", `{"prompts":[]}`)
	a.Call("fake__update", `{"uri":"fake://text"}`)
	for _, method := range []string{"notifications/prompts/list_changed", "notifications/resources/updated"} {
		on, beside := 0, 0
		for range 2 {
			if bytes.Contains(a.ExpectNotification(method).Raw, []byte(metaSubscription)) {
				on++
			} else {
				beside++
			}
		}
		if on != 1 || beside != 1 {
			t.Errorf("%s: %d on the stream, %d beside it", method, on, beside)
		}
	}
	a.Cancel(id, "")
	a.Call("fake__update", `{"uri":"fake://text"}`)
	if m := a.ExpectNotification("notifications/resources/updated"); bytes.Contains(m.Raw, []byte(metaSubscription)) {
		t.Errorf("on a stream that is over: %s", m.Raw)
	}
}

// States of a task reach the stream that asked for them, and only tasks of this
// session can be asked for (R72).
func TestStreamOfTasks(t *testing.T) {
	w := newWorld(t, modernServer, nil)
	a, other := w.modernAgent(Options{}), w.modernAgent(Options{})
	if got := a.Call("fake__task", ""); !bytes.Contains(got, []byte(`"taskId":"task-1"`)) {
		t.Fatalf("%s", got)
	}
	refused := listens(other, `{"taskIds":["task-1"]}`)
	hears(t, other, acked, refused, `"notifications":{}`)
	other.Expect(refused)
	id := listens(a, `{"taskIds":["task-1","task-9"]}`)
	hears(t, a, acked, id, `"notifications":{"taskIds":["task-1"]}`)
	listened := func() bool {
		for _, e := range mcptest.Events(t, w.path("events"), "recv") {
			if strings.Contains(e.Data, `"taskIds":["task-1"]`) {
				return true
			}
		}
		return false
	}
	if !mcptest.Eventually(listened) {
		t.Fatal("the server was not listened to for the task")
	}
	a.Call("fake__finish", `{"taskId":"task-1"}`)
	hears(t, a, "notifications/tasks", id, `"status":"completed"`)
	if got := a.Ask("tasks/get", `{"taskId":"task-1"}`); !bytes.HasPrefix(got, []byte(`{`)) || !bytes.Contains(got, []byte(`"completed"`)) {
		t.Errorf("%s", got)
	}
	for _, m := range other.Lines() {
		if m.Method == "notifications/tasks" {
			t.Errorf("another session heard %s", m.Raw)
		}
	}
}

// More streams than anybody needs are refused; what is refused costs nothing.
func TestTooManyStreams(t *testing.T) {
	w := newWorld(t, plainConfig, nil)
	a := w.connect(Options{})
	a.Modern("{}")
	var last string
	for range config.MaxStreams {
		last = listens(a, `{"toolsListChanged":true}`)
		a.ExpectNotification(acked)
	}
	if m := a.Expect(listens(a, `{"toolsListChanged":true}`)); !bytes.Contains(m.ErrorBytes(), []byte("more than 32 subscriptions/listen are open")) {
		t.Errorf("%s", m.Raw)
	}
	a.Cancel(last, "")
	open := func() (n int) {
		for _, m := range a.Lines() {
			if m.Method == acked {
				n++
			}
		}
		return n
	}
	if !mcptest.Eventually(func() bool {
		listens(a, `{"toolsListChanged":true}`) // refused until the other one is gone
		return open() > config.MaxStreams
	}) {
		t.Error("there is no room after one ended")
	}
}

// A request that names no level is not served with one, whatever others of the
// session want: the era has it so that a server tells of that request alone.
func TestLevelIsThatOfOneRequest(t *testing.T) {
	w := newWorld(t, modernServer, nil)
	a := w.modernAgent(Options{})
	const level = `"_meta":{"` + metaLogLevel + `":"debug"}`
	open := a.Request("tools/call", `{"name":"fake__never",`+level+`}`)
	if !mcptest.Eventually(func() bool { return len(mcptest.Events(t, w.path("events"), "call")) == 1 }) {
		t.Fatal("the first call did not arrive")
	}
	a.Call("fake__log", `{"level":"error","data":"unwanted"}`)
	a.Ask("tools/call", `{"name":"fake__log","arguments":{"level":"error","data":"wanted"},`+level+`}`)
	if m := a.ExpectNotification("notifications/message"); !bytes.Contains(m.Raw, []byte(`"data":"wanted"`)) {
		t.Errorf("%s", m.Raw)
	}
	a.Cancel(open, "")
}
