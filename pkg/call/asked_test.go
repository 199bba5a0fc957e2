package call

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"postern/pkg/config"
	"postern/pkg/mcptest"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// everything is what an agent declares that answers all questions.
const everything = `{"elicitation":{"form":{},"url":{}},"roots":{"listChanged":true},"sampling":{}}`

// more declares one fake server that has all of MCP, with these fields more.
func more(fields string) string {
	return strings.Replace(declared(fields), "args: [", "args: [-more, ", 1)
}

// asking is a call of the tool in which the server asks its client.
func asking(method, params string) Request {
	return tool("fake__ask", fmt.Sprintf(`{"method":%q,"params":%s}`, method, params))
}

// saying answers every question with the same.
func saying(answer string) func(context.Context, string, string, func([]byte)) string {
	return func(context.Context, string, string, func([]byte)) string { return answer }
}

// MB-097, R16, R72: what a server asks in the middle of a call reaches the agent
// that calls, as far as it declared it and the server may ask it; everything else
// is answered at once.
func TestMB097QuestionsReachTheAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.Replace(more("shared: false, sampling: true"), "\npolicies:", "\n  all: {command: $FAKE, args: [-more, -events, $WORK/shared]}\npolicies:", 1), nil)
	p := &person{capabilities: everything, answer: saying(`{"ok":1e400}`)}
	s := w.agent(p, SessionOptions{})
	const unknown, cancel = `"code":-32601`, `"result":{"action":"cancel"}`
	for _, c := range []struct{ tool, method, params, asked, answer string }{
		{"fake", methodRoots, `{"x":1.0}`, `roots/list {"x":1.0}`, `"result":{"ok":1e400},"x":1.0`},
		{"fake", methodSample, `{"messages":[]}`, `sampling/createMessage {"messages":[]}`, `"result":{"ok":1e400},"x":1.0`},
		{"fake", methodElicit, `{"message":"Name?"}`, `elicitation/create {"message":"[server fake] Name?"}`, `"result":{"ok":1e400},"x":1.0`},
		{"all", methodElicit, `{"message":"Name?"}`, `elicitation/create {"message":"[server all] Name?"}`, `"result":{"ok":1e400},"x":1.0`},
		{"all", methodRoots, `{}`, "", unknown},
		{"all", methodSample, `{"messages":[]}`, "", unknown},
		{"fake", "vendor/x", `{}`, "", unknown},
		{"fake", methodElicit, `{"message":"postern approval 12"}`, "", cancel},
		{"fake", methodElicit, `{"message":"m","mode":"voice"}`, "", cancel},
	} {
		before := len(p.questions())
		r := asking(c.method, c.params)
		r.Exposed = c.tool + "__ask"
		a, _ := w.answered(s, r)
		if !strings.Contains(string(a.Reply.Raw), c.answer) {
			t.Errorf("%s %s: the server was answered %s", c.method, c.params, a.Reply.Raw)
		}
		asked := strings.Join(p.questions()[before:], "\n")
		if asked != c.asked {
			t.Errorf("%s %s: the agent was asked %q", c.method, c.params, asked)
		}
	}
	var told string
	for _, e := range mcptest.Events(t, w.events, "recv") {
		if strings.Contains(e.Data, `"initialize"`) {
			told = e.Data
		}
	}
	if !strings.Contains(told, `"capabilities":{"elicitation":{"form":{},"url":{}},"roots":{"listChanged":true},"sampling":{}}`) {
		t.Errorf("the server was told %s", told)
	}
}

