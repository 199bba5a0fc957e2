package call

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"postern/pkg/config"
	"postern/pkg/mcptest"
	"postern/pkg/upstream"
)

// modernServer declares one fake server of the modern era.
func modernServer(fields string) string {
	return strings.Replace(more(fields), "args: [", "args: [-era, modern, ", 1)
}

// R73, MB-097: a modern server asks an older agent in as many rounds as it needs;
// each question is the agent's own request, and state and answers go back as the
// bytes that came.
func TestRoundsOfQuestions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, modernServer("shared: false, sampling: true"), nil)
	p := &person{capabilities: everything, answer: func(_ context.Context, method, _ string, _ func([]byte)) string {
		return fmt.Sprintf(`{"said":%q,"n":1.0}`, method)
	}}
	s := w.agent(p, SessionOptions{})
	requests := `[{"b":{"method":"elicitation/create","params":{"message":"Who?","n":1e400}},"\u0061":{"method":"roots/list"}},null,` +
		`{"c":{"method":"sampling/createMessage","params":{"messages":[]}}},{"d":{"method":"elicitation/create","params":{"mode":"url","message":"Go","url":"https://x"}}}]`
	r := tool("fake__rounds", `{"n":4,"requests":`+requests+`}`)
	r.Params = []byte(strings.Replace(string(r.Params), `{"name"`, `{"_meta":{"progressToken":"mine"},"name"`, 1))
	a, _ := w.answered(s, r)
	got := string(a.result())
	if !strings.Contains(got, `"inputResponses":{"d":{"said":"elicitation/create","n":1.0}}`) || strings.Contains(got, "resultType") {
		t.Errorf("got %s", got)
	}
	asked := p.questions()
	if len(asked) != 4 || asked[0] != `elicitation/create {"message":"[server fake] Who?","n":1e400}` || asked[1] != "roots/list " ||
		asked[2] != `sampling/createMessage {"messages":[]}` || !strings.Contains(asked[3], `"elicitationId":"`) || !strings.Contains(asked[3], `"[server fake] Go"`) {
		t.Errorf("asked %q", asked)
	}
	var sent []string
	for _, e := range mcptest.Events(t, w.events, "recv") {
		if strings.Contains(e.Data, `"tools/call"`) {
			sent = append(sent, e.Data)
		}
	}
	if len(sent) != 5 || !strings.Contains(sent[1], `"inputResponses":{"b":{"said":"elicitation/create","n":1.0},"\u0061":{"said":"roots/list","n":1.0}},"requestState":"\u0072ound\/1"`) ||
		strings.Contains(sent[2], "inputResponses") || !strings.Contains(sent[2], `"requestState":"\u0072ound\/2"`) {
		t.Errorf("sent\n%s", strings.Join(sent, "\n"))
	}
}

// R43: what a server asked first it was sent, though it is gone before the answer
// can be.
func TestServerIsGoneBetweenRounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, modernServer("shared: false"), nil)
	var key string
	p := &person{capabilities: everything, answer: func(context.Context, string, string, func([]byte)) string {
		e := mcptest.WaitEvents(t, w.events, "start", 1)[0]
		server, err := os.FindProcess(e.PID)
		if err == nil {
			err = server.Kill()
		}
		if err != nil {
			t.Error(err)
		}
		if !mcptest.Eventually(func() bool { return w.host.pool.Running(key) == nil }) {
			t.Error("the server lives")
		}
		return `{"action":"accept"}`
	}}
	s := w.agent(p, SessionOptions{})
	w.answered(s, tool("fake__echo", "{}"))
	key = s.View().Server("fake").running()
	requests := `[{"a":{"method":"elicitation/create","params":{"message":"Who?"}}}]`
	r, _ := w.refused(s, tool("fake__rounds", `{"n":1,"requests":`+requests+`}`), OutcomeUnknown)
	if !strings.Contains(r.Message, "may have happened") {
		t.Errorf("%+v", r)
	}
}

