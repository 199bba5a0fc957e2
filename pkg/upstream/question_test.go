package upstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"postern/pkg/config"
	"postern/pkg/wire"
)

// asking is a peer whose questions come out of a channel.
func asking(t testing.TB, o Options) (*peer, <-chan *Question) {
	t.Helper()
	questions := make(chan *Question, 2*config.ServerQuestions)
	o.Ask = func(q *Question) { questions <- q }
	return newPeer(t, o), questions
}

func response(t testing.TB, line string) wire.Message {
	t.Helper()
	m, err := wire.Parse([]byte(line))
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return m
}

// ask lets the server ask something and gives the question.
func (p *peer) ask(questions <-chan *Question, id, method string) *Question {
	p.t.Helper()
	p.send(`{"jsonrpc":"2.0","id":%s,"method":"%s","params":{}}`, id, method)
	return await(p.t, questions)
}

// R2, R4, R72, MB-097, MB-137: an answer keeps every byte but its id, which
// becomes the server's own, whatever the answer's was.
func TestQuestionAnswer(t *testing.T) {
	p, questions := asking(t, Options{})
	for _, tc := range []struct{ id, answer, want string }{
		{`"s1"`, `{"jsonrpc":"2.0","id":7,"result":{"roots":[]}}`, `{"jsonrpc":"2.0","id":"s1","result":{"roots":[]}}`},
		{`9007199254740993`, `{ "result" : {"n":1e400,"m":-0,"x":null}, "id" : "postern-9", "vendor":{}, "jsonrpc":"2.0" }`,
			`{ "result" : {"n":1e400,"m":-0,"x":null}, "id" : 9007199254740993, "vendor":{}, "jsonrpc":"2.0" }`},
		{`""`, `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no","data":12345678901234567890}}`,
			`{"jsonrpc":"2.0","id":"","error":{"code":-1,"message":"no","data":12345678901234567890}}`},
		{`0`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"?"}}`, `{"jsonrpc":"2.0","id":0,"error":{"code":-32600,"message":"?"}}`},
		{`"a\u0062"`, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"?"}}`, `{"id":"a\u0062","jsonrpc":"2.0","error":{"code":-32600,"message":"?"}}`},
	} {
		q := p.ask(questions, tc.id, "roots/list")
		if want := `{"jsonrpc":"2.0","id":` + tc.id + `,"method":"roots/list","params":{}}`; string(q.Message.Raw) != want {
			t.Errorf("asked %s, want %s", q.Message.Raw, want)
		}
		q.Answer(response(t, tc.answer))
		if got := p.line(); got != tc.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tc.answer, got, tc.want)
		}
		q.Answer(response(t, tc.answer))
		q.Decline()
		p.quiet()
		if cause := context.Cause(q.Context()); cause != context.Canceled {
			t.Errorf("the context ended by %v", cause)
		}
	}
	if n := p.c.Info().Declined; n != 0 {
		t.Errorf("%d declined", n)
	}
}

// R72: declining is an answer of our own, counted, and what is no response is as
// good as none.
func TestQuestionDecline(t *testing.T) {
	p, questions := asking(t, Options{})
	for _, tc := range []struct {
		method string
		end    func(*Question)
		want   string
	}{
		{"elicitation/create", (*Question).Decline, `"result":{"action":"cancel"}`},
		{"sampling/createMessage", (*Question).Decline, `"code":-32601`},
		{"vendor/ask", (*Question).Decline, `"code":-32601`},
		{"roots/list", func(q *Question) { q.Answer(q.Message) }, `"code":-32601`},
		{"roots/list", func(q *Question) { q.Answer(wire.Message{}) }, `"code":-32601`},
	} {
		q := p.ask(questions, `"q"`, tc.method)
		tc.end(q)
		if got := p.line(); !strings.Contains(got, tc.want) || !strings.Contains(got, `"id":"q"`) {
			t.Errorf("%s: got %s", tc.method, got)
		}
		q.Answer(response(t, `{"jsonrpc":"2.0","id":1,"result":{}}`))
		p.quiet()
	}
	if n := p.c.Info().Declined; n != 5 {
		t.Errorf("%d declined, want 5", n)
	}
}