// MB-097: an agent that answers with an error, or not at all, does not leave the
// server waiting; nobody asks where there is nobody.
func TestMB097NoAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, more("shared: false"), nil)
	const ask = `{"message":"Name?"}`
	for _, c := range []struct {
		p      *person
		answer string
	}{
		{&person{capabilities: everything, answer: saying(`error:{"code":-1,"message":"no","data":{"n":1.0}}`)}, `"error":{"code":-1,"message":"no","data":{"n":1.0}}`},
		{&person{capabilities: everything, answer: saying("")}, `"result":{"action":"cancel"}`},
		{&person{capabilities: `{}`}, `"result":{"action":"cancel"}`},
		{&person{modern: true, capabilities: everything}, `"result":{"action":"cancel"}`},
	} {
		a, _ := w.answered(w.agent(c.p, SessionOptions{}), asking(methodElicit, ask))
		if !strings.Contains(string(a.Reply.Raw), c.answer) {
			t.Errorf("the server was answered %s, want %s", a.Reply.Raw, c.answer)
		}
	}
	a, _ := w.answered(w.session(false), asking(methodElicit, ask))
	if !strings.Contains(string(a.Reply.Raw), `"result":{"action":"cancel"}`) {
		t.Errorf("the server was answered %s", a.Reply.Raw)
	}
}

// MB-098, R72: of two agents with calls on one server neither is asked; of one
// alone it is the one that is asked. A call that was given up counts for a while.
func TestMB098WhoIsAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, more("max_concurrency: 4"), nil)
	one := &person{capabilities: everything, answer: saying(`{"action":"accept"}`)}
	two := &person{capabilities: everything, answer: saying(`{"action":"accept"}`)}
	first, second := w.agent(one, SessionOptions{}), w.agent(two, SessionOptions{})
	w.answered(first, tool("fake__echo", "{}"))
	a := w.parallel(second, asking(methodElicit, `{"message":"Which?"}`))
	if !strings.Contains(string(a.Reply.Raw), `"action":"accept"`) {
		t.Errorf("alone the server was answered %s", a.Reply.Raw)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan struct{})
	w.calls++
	go func() { // ends with the call, which is cancelled below
		defer close(done)
		first.Do(ctx, tool("fake__never", "{}"), func(Answer) {})
	}()
	mcptest.WaitEvents(t, w.events, "call", 3)
	a = w.parallel(second, asking(methodElicit, `{"message":"Which?"}`))
	if !strings.Contains(string(a.Reply.Raw), `"action":"cancel"`) {
		t.Errorf("with two sessions the server was answered %s", a.Reply.Raw)
	}
	cancel(&upstream.Cancelled{Reason: "enough"})
	<-done
	a = w.parallel(second, asking(methodElicit, `{"message":"Which?"}`))
	if !strings.Contains(string(a.Reply.Raw), `"action":"cancel"`) {
		t.Errorf("it may have meant who gave up, and was answered %s", a.Reply.Raw)
	}
	if len(one.questions()) != 0 || len(two.questions()) != 1 {
		t.Errorf("asked: %q and %q", one.questions(), two.questions())
	}
}

// parallel makes a call while others are under way.
func (w *world) parallel(s *Session, r Request) (got Answer) {
	w.t.Helper()
	w.mu.Lock()
	w.calls++
	w.mu.Unlock()
	s.Do(w.t.Context(), r, func(a Answer) { got = a })
	if got.Refusal != nil {
		w.t.Errorf("refused: %v", got.Refusal)
	}
	return got
}

// R72: a server that takes its question back ends it at the agent with the reason.
func TestServerWithdrawsItsQuestion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, more("shared: false, max_concurrency: 2"), nil)
	p := &person{capabilities: everything}
	s := w.agent(p, SessionOptions{})
	done := make(chan Answer, 1)
	go func() { done <- w.parallel(s, asking(methodElicit, `{"message":"Well?"}`)) }() // ends with the call
	until(t, "the agent is asked", func() bool { return len(p.questions()) == 1 })
	w.parallel(s, tool("fake__unask", `{"reason":"changed my mind"}`))
	<-done
	until(t, "the question is over", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.causes) == 1
	})
	if p.causes[0] != "changed my mind" {
		t.Errorf("it ended with %q", p.causes[0])
	}
}