// R40: a question may be open for long. What was allowed when it was put and is not
// any more is not sent again, and is told apart from what never happened.
func TestPolicyIsAskedBetweenRounds(t *testing.T) {
	t.Parallel()
	const mark = "servers: [\"*\"]"
	config := modernServer("shared: true")
	if !strings.Contains(config, mark) {
		t.Fatalf("no %s in %s", mark, config)
	}
	for _, c := range []struct {
		name, becomes string
		word          Word
		step          string
	}{
		{"denied", strings.Replace(config, mark, mark+", deny: [fake/rounds]", 1), PolicyDenied, StepDecide},
		{"disabled", strings.Replace(config, "shared: true", "shared: true, enabled: false", 1), Disabled, StepDispatch},
		{"removed", "version: 1" + allowAll, UnknownTool, StepResolve},
		{"the same", config, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, config, nil)
			p := &person{capabilities: everything, answer: func(context.Context, string, string, func([]byte)) string {
				w.write("config/mcp.yaml", c.becomes)
				return `{"action":"accept"}`
			}}
			s := w.agent(p, SessionOptions{})
			r := tool("fake__rounds", `{"n":1,"requests":[{"a":{"method":"elicitation/create","params":{"message":"Who?"}}}]}`)
			want := 1
			if c.word == "" {
				want++
				w.answered(s, r)
			} else if refusal, _ := w.refused(s, r, c.word); refusal.Step != c.step || !strings.Contains(refusal.Error(), "may have happened") {
				t.Errorf("%s: %v", refusal.Step, refusal)
			}
			if n := len(w.sent()); n != want {
				t.Errorf("sent %d times", n)
			}
		})
	}
}

// result is what an agent gets of an answer.
func (a Answer) result() []byte {
	if a.Result != nil {
		return a.Result
	}
	return a.Reply.ResultBytes()
}

// R73: prompts and resources may ask as well.
func TestRoundsOfPromptsAndResources(t *testing.T) {
	t.Parallel()
	w := newWorld(t, modernServer("shared: true"), nil)
	p := &person{capabilities: everything, answer: saying(`{"action":"accept"}`)}
	s := w.agent(p, SessionOptions{})
	w.list(false, "fake")
	w.answered(s, Request{Method: methodPrompt, Params: []byte(`{"name":"fake__rounds"}`)})
	a, row := w.answered(s, Request{Method: methodRead, Params: []byte(`{"uri":"fake://rounds"}`)})
	if len(p.questions()) != 2 {
		t.Errorf("asked %q", p.questions())
	}
	if got := string(a.result()); strings.Contains(got, "resultType") || !strings.Contains(got, `"ttlMs":0,"cacheScope":"private"`) {
		t.Errorf("got %s", got)
	}
	if row.Via != ViaResource || row.Tool != "fake://rounds" || row.Tier != "read" {
		t.Errorf("%+v", row)
	}
}

// R73: what cannot be asked, or has no end, is an error that says so.
func TestRoundsThatFail(t *testing.T) {
	t.Parallel()
	w := newWorld(t, modernServer("shared: false"), nil)
	ask := func(method string) string { return `{"q":{"method":"` + method + `","params":{"message":"m"}}}` }
	for _, c := range []struct {
		p             *person
		n             int
		requests, why string
	}{
		{&person{capabilities: everything, answer: saying(`{}`)}, config.Rounds + 1, ask(methodElicit), "for the 11th time, and at most 10"},
		{&person{capabilities: everything, answer: saying(`{}`)}, 1, ask("vendor/x"), `"vendor/x": it is not known here`},
		{&person{capabilities: everything, answer: saying(`{}`)}, 1, ask(methodSample), `"sampling/createMessage": this server may not use`},
		{&person{capabilities: `{}`}, 1, ask(methodElicit), `"elicitation/create": the agent does not offer it`},
		{&person{capabilities: everything, answer: saying(`error:{"code":-1,"message":"no"}`)}, 1, ask(methodRoots), `answered with an error: {"code":-1,"message":"no"}`},
		{&person{capabilities: everything, answer: saying("")}, 1, ask(methodRoots), "there was no answer: nobody is there"},
		{&person{capabilities: everything}, 1, `{"q":{}}`, "cannot be read"},
	} {
		s := w.agent(c.p, SessionOptions{})
		r, row := w.refused(s, tool("fake__rounds", fmt.Sprintf(`{"n":%d,"requests":%s}`, c.n, c.requests)), UpstreamError)
		if !strings.Contains(r.Message, c.why) || r.AsResult() || r.RPC().Code != -32603 || row.Code != -32603 {
			t.Errorf("%s: %v (%d)", c.requests, r, row.Code)
		}
	}
	nobody, _ := w.refused(w.session(false), tool("fake__rounds", `{"n":1,"requests":`+ask(methodElicit)+`}`), UpstreamError)
	if !strings.Contains(nobody.Message, "does not offer") {
		t.Errorf("without an agent: %v", nobody)
	}
}