// R45: what the server cancels ends with its reason, is told to whoever waits,
// and is answered no more; its id, however it is written, says which one it is.
func TestQuestionCancelled(t *testing.T) {
	p, questions := asking(t, Options{})
	for _, tc := range []struct{ id, cancel, reason string }{
		{`"s1"`, `"requestId":"s\u0031","reason":"too \"late\""`, `too "late"`},
		{`12`, `"requestId":12.0`, ""},
		{`13`, `"requestId":13,"reason":5`, ""},
	} {
		q := p.ask(questions, tc.id, "elicitation/create")
		early := q.Context()
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"other"}}`)
		p.quiet()
		if early.Err() != nil {
			t.Fatal("another one's cancellation ended it")
		}
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{%s}}`, tc.cancel)
		await(t, early.Done())
		var c *Cancelled
		if !errors.As(context.Cause(q.Context()), &c) || c.Reason != tc.reason {
			t.Errorf("%s: cause %v", tc.cancel, context.Cause(q.Context()))
		}
		q.Progress([]byte(`{"progressToken":1,"progress":1}`))
		q.Answer(response(t, `{"jsonrpc":"2.0","id":1,"result":{}}`))
		q.Decline()
		p.quiet()
	}
	q := p.ask(questions, `14`, "elicitation/create")
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":14}}`)
	p.quiet()
	if late := q.Context(); late.Err() == nil {
		t.Error("a context asked for afterwards has not ended")
	}
	if i := p.c.Info(); i.Dropped != 3 || i.Declined != 0 {
		t.Errorf("%d dropped, %d declined", i.Dropped, i.Declined)
	}
}

