package upstream

import (
	"context"
	"errors"
	"strings"
	"testing"

	"postern/pkg/mcptest"
	"postern/pkg/wire"
)

// talker starts a fake server that has everything, and gives what it asks and
// notifies.
func talker(t *testing.T, o Options) (*Client, <-chan *Question, <-chan wire.Message) {
	t.Helper()
	questions, notes := make(chan *Question, 64), make(chan wire.Message, 64)
	o.Ask = func(q *Question) { questions <- q }
	o.Notify = func(m wire.Message) { notes <- m }
	return mustStart(t, o), questions, notes
}

// begun starts a call of a tool and gives where its answer comes.
func begun(ctx context.Context, c *Client, tool, args string, with Call) <-chan result {
	with.Method, with.Timeout = "tools/call", patience
	with.Params = []byte(`{"name":"` + tool + `","arguments":` + args + `}`)
	out := make(chan result, 1)
	go func() { // ends with the call
		r, err := c.Do(ctx, with)
		out <- result{r, err}
	}()
	return out
}

// R72, MB-097, MB-137: a server that asks in the middle of a call gets the answer
// byte for byte, and then answers the call; no question is a hang.
func TestTalkQuestions(t *testing.T) {
	o, _ := server(t, "-more")
	o.Capabilities = []byte(`{"elicitation":{},"roots":{},"sampling":{}}`)
	c, questions, _ := talker(t, o)
	for _, tc := range []struct{ method, params, answer, want string }{
		{"roots/list", `{}`, `"result":{"roots":[{"uri":"file:///a","n":9007199254740993}]}`, `"result":{"roots":[{"uri":"file:///a","n":9007199254740993}]}`},
		{"elicitation/create", `{"message":"?","requestedSchema":{"x":1e400}}`, `"result":{"action":"accept","content":{"a":1.0,"b":-0}}`, `"content":{"a":1.0,"b":-0}`},
		{"sampling/createMessage", `{"messages":[],"x":12345678901234567890}`, `"error":{"code":-1,"message":"no","data":1e400}`, `"data":1e400`},
		{"vendor/ask", `{}`, "", `"code":-32601`},
	} {
		got := begun(t.Context(), c, "ask", `{"method":"`+tc.method+`","params":`+tc.params+`}`, Call{})
		q := await(t, questions)
		if q.Message.Method != tc.method || string(q.Message.ParamsBytes()) != tc.params {
			t.Errorf("asked %s", q.Message.Raw)
		}
		if tc.answer == "" {
			q.Decline()
		} else {
			q.Answer(response(t, `{"jsonrpc":"2.0","id":99,`+tc.answer+`}`))
		}
		r := await(t, got)
		if r.err != nil || !strings.Contains(string(r.reply.Message.Raw), tc.want) {
			t.Errorf("%s: got %s, %v", tc.method, r.reply.Message.Raw, r.err)
		}
	}
	if n := c.Info().Declined; n != 1 {
		t.Errorf("%d declined", n)
	}
}

// R45: a server that takes its question back ends it with the reason.
func TestTalkUnasked(t *testing.T) {
	o, _ := server(t, "-more")
	c, questions, _ := talker(t, o)
	got := begun(t.Context(), c, "ask", `{"method":"elicitation/create","params":{}}`, Call{})
	q := await(t, questions)
	call(t, c, "unask", `{"reason":"too late"}`)
	await(t, q.Context().Done())
	var why *Cancelled
	if !errors.As(context.Cause(q.Context()), &why) || why.Reason != "too late" {
		t.Errorf("cause %v", context.Cause(q.Context()))
	}
	if r := await(t, got); r.err != nil {
		t.Error(r.err)
	}
}