// R45, R73: a call that is cancelled while its person is asked ends the question
// and is not sent again.
func TestRoundIsCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, modernServer("shared: false"), nil)
	p := &person{capabilities: everything}
	s := w.agent(p, SessionOptions{})
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { // ends when the agent was asked
		until(t, "the agent is asked", func() bool { return len(p.questions()) == 1 })
		cancel(&upstream.Cancelled{Reason: "no time"})
	}()
	a, row := w.do(ctx, s, tool("fake__rounds", `{}`))
	if a.Refusal == nil || a.Refusal.Word != Cancelled || row.Reason != "no time" {
		t.Errorf("%v, row %+v", a.Refusal, row)
	}
	until(t, "the question is over", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.causes) == 1 && p.causes[0] == "no time"
	})
	if n := len(w.sent()); n != 1 {
		t.Errorf("it was sent %d times", n)
	}
}

// R73: a modern agent gets a modern server's questions as they are, its own
// capabilities go to the server, and its answers come back.
func TestModernPassesThrough(t *testing.T) {
	t.Parallel()
	w := newWorld(t, modernServer("shared: true"), nil)
	s := w.agent(&person{modern: true}, SessionOptions{})
	m := &Modern{Capabilities: []byte(`{"elicitation":{},"roots":{},"x":{"n":1.0}}`), LogLevel: "debug"}
	r := tool("fake__rounds", `{}`)
	r.Modern = m
	a, row := w.answered(s, r)
	if got := string(a.result()); !strings.Contains(got, `"resultType":"input_required"`) || !strings.Contains(got, `"requestState":"\u0072ound\/1"`) || row.Outcome != "ok" {
		t.Errorf("got %s", got)
	}
	r.Params = []byte(strings.Replace(string(r.Params), `{"name"`, `{"requestState":"\u0072ound\/1","inputResponses":{"q":{"n":1e400}},"name"`, 1))
	a, _ = w.answered(s, r)
	if got := string(a.result()); !strings.Contains(got, `{"inputResponses":{"q":{"n":1e400}},"requestState":"\u0072ound\/1"}`) {
		t.Errorf("got %s", got)
	}
	var sent string
	for _, e := range mcptest.Events(t, w.events, "recv") {
		if strings.Contains(e.Data, `"tools/call"`) {
			sent = e.Data
		}
	}
	if !strings.Contains(sent, `"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"x":{"n":1.0}}`) || !strings.Contains(sent, `"io.modelcontextprotocol/logLevel":"debug"`) {
		t.Errorf("sent %s", sent)
	}
}

// R73: a modern agent and an older server: errors in the agent's form, no task.
func TestModernAgentOlderServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, more("shared: true"), nil)
	w.list(false, "fake")
	s := w.agent(&person{modern: true}, SessionOptions{})
	m := &Modern{Capabilities: []byte(`{"elicitation":{"url":{}}}`)}
	r := tool("fake__needurl", `{"url":"https://x","elicitationId":"e"}`)
	r.Modern = m
	a, _ := w.answered(s, r)
	if got := string(a.Result); !strings.Contains(got, `"elicitation-1":{"method":"elicitation/create","params":{"mode":"url","url":"https://x","message":"[server fake] Please visit."}}`) {
		t.Errorf("got %s", got)
	}
	a, row := w.answered(s, Request{Method: methodRead, Modern: m, Params: []byte(`{"uri":"fake://item/1","_meta":{"fake/error":{"code":-32002,"message":"gone"}}}`)})
	if got := string(a.Reply.ErrorBytes()); got != `{"code":-32602,"message":"gone"}` || row.Code != -32602 {
		t.Errorf("got %s, row %d", got, row.Code)
	}
	r = tool("fake__echo", `{}`)
	r.Modern, r.Params = m, []byte(strings.Replace(string(r.Params), `{"name"`, `{"task":{"ttl":5},"_meta":{"progressToken":7},"name"`, 1))
	if a, _ = w.answered(s, r); a.Parts.Partial {
		t.Errorf("a task: %s", a.Reply.Raw)
	}
}