// A flood of notifications does not hide the one that ends a question.
func TestQuestionCancelledInAFlood(t *testing.T) {
	p, questions := asking(t, Options{})
	q := p.ask(questions, `1`, "elicitation/create")
	line := `{"jsonrpc":"2.0","method":"notifications/message","params":{}}` + "\n"
	if _, err := p.out.WriteString(strings.Repeat(line, 2*config.NotificationsPerSecond)); err != nil {
		t.Fatal(err)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	await(t, q.Context().Done())
}

// The end of the connection ends its questions, open or asked for late.
func TestQuestionLost(t *testing.T) {
	p, questions := asking(t, Options{})
	q, silent := p.ask(questions, `1`, "roots/list"), p.ask(questions, `2`, "roots/list")
	ctx := q.Context()
	p.group.end("exit status 7")
	p.out.Close()
	await(t, ctx.Done())
	await(t, silent.Context().Done())
	for _, q := range []*Question{q, silent} {
		var f *Failure
		if !errors.As(context.Cause(q.Context()), &f) || f.Word != Closed || f.Exit != "exit status 7" {
			t.Errorf("cause %v", context.Cause(q.Context()))
		}
		q.Answer(response(t, `{"jsonrpc":"2.0","id":1,"result":{}}`))
		q.Decline()
	}
	if n := p.c.Info().Declined; n != 0 {
		t.Errorf("%d declined", n)
	}
}

// Progress of whoever works on the answer goes to the server as it is, in front
// of the answer and never behind it (R45).
func TestQuestionProgress(t *testing.T) {
	p, questions := asking(t, Options{})
	q := p.ask(questions, `1`, "sampling/createMessage")
	q.Progress([]byte(`{"progressToken":"theirs","progress":1.0,"x":1e400}`))
	q.Answer(response(t, `{"jsonrpc":"2.0","id":5,"result":{}}`))
	q.Progress([]byte(`{"progressToken":"theirs","progress":2}`))
	if got, want := p.line(), `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"theirs","progress":1.0,"x":1e400}}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := p.line(); got != `{"jsonrpc":"2.0","id":1,"result":{}}` {
		t.Errorf("got %s", got)
	}
	p.quiet()
}

// Questions and notifications come in the order in which they were sent.
func TestQuestionOrder(t *testing.T) {
	var got []string
	p := newPeer(t, Options{
		Notify: func(m wire.Message) { got = append(got, m.Method) },
		Ask:    func(q *Question) { got = append(got, q.Message.Method); q.Decline() },
	})
	var want []string
	for i := range 20 {
		p.send(`{"jsonrpc":"2.0","id":%d,"method":"q%d"}`, i, i)
		p.send(`{"jsonrpc":"2.0","method":"n%d"}`, i)
		want = append(want, fmt.Sprint("q", i), fmt.Sprint("n", i))
	}
	for range 20 {
		p.line()
	}
	p.quiet() // orders the reads of got behind the writes
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got %s", got)
	}
}

// A server cannot pile up questions, nor ask two under one id: what is too much
// is declined, and what was asked before stays open.
func TestQuestionBounds(t *testing.T) {
	p, questions := asking(t, Options{})
	first := p.ask(questions, `"0"`, "roots/list")
	p.send(`{"jsonrpc":"2.0","id":"\u0030","method":"roots/list"}`)
	if got := p.line(); !strings.Contains(got, `"code":-32601`) {
		t.Errorf("got %s", got)
	}
	for i := 1; i < config.ServerQuestions; i++ {
		p.ask(questions, fmt.Sprint(i), "roots/list")
	}
	p.send(`{"jsonrpc":"2.0","id":"more","method":"elicitation/create"}`)
	if got := p.line(); !strings.Contains(got, `"action":"cancel"`) {
		t.Errorf("got %s", got)
	}
	first.Answer(response(t, `{"jsonrpc":"2.0","id":1,"result":{"first":1}}`))
	if got := p.line(); !strings.Contains(got, `{"first":1}`) {
		t.Errorf("got %s", got)
	}
	p.ask(questions, `"0"`, "roots/list").Decline()
	p.line()
	if n := p.c.Info().Declined; n != 3 {
		t.Errorf("%d declined, want 3", n)
	}
}

// R6: an answer that is too long is refused alone, and the server hears of it.
func TestQuestionAnswerTooLong(t *testing.T) {
	p, questions := asking(t, Options{MaxMessage: 4096, MaxQueue: 1 << 20})
	q := p.ask(questions, `"q"`, "roots/list")
	q.Answer(response(t, `{"jsonrpc":"2.0","id":1,"result":{"x":"`+strings.Repeat("a", 4096)+`"}}`))
	m := response(t, p.line())
	rpc, err := wire.ParseRPCError(m.ErrorBytes())
	if err != nil || rpc.Code != wire.CodeInternal || string(m.IDBytes()) != `"q"` {
		t.Errorf("got %s, %v", m.Raw, err)
	}
	p.answer()
}

// Whoever is first answers, and nobody answers twice.
func TestQuestionRace(t *testing.T) {
	p, questions := asking(t, Options{})
	for i := range 200 {
		q := p.ask(questions, fmt.Sprint(i), "roots/list")
		var all sync.WaitGroup
		all.Go(func() { q.Answer(response(t, `{"jsonrpc":"2.0","id":1,"result":{}}`)) })
		all.Go(q.Decline)
		all.Go(func() { <-q.Context().Done() })
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i)
		all.Wait()
		p.send(`{"jsonrpc":"2.0","id":"end","method":"ping"}`)
		answers := 0
		for line := p.line(); !strings.Contains(line, `"end"`); line = p.line() {
			answers++
		}
		if answers > 1 {
			t.Fatalf("%d answers", answers)
		}
	}
	if len(p.c.questions) != 0 {
		t.Errorf("%d questions left", len(p.c.questions))
	}
}

// A modern server asks nothing. It may end a request of ours, though, which a
// legacy one may not; its reason is fit for a message.
func TestModernServerRequests(t *testing.T) {
	p, questions := asking(t, Options{})
	p.c.learn(Info{Era: EraModern})
	for _, method := range []string{"elicitation/create", "roots/list", "vendor/ask"} {
		p.send(`{"jsonrpc":"2.0","id":"q","method":"%s"}`, method)
		if got := p.line(); !strings.Contains(got, `"code":-32601`) {
			t.Errorf("%s: got %s", method, got)
		}
	}
	if n := p.c.Info().Declined; n != 3 || len(questions) != 0 {
		t.Errorf("%d declined, %d asked", n, len(questions))
	}
	for _, era := range []string{EraLegacy, EraModern} {
		p.c.learn(Info{Era: era})
		got := p.do(t.Context(), Call{Method: "subscriptions/listen"})
		id, _ := p.request()
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":"\u001b[31mshutting down"}}`, id)
		if era == EraLegacy {
			p.send(`{"jsonrpc":"2.0","id":%s,"result":{}}`, id)
			if r := await(t, got); r.err != nil {
				t.Error(r.err)
			}
			continue
		}
		f := failure(t, await(t, got).err, Aborted)
		if f.Detail != "the server ended the request: shutting down" || f.Phase != "subscriptions/listen" || !f.Sent {
			t.Errorf("got %+v", f)
		}
	}
}

