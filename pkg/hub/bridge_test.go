package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"postern/pkg/config"
	"postern/pkg/mcptest"
)

// The hello, what the hub wants of the environment, and then lines as they are,
// each with a stamp of its own (C30, C81, R81).
func TestBridge(t *testing.T) {
	s := newBridged(t, nil)
	d := s.hub(`{"postern":1,"session":"s1","want":["A","NONE"]}`)
	if d.hello != `{"postern":1,"kind":"bridge","list_wait_ms":0,"client_pid":77}` {
		t.Errorf("hello %s", d.hello)
	}
	if line, err := d.r.ReadString('\n'); line != `{"postern":1,"env":{"A":"value of A"}}`+"\n" {
		t.Fatalf("values %s, %v", line, err)
	}
	for _, line := range []string{
		`{ "jsonrpc":"2.0", "id" : 1.0,"method":"x","params":{"n":9007199254740993} } `, "\ufeffnoise", `[]`, "\t{", "",
		`[{"jsonrpc":"2.0","id":1,"method":"x"}]`, strings.Repeat("y", config.AgentMessageBytes) + "é",
	} {
		s.Send(line)
		if line == "" {
			continue // nobody needs it
		}
		if got := d.line(); got != line && (len(line) <= config.AgentMessageBytes || got != line[:config.AgentMessageBytes+1]) {
			t.Errorf("%.100q became %.100q", line, got)
		}
	}
	big := `{"jsonrpc":"2.0","id":1.0,"result":"` + strings.Repeat("z", 1<<20) + `"}`
	d.say(`{"jsonrpc":"2.0","method":"notifications/x"}`, big, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	if m := s.Line(1); string(m.Raw) != big {
		t.Errorf("%.100s", m.Raw)
	}
	s.Line(2)
	s.Hangup()
	d.end()
	d.die()
	if err := s.over(); err != nil || len(s.rows) != 0 {
		t.Errorf("%v, rows %v", err, s.rows)
	}
}

// R80, MB-053: stdin's end is the end, within a second: calls under way may still be
// answered, a hub that says nothing is not waited for longer.
func TestBridgeEnds(t *testing.T) {
	t.Run("answered", func(t *testing.T) {
		s := newBridged(t, nil)
		d := s.hub(greeting)
		id := s.Request("tools/call", `{"name":"x"}`)
		d.line()
		s.Hangup()
		d.end()
		d.say(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`)
		d.die()
		if err := s.over(); err != nil {
			t.Error(err)
		}
		s.Expect(id)
	})
	t.Run("silent hub", func(t *testing.T) {
		s := newBridged(t, nil)
		d := s.hub(greeting)
		s.Request("tools/call", `{"name":"x"}`)
		d.line()
		s.Hangup()
		begin := time.Now()
		if err := s.over(); err != nil || time.Since(begin) < config.BridgeEnd-50*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		d.end()
	})
	for name, end := range map[string]func(*bridged){
		"hub that does not read": func(s *bridged) { s.Hangup() }, "interrupted while it does not": func(s *bridged) { s.cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			s := newBridged(t, nil)
			s.hub(greeting)
			_ = s.in.SetWriteDeadline(time.Now().Add(time.Second)) // the subject: both ways are full by then
			for err := error(nil); err == nil; {
				_, err = io.WriteString(s.in, `{"jsonrpc":"2.0","method":"`+strings.Repeat("x", 1<<16)+`"}`+"\n")
			}
			end(s)
			if err := s.over(); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("interrupted", func(t *testing.T) {
		s := newBridged(t, nil)
		d := s.hub(greeting)
		s.Send("x")
		d.line()
		s.cancel()
		if err := s.over(); err != nil {
			t.Error(err)
		}
		d.end()
	})
	t.Run("agent that does not read", func(t *testing.T) {
		r, w := pipe(t)
		r.Close()
		stdin, _ := pipe(t)
		hub, c := net.Pipe()
		ended := make(chan error, 1)
		go func() { // ends when the write fails
			ended <- Bridge(t.Context(), stdin, w, BridgeOptions{Reach: reachOnly(c), Lookup: os.LookupEnv})
		}()
		d := &dummy{t: t, conn: hub, w: hub}
		answerHello(t, hub)
		d.say(`{"jsonrpc":"2.0","method":"notifications/x"}`)
		select {
		case err := <-ended:
			if err == nil {
				t.Error("no error")
			}
		case <-time.After(mcptest.Bound):
			t.Error("it goes on")
		}
	})
}

// The bridge ends when the process that started it is gone, of which stdin's end
// may not tell: others may hold it.
func TestBridgeParent(t *testing.T) {
	s := newBridged(t, func(o *BridgeOptions) { o.ParentPID = os.Getpid() }) // never our own parent
	if err := s.over(); err != nil {
		t.Error(err)
	}
	for _, watch := range []func() bool{
		func() bool { return parentChanged(t.Context(), os.Getpid()) },
		func() bool { return watchParent(t.Context(), os.Getpid()) },
	} {
		if !watch() {
			t.Error("another parent was not seen")
		}
	}
	ctx, cancel := patient()
	cancel()
	if parentChanged(ctx, os.Getppid()) || watchParent(ctx, os.Getppid()) || parentChanged(ctx, 0) {
		t.Error("a parent that is there counts as gone")
	}
}

// Before there is a hub nothing is read, so that the session can be served
// otherwise; a hub that refuses is an error of the agent's.
func TestBridgeUnreached(t *testing.T) {
	var unreached *UnreachedError
	stdin, in := pipe(t)
	if _, err := io.WriteString(in, "x\n"); err != nil {
		t.Fatal(err)
	}
	nobody := &NoHubError{"x"}
	err := Bridge(t.Context(), stdin, io.Discard, BridgeOptions{Reach: reachOnly(nil, nobody)})
	if !errors.As(err, &unreached) || !errors.Is(err, error(nobody)) {
		t.Errorf("%v", err)
	}
	if b := make([]byte, 9); readSome(t, stdin, b) != "x\n" {
		t.Errorf("%q is left", b)
	}
	s := newBridged(t, nil)
	s.hub(`{"postern":1,"error":{"word":"retiring","message":"m"}}`) // is looked for again
	s.hub(`{"postern":1,"error":{"word":"usage","message":"no such policy","exit":2}}`)
	var refused *RemoteError
	if err := s.over(); !errors.As(err, &refused) || refused.Exit != 2 || errors.As(err, &unreached) {
		t.Errorf("%v", err)
	}
	s = newBridged(t, nil)
	s.hub("").die() // went away before it answered
	s.hub(`something else`)
	s.cancel()
	if err := s.over(); err != nil && !errors.As(err, &unreached) {
		t.Errorf("%v", err)
	}
}

// A hub that could not say goodbye left a mark, and there is no other.
func TestStoppedUnheard(t *testing.T) {
	s := newBridged(t, nil)
	d := s.hub(greeting)
	s.initialized(d)
	id := s.Request("tools/call", `{"name":"x"}`)
	d.line()
	s.mu.Lock()
	s.fail = ErrStopped
	s.mu.Unlock()
	d.die()
	s.hasLost(id, "may have happened")
	s.hasLost(s.Request("tools/call", `{"name":"y"}`), "not sent", "restart this agent")
	s.Hangup()
	if err := s.over(); err != nil || s.reached() != 2 {
		t.Errorf("%v after %d", err, s.reached())
	}
}

// A hub that a person stops may have to leave a line in the middle: that is no line,
// and the hub stays stopped.
func TestStoppedWithinALine(t *testing.T) {
	s := newBridged(t, nil)
	d := s.hub(greeting)
	s.initialized(d)
	id := s.Request("tools/call", `{"name":"x"}`)
	d.line()
	_, _ = io.WriteString(d.conn, `{"jsonrpc":"2.0","id":`+id+`,"result":{"content":[{"text":"half of `+stoppedLine+"\n")
	d.die()
	if m := s.Expect(id); !strings.Contains(string(m.Raw), `"hub_lost"`) {
		t.Errorf("%s", m.Raw)
	}
	s.Expect(s.Request("ping", ""))
	if n := s.reached(); n != 1 {
		t.Errorf("%d hubs were looked for", n)
	}
	s.Hangup()
	if err := s.over(); err != nil {
		t.Error(err)
	}
}

// A hub that takes connections and says nothing is not waited for any longer than two
// hellos take, and what is said of it is no word of this program's insides.
func TestBridgeOfSilentHub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := func(context.Context) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, theirs) }() // ends with the connection
			return ours, nil
		}
		b := &bridge{o: BridgeOptions{Hello: Hello{Kind: KindBridge}, Reach: silent}}
		begin := time.Now()
		if _, err := b.reach(t.Context()); err == nil || err.Error() != "the hub does not answer" || time.Since(begin) > 2*config.HubReach {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
}

// R90: what a hub says of the configuration is said once, by whichever hub.
func TestBridgeSaysNotes(t *testing.T) {
	s := newBridged(t, nil)
	d := s.hub(`{"postern":1,"session":"a","notes":["one","two"]}`)
	s.initialized(d)
	d.die()
	d = s.hub(`{"postern":1,"session":"b","notes":["two","three"]}`)
	d.answer(d.want("initialize"), `{}`)
	d.want("initialized")
	s.Hangup()
	_ = s.over()
	if said := fmt.Sprint(s.said); said != "[one two the hub was lost three]" {
		t.Error(said)
	}
}

// R74, legacy: every open call is answered once, as what may have happened, with
// its row; open questions are withdrawn; the next hub gets what was set up, and is
// asked again what only asks; nothing of that is shown; nothing is sent twice, and
// no answer goes to a hub that did not ask (MB-090, MB-098).
func TestHubLostLegacy(t *testing.T) {
	s := newBridged(t, nil)
	d := s.hub(greeting)
	s.initialized(d)
	for method, params := range map[string]string{
		"logging/setLevel": `{"level":"error"}`, "resources/subscribe": `{"uri":"a:1"}`,
	} {
		id := s.Request(method, params)
		d.answer(d.want(method), `{}`)
		s.Expect(id)
	}
	for _, method := range []string{"resources/subscribe", "resources/unsubscribe"} {
		id := s.Request(method, `{"uri":"b:2"}`)
		d.answer(d.want(method), `{}`)
		s.Expect(id)
	}
	refused := s.Request("logging/setLevel", `{"level":"loud"}`)
	d.want(`"loud"`)
	d.say(`{"jsonrpc":"2.0","id":` + refused + `,"error":{"code":-32602,"message":"x"}}`)
	s.Expect(refused)
	done := s.Request("tools/call", `{"name":"done"}`)
	d.answer(d.want(`"done"`), `{}`)
	s.Expect(done)
	given := s.Request("tools/call", `{"name":"given up"}`)
	s.Cancel(given, "")
	tool := s.Request("tools/call", `{"name":"wiki__read","arguments":{}}`)
	read := s.Request("resources/read", `{"uri":"a:1"}`)
	list := s.Request("tools/list", "")
	for range 5 {
		d.line()
	}
	d.say(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create"}`, `{"jsonrpc":"2.0","id":2,"method":"elicitation/create"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	question, withdrawn := s.ExpectRequest("elicitation/create"), s.ExpectRequest("elicitation/create")
	s.ExpectNotification(cancelledMethod)
	s.Answer(withdrawn, `{}`)                                    // too late
	_, _ = io.WriteString(d.conn, `{"jsonrpc":"2.0","id":`+tool) // it dies in the middle of a line
	d.die()
	s.hasLost(tool, `"isError":true`, `"postern/error"`, "may have happened")
	s.hasLost(read, `"error":{"code":-32603`)
	if m := s.ExpectNotification(cancelledMethod); !strings.Contains(string(m.ParamsBytes()), `"requestId":1,`) {
		t.Errorf("%s", m.Raw)
	}
	early := s.Request("tools/call", `{"name":"early"}`)
	d = s.hub(greeting)
	s.Answer(question, `{"late":true}`) // of the hub that is gone
	s.shaken(d)
	level, sub := d.want(`"error"`, "setLevel"), d.want("resources/subscribe", `"a:1"`)
	d.want(`"tools/list"`, `"id":`+list)
	d.silent()
	d.answer(level, `{}`)
	d.answer(sub, `{}`)
	d.answer(d.want(`"early"`), `{}`)
	s.Expect(early)
	d.say(`{"jsonrpc":"2.0","id":`+list+`,"result":{}}`, `{"jsonrpc":"2.0","id":1,"method":"elicitation/create"}`)
	s.Expect(list)
	second := s.ExpectRequest("elicitation/create")
	if string(second.IDBytes()) == string(question.IDBytes()) {
		t.Errorf("the questions of two hubs are both %s", second.IDBytes())
	}
	s.Answer(question, `{"late":true}`)
	s.Answer(second, `{"right":true}`)
	d.want(`"id":1,`, `"right"`)
	for _, m := range s.Lines() {
		if strings.Contains(string(m.Raw), "postern-") || strings.Contains(string(m.Raw), `"second"`) {
			t.Errorf("shown: %s", m.Raw)
		}
	}
	// Nobody knows whether that hub wrote the row of what was given up.
	s.wantRows(tool, "wiki__read", "s1", read, "a:1", "s1", given, "given up", "s1")
	s.Hangup()
	d.end()
}

// What the agent gave up long ago, or what is no call, has no row of a lost hub; of
// what it gave up lately the last are kept.
func TestGivenUp(t *testing.T) {
	m, now := newMemory(), time.Unix(1e9, 0)
	give := func(n int, method string) {
		m.sent(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"name":"n%d"}}`, n, method, n), nil, now)
		m.sent(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, n), nil, now)
	}
	give(0, "tools/call")
	now = now.Add(config.BridgeGivenUpFor)
	give(1, "tools/list")
	give(2, "tools/call")
	rows, told := m.lose(now, "s", &Hello{})
	if len(rows) != 1 || rows[0].Tool != "n2" || len(told) != 0 {
		t.Errorf("%+v, %s", rows, told)
	}
	if rows, _ := m.lose(now, "s", &Hello{}); len(rows) != 0 {
		t.Errorf("once more: %+v", rows)
	}
	for n := range config.BridgeGivenUp + 5 {
		give(n, "tools/call")
	}
	if rows, _ := m.lose(now, "s", &Hello{}); len(rows) != config.BridgeGivenUp || rows[0].Tool != "n5" {
		t.Errorf("%d rows, the first of %s", len(rows), rows[0].Tool)
	}
}

// wantRows wants exactly the rows of these calls, each with its id, name and
// session.
func (s *bridged) wantRows(calls ...string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.rows) != len(calls)/3 {
		s.t.Fatalf("%d rows: %+v", len(s.rows), s.rows)
	}
	for i, r := range s.rows {
		if !s.seen[r.ID] || r.Tool != calls[3*i+1] || r.Session != calls[3*i+2] || r.Word != "hub_lost" ||
			r.Outcome != "upstream_error" || r.Args != nil || r.ClientPID != 77 || r.LatencyMS < 0 || r.RequestBytes == 0 {
			s.t.Errorf("row %+v", r)
		}
	}
}

// R74, modern: there is no handshake; an open listen goes on, and is acknowledged
// once; results say that they are whole.
func TestHubLostModern(t *testing.T) {
	s := newBridged(t, nil)
	d := s.hub(greeting)
	acknowledged := func(id string) string {
		return `{"jsonrpc":"2.0","method":"` + acknowledgedMethod + `","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `}}}`
	}
	listen := s.Request(listenMethod, `{"notifications":{}}`)
	d.want(listenMethod)
	d.say(acknowledged(listen))
	s.ExpectNotification(acknowledgedMethod)
	fresh := s.Request(listenMethod, `{"notifications":{}}`)
	d.want(listenMethod)
	tool := s.Request("tools/call", `{"name":"x"}`)
	d.want("tools/call")
	d.die()
	s.hasLost(tool, `"result":{"resultType":"complete",`)
	d = s.hub(greeting)
	d.want(listenMethod, `"id":`+listen)
	d.want(listenMethod, `"id":`+fresh)
	call := s.Request("tools/call", `{"name":"y"}`)
	d.say(acknowledged(fresh))
	s.ExpectNotification(acknowledgedMethod)
	d.say(acknowledged(listen))
	d.answer(d.want(`"y"`), `{}`)
	s.Expect(call)
	n := 0
	for _, m := range s.Lines() {
		if m.Method == acknowledgedMethod {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d acknowledgements of 2 listens", n)
	}
	d.die()
	d = s.hub(greeting)
	d.want(`"id":` + listen)
	d.want(`"id":` + fresh)
	d.say(`{"jsonrpc":"2.0","id":`+listen+`,"result":{}}`, acknowledged(fresh)) // an end is as good
	last := s.Request("ping", "")
	d.answer(d.want("ping"), `{}`)
	s.Expect(last)
	s.Hangup()
}

// What was asked first of a hub that dies is asked again under its own id, the
// handshake too. A batch is answered call by call.
func TestHubLostEarly(t *testing.T) {
	s := newBridged(t, nil)
	d := s.hub(greeting)
	id := s.Request("initialize", `{"protocolVersion":"2025-03-26"}`)
	d.want("initialize")
	d.die()
	d = s.hub(greeting)
	d.want("initialize", `"id":`+id)
	d.say(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`)
	s.Expect(id)
	s.Send(`[{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x"}},{"jsonrpc":"2.0","id":"b","method":"ping"},` +
		`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"y"}},{"jsonrpc":"2.0","method":"z"}]`)
	d.want(`"a"`)
	s.Send(`[{"jsonrpc":"2.0","id":"d","method":"tools/call","params":{"name":"x"}},{"jsonrpc":"2.0","id":"e","method":"ping"}]`)
	d.want(`"d"`)
	d.say(`[{"jsonrpc":"2.0","id":"e","result":{}},{"jsonrpc":"2.0","id":"d","result":{}}]`)
	s.ExpectBatch()
	d.die()
	s.hasLost(`"a"`)
	s.hasLost(`"c"`)
	d = s.hub(greeting)
	d.answer(d.want("initialize", "postern-"), `{}`)
	d.want(`"id":"b"`)
	d.say(`{"jsonrpc":"2.0","id":"b","result":{}}`)
	s.Expect(`"b"`)
	s.Hangup()
}

// A person stopped the hub: nothing is started, everything is answered at once, and
// each call has its row.
func TestHubIsStopped(t *testing.T) {
	s := newBridged(t, nil)
	d := s.hub(greeting)
	s.initialized(d)
	open := s.Request("tools/call", `{"name":"x"}`)
	list := s.Request("tools/list", "")
	d.line()
	d.line()
	d.say(stoppedLine)
	d.die()
	s.hasLost(open, "may have happened")
	s.hasLost(list, "not sent")
	s.hasLost(s.Request("tools/call", `{"name":"y"}`), `"isError":true`, "not sent", "restart this agent")
	s.hasLost(s.Request("prompts/list", ""), `"error":{`)
	s.Ask("ping", "")
	s.Send("noise")
	if n := s.reached(); n != 1 {
		t.Errorf("looked for a hub %d times", n)
	}
	if len(s.rows) != 2 {
		t.Errorf("rows %+v", s.rows)
	}
	s.Hangup()
	if err := s.over(); err != nil {
		t.Error(err)
	}
}

// R74: after three deaths within a minute there is no other hub: the session goes
// on without, with what was set up, and its lines have no stamps.
func TestHubLostThrice(t *testing.T) {
	s := newBridged(t, nil)
	d := s.hub(greeting)
	s.initialized(d)
	for range config.HubDeaths - 1 {
		d.die()
		d = s.hub(greeting)
		s.shaken(d)
	}
	d.die()
	alone := s.wantAlone()
	s.shaken(alone)
	call := s.Request("tools/call", `{"name":"x"}`)
	alone.answer(alone.want(`{"jsonrpc"`, `"x"`), `{}`)
	s.Expect(call)
	if n := s.reached(); n != config.HubDeaths {
		t.Errorf("looked for a hub %d times", n)
	}
	if n := len(s.said); n != config.HubDeaths+1 {
		t.Errorf("said %q", s.said)
	}
	s.Hangup()
	alone.end()
	if err := s.over(); err != nil {
		t.Error(err)
	}
}

func (s *bridged) wantAlone() *dummy {
	s.t.Helper()
	select {
	case d := <-s.alone:
		return d
	case <-time.After(mcptest.Bound):
		s.t.Fatal("not served without a hub")
		return nil
	}
}

// The same where no other hub can be had; what serves the session may end it.
func TestHubLostForGood(t *testing.T) {
	s := newBridged(t, nil)
	d := s.hub(greeting)
	s.mu.Lock()
	s.fail = errors.New("none")
	s.mu.Unlock()
	d.die()
	alone := s.wantAlone()
	call := s.Request("tools/call", `{"name":"x"}`)
	alone.answer(alone.want(`"x"`), `{}`)
	s.Expect(call)
	s.cancel()
	if err := s.over(); err != nil {
		t.Error(err)
	}
}

// Lines that come while there is no hub wait, in order and without bound in time,
// and none is lost; what a session that ends still waits for is let go.
func TestLinesWait(t *testing.T) {
	s := newBridged(t, nil)
	d := s.hub(greeting)
	d.die()
	const n = 200 // more than what may wait, so that the agent does
	var sent atomic.Int64
	go func() { // ends with its last line
		for i := range n {
			sent.Store(int64(i))
			s.Send(`{"jsonrpc":"2.0","id":` + strconv.Itoa(i) + `,"method":"x","params":"` + strings.Repeat("x", config.BridgeWaiting/n*2) + `"}`)
		}
	}()
	d = s.hub("")
	if !mcptest.Eventually(func() bool { return sent.Load() >= n/2 }) {
		t.Errorf("%d lines were taken", sent.Load())
	}
	for range 20 {
		if time.Sleep(5 * time.Millisecond); sent.Load() == n-1 { // the subject: nothing may happen
			t.Fatal("all lines were taken while there was no hub")
		}
	}
	d.say(greeting)
	for i := range n {
		d.want(`"id":` + strconv.Itoa(i) + `,`)
	}
	d.die()
	d = s.hub("") // never answers the hello
	s.Request("tools/call", `{"name":"late"}`)
	s.Hangup()
	if err := s.over(); err != nil {
		t.Error(err)
	}
	d.end()
}

// broken is a connection that takes so many bytes and then no more.
type broken struct {
	conn
	takes int
}

func (c *broken) Write(p []byte) (int, error)    { return min(c.takes, len(p)), syscall.EPIPE }
func (*broken) SetWriteDeadline(time.Time) error { return nil }
func (*broken) Close() error                     { return nil }

// A call of which the lost hub cannot have read the whole was not made: it waits
// for the next one. Of which it can have, it may have happened (R43, R74).
func TestUnreadLine(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x"}}`
	whole := stampBytes + len(call)
	for takes, unread := range map[int]bool{0: true, stampBytes: true, whole - 1: true, whole: false} {
		b := &bridge{memory: newMemory(), gone: func() bool { return false }}
		b.link = &link{conn: &broken{takes: takes}}
		framed := []byte(strings.Repeat(" ", stampBytes) + call + "\n")
		if err := b.pass(b.link, framed); err != nil || b.link != nil {
			t.Errorf("%v, %v", err, b.link)
		}
		if kept, open := len(b.waiting) == 1, len(b.memory.open) == 1; kept != unread || open == unread {
			t.Errorf("%d of %d bytes taken: waits %v, open %v", takes, whole+1, kept, open)
		}
		if unread && string(b.waiting[0][stampBytes:]) != call+"\n" {
			t.Errorf("%q waits", b.waiting[0])
		}
	}
}