// R72: one server asks an agent half of config.MaxQuestions things at once; what comes then is
// answered for it, and there is room again when some are answered.
func TestQuestionsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, more("shared: false, max_concurrency: 100"), nil)
	release := make(chan struct{})
	p := &person{capabilities: everything, answer: func(context.Context, string, string, func([]byte)) string {
		<-release
		return `{"action":"accept"}`
	}}
	s := w.agent(p, SessionOptions{})
	const most, excess = config.MaxQuestions / 2, 5
	declined := make(chan bool, most+excess)
	var all sync.WaitGroup
	for range most + excess {
		all.Go(func() { // ends with its call
			a := w.parallel(s, asking(methodElicit, `{"message":"Well?"}`))
			declined <- strings.Contains(string(a.Reply.Raw), `"action":"cancel"`)
		})
	}
	for range excess {
		if !<-declined {
			t.Error("a question was answered before anybody answered")
		}
	}
	until(t, "all others are asked", func() bool { return len(p.questions()) == most })
	close(release)
	all.Wait()
	for range most {
		if <-declined {
			t.Error("a question was declined that there was room for")
		}
	}
	if p.most != most {
		t.Errorf("%d at once", p.most)
	}
	if a := w.parallel(s, asking(methodElicit, `{"message":"Well?"}`)); !strings.Contains(string(a.Reply.Raw), `"action":"accept"`) {
		t.Errorf("there is no room again: %s", a.Reply.Raw)
	}
}

// broken is an agent whose side panics where servers' readers call it.
type broken struct{ person }

func (*broken) Notify(string, []byte) { panic("secret of an agent") }
func (*broken) Capabilities() []byte  { panic("secret of an agent") }

// R26: a panic of one agent's side that a server's reader runs into ends neither the
// server nor what others have with it.
func TestPanicInWhatAServerSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, more("max_concurrency: 4"), nil)
	other := w.agent(&person{capabilities: everything, answer: saying(`{"action":"accept"}`)}, SessionOptions{})
	before := w.child(other, "fake__env").PID
	s, err := w.host.Open(SessionOptions{Via: "direct", Agent: &broken{}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a, _ := w.answered(s, asking(methodElicit, `{"message":"Well?"}`))
	if !strings.Contains(string(a.Reply.Raw), `"action":"cancel"`) {
		t.Errorf("the server was answered %s", a.Reply.Raw)
	}
	w.answered(s, tool("fake__notify", `{"method":"notifications/vendor/x","params":{}}`))
	if got := w.child(other, "fake__env").PID; got != before {
		t.Error("the server was ended")
	}
	until(t, "both are told", func() bool { return w.host.panics.Load() == 2 })
}

// R26: a panic of the agent's side in a question ends that question alone.
func TestPanicInAQuestion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, more("shared: false"), nil)
	p := &person{capabilities: everything, answer: func(context.Context, string, string, func([]byte)) string { panic("secret of an agent") }}
	s := w.agent(p, SessionOptions{})
	a, _ := w.answered(s, asking(methodElicit, `{"message":"Well?"}`))
	if !strings.Contains(string(a.Reply.Raw), `"action":"cancel"`) {
		t.Errorf("the server was answered %s", a.Reply.Raw)
	}
	if warned := strings.Join(w.warnings(), "\n"); !strings.Contains(warned, "question of server fake") || strings.Contains(warned, "secret of") {
		t.Errorf("warned: %s", warned)
	}
}

// R45: the agent's progress on a question goes to the server with its own token.
func TestProgressOnAQuestion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, more("shared: false"), nil)
	p := &person{capabilities: everything, answer: func(_ context.Context, _, params string, progress func([]byte)) string {
		progress([]byte(`{"progressToken":"theirs","progress":1.0}`))
		return `{"action":"accept"}`
	}}
	s := w.agent(p, SessionOptions{})
	w.answered(s, asking(methodElicit, `{"message":"Well?","_meta":{"progressToken":"theirs"}}`))
	for _, e := range mcptest.Events(t, w.events, "recv") {
		if m, err := wire.Parse([]byte(e.Data)); err == nil && m.Method == "notifications/progress" {
			if got := string(m.ParamsBytes()); got != `{"progressToken":"theirs","progress":1.0}` {
				t.Errorf("it got %s", got)
			}
			return
		}
	}
	t.Error("no progress came")
}