// A notification is sent as it is; after the end it is an error.
func TestNotify(t *testing.T) {
	p := newPeer(t, Options{})
	for _, tc := range []struct{ method, params, want string }{
		{"notifications/roots/list_changed", "", `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`},
		{"vendor/note", `{ "n":1e400 }`, `{"jsonrpc":"2.0","method":"vendor/note","params":{ "n":1e400 }}`},
	} {
		var params []byte
		if tc.params != "" {
			params = []byte(tc.params)
		}
		if err := p.c.Notify(tc.method, params); err != nil {
			t.Error(err)
		}
		if got := p.line(); got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
	if f := failure(t, p.c.Notify("vendor/note", []byte(`"`+strings.Repeat("a", 1<<20)+`"`)), Overload); f.Phase != "vendor/note" {
		t.Errorf("got %+v", f)
	}
	p.group.end("exit status 0")
	p.c.Close()
	failure(t, p.c.Notify("vendor/note", nil), Aborted)
}

// Sent tells the id before anything about it can come, and only of requests that
// are written.
func TestSent(t *testing.T) {
	ids := make(chan string, 1)
	p := newPeer(t, Options{})
	got := p.do(t.Context(), Call{Method: "subscriptions/listen", Sent: func(id []byte) { ids <- string(id) }})
	id, _ := p.request()
	select {
	case told := <-ids:
		if told != id {
			t.Errorf("told %s, sent %s", told, id)
		}
	default:
		t.Error("the request was there before its id was told")
	}
	p.send(`{"jsonrpc":"2.0","id":%s,"result":{}}`, id)
	await(t, got)
	p.answer() // in its place, and told nobody
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.c.Do(ctx, Call{Method: "m", Sent: func([]byte) { t.Error("told of a call that never began") }}); err == nil {
		t.Error("no error")
	}
}

// R26: whoever is asked may panic, and that costs this connection only.
func TestPanicOfTheAsked(t *testing.T) {
	for _, tc := range []struct {
		name string
		o    Options
		call Call
	}{
		{"ask", Options{Ask: func(*Question) { panic("boom") }}, Call{Method: "m"}},
		{"sent", Options{}, Call{Method: "m", Sent: func([]byte) { panic("boom") }}},
	} {
		reports := make(chan any, 9)
		tc.o.Panicked = func(_ string, value any, _ []byte) { reports <- value }
		p := newPeer(t, tc.o)
		got := p.do(context.Background(), tc.call)
		if tc.o.Ask != nil {
			p.send(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`)
		}
		if value := await(t, reports); value != "boom" {
			t.Errorf("%s: reported %v", tc.name, value)
		}
		if r := await(t, got); r.err == nil {
			t.Errorf("%s: the call was answered", tc.name)
		}
	}
}

// A question costs nothing but its answer to one who does not wait.
func BenchmarkQuestion(b *testing.B) {
	answer := response(b, `{"jsonrpc":"2.0","id":5,"result":{"action":"accept","content":{"a":1}}}`)
	p := newPeer(b, Options{Ask: func(q *Question) { q.Answer(answer) }})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.out.WriteString(`{"jsonrpc":"2.0","id":"s1","method":"elicitation/create","params":{"message":"?"}}` + "\n"); err != nil {
			b.Fatal(err)
		}
		if _, err := p.in.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
}