// A question of a server that is killed ends with it (MB-021).
func TestTalkQuestionLost(t *testing.T) {
	o, _ := server(t, "-more")
	c, questions, _ := talker(t, o)
	got := begun(t.Context(), c, "ask", `{"method":"roots/list","params":{}}`, Call{})
	q := await(t, questions)
	begun(t.Context(), c, "exit", `{"status":3}`, Call{})
	await(t, q.Context().Done())
	var f *Failure
	if !errors.As(context.Cause(q.Context()), &f) || f.Word != Closed {
		t.Errorf("cause %v", context.Cause(q.Context()))
	}
	failure(t, await(t, got).err, Closed)
	if td := c.Close(); !td.Complete {
		t.Errorf("%+v", td)
	}
}

// Listening to a modern server: its notifications carry the id that Sent told;
// cancelling the context tells it, and its own end is an answer.
func TestTalkListen(t *testing.T) {
	o, events := server(t, "-more", "-era", "modern")
	o.Prefer = EraModern
	c, _, notes := talker(t, o)
	ids := make(chan string, 2)
	listen := func(ctx context.Context, filter string) <-chan result {
		out := make(chan result, 1)
		go func() { // ends with the listening
			r, err := c.Do(ctx, Call{
				Method: "subscriptions/listen", Params: []byte(`{"notifications":` + filter + `}`),
				Sent: func(id []byte) { ids <- string(id) },
			})
			out <- result{r, err}
		}()
		return out
	}
	of := func(m wire.Message) string {
		return member(t, []byte(member(t, m.ParamsBytes(), "_meta")), "io.modelcontextprotocol/subscriptionId")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	first := listen(ctx, `{"toolsListChanged":true}`)
	id1 := await(t, ids)
	if m := await(t, notes); m.Method != "notifications/subscriptions/acknowledged" || of(m) != id1 {
		t.Errorf("got %s, want id %s", m.Raw, id1)
	}
	second := listen(t.Context(), `{"resourceSubscriptions":["fake://x"]}`)
	id2 := await(t, ids)
	await(t, notes)
	call(t, c, "change", `{"tools":[]}`)
	if m := await(t, notes); m.Method != "notifications/tools/list_changed" || of(m) != id1 {
		t.Errorf("got %s, want id %s", m.Raw, id1)
	}
	call(t, c, "update", `{"uri":"fake://x"}`)
	if m := await(t, notes); m.Method != "notifications/resources/updated" || of(m) != id2 {
		t.Errorf("got %s, want id %s", m.Raw, id2)
	}
	cancel(&Cancelled{Reason: "enough"})
	failure(t, await(t, first).err, Aborted)
	if e := mcptest.WaitEvents(t, events, "cancelled", 1); e[0].Data != `{"requestId":`+id1+`,"reason":"enough"}` {
		t.Errorf("cancelled by %s", e[0].Data)
	}
	call(t, c, "unlisten", `{}`)
	if r := await(t, second); r.err != nil || !strings.Contains(string(r.reply.Message.ResultBytes()), `"complete"`) {
		t.Errorf("got %s, %v", r.reply.Message.Raw, r.err)
	}
}

// What one request says of its client to a modern server, beside what all say.
func TestTalkModernRequest(t *testing.T) {
	o, events := server(t, "-more", "-era", "modern")
	o.Capabilities = []byte(`{"elicitation":{}}`)
	c, _, notes := talker(t, o)
	if i := c.Info(); i.Era != EraModern {
		t.Fatalf("got %+v", i)
	}
	for _, tc := range []struct {
		with Call
		want string
		log  bool
	}{
		{Call{}, `"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`, false},
		{Call{Capabilities: []byte(`{"roots":{}}`), LogLevel: "debug"}, `"io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/logLevel":"debug"}`, true},
	} {
		if r := await(t, begun(t.Context(), c, "log", `{"level":"info","data":1e400}`, tc.with)); r.err != nil {
			t.Fatal(r.err)
		}
		all := mcptest.Events(t, events, "recv")
		if last := all[len(all)-1].Data; !strings.Contains(last, tc.want) {
			t.Errorf("%s lacks %s", last, tc.want)
		}
		if logged := len(notes) == 1; logged != tc.log { // in front of the answer
			t.Errorf("%d log messages", len(notes))
		}
	}
}

// Rounds of a modern server are results like others here: the state goes and
// comes byte for byte.
func TestTalkRounds(t *testing.T) {
	o, _ := server(t, "-more", "-era", "modern")
	c, _, _ := talker(t, o)
	r := await(t, begun(t.Context(), c, "rounds", `{"n":1}`, Call{}))
	if r.err != nil {
		t.Fatal(r.err)
	}
	state := member(t, r.reply.Message.ResultBytes(), "requestState")
	params := `{"name":"rounds","arguments":{"n":1},"inputResponses":{"q":{"action":"accept","content":{"a":1e400}}},"requestState":` + state + `}`
	again, err := c.Do(t.Context(), Call{Method: "tools/call", Params: []byte(params), Timeout: patience})
	if err != nil || !strings.Contains(string(again.Message.Raw), `"requestState":`+state) || !strings.Contains(string(again.Message.Raw), "1e400") {
		t.Errorf("got %s, %v", again.Message.Raw, err)
	}
}

// R73: a legacy server sees nothing of the modern era in a modern agent's call.
func TestTalkModernAgent(t *testing.T) {
	o, events := server(t, "-more")
	c, _, _ := talker(t, o)
	params := `{"name":"echo","requestState":"s","arguments":{"a":-0},"_meta":{"` + metaVersion + `":"2026-07-28","x":1.0,"` + metaCapabilities + `":{}}}`
	r, err := c.Do(t.Context(), Call{Method: "tools/call", Params: []byte(params), Modern: true, Timeout: patience})
	if err != nil || r.Message.ErrorBytes() != nil {
		t.Fatalf("%s, %v", r.Message.Raw, err)
	}
	all := mcptest.Events(t, events, "recv")
	if last := all[len(all)-1].Data; !strings.HasSuffix(last, `"params":{"name":"echo","arguments":{"a":-0},"_meta":{"x":1.0}}}`) {
		t.Errorf("sent %s", last)
	}
}

// A notification of ours reaches the server as it is.
func TestTalkNotify(t *testing.T) {
	o, events := server(t, "-more")
	c, _, _ := talker(t, o)
	if err := c.Notify("notifications/roots/list_changed", []byte(`{ "x":1e400 }`)); err != nil {
		t.Fatal(err)
	}
	call(t, c, "echo", "{}")
	got := ""
	for _, e := range mcptest.Events(t, events, "recv") {
		got += e.Data + "\n"
	}
	if want := `"method":"notifications/roots/list_changed","params":{ "x":1e400 }}`; !strings.Contains(got, want) {
		t.Errorf("%s lacks %s", got, want)
	}
}

// R13: whichever server it is, one that is asked the modern question first ends up
// connected: a child that ends on it is started again, one that ignores it is
// asked the other.
func TestTalkPrefer(t *testing.T) {
	for _, tc := range []struct {
		name   string
		era    string // remembered
		args   []string
		want   string
		starts int
	}{
		{"legacy", "", nil, EraLegacy, 1},
		{"dual", EraLegacy, []string{"-era", "dual"}, EraModern, 1},
		{"modern", "", []string{"-era", "modern"}, EraModern, 1},
		{"ends on it", "", []string{"-era", "dual", "-fault", "exit-on-discover=1"}, EraLegacy, 2},
		{"ignores it", "", []string{"-era", "dual", "-fault", "no-discover"}, EraLegacy, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel() // one of them waits for the probe's deadline
			o, events := server(t, tc.args...)
			o.Prefer, o.Era = EraModern, tc.era
			c := mustStart(t, o)
			if i := c.Info(); i.Era != tc.want {
				t.Errorf("got %+v", i)
			}
			call(t, c, "echo", "{}")
			if n := len(mcptest.Events(t, events, "start")); n != tc.starts {
				t.Errorf("%d starts, want %d", n, tc.starts)
			}
		})
	}
}
