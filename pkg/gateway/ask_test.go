package gateway

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"postern/pkg/mcptest"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// asked is a session of which only the questions matter, and what it writes.
type asked struct {
	*session
	t     *testing.T
	lines chan string
}

func newAsked(t *testing.T) *asked {
	r, w := io.Pipe()
	s := &session{revision: revisions[0]}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.out = wire.NewWriter(w, wire.WriterOptions{MaxMessage: 1 << 20, MaxQueue: 1 << 20})
	t.Cleanup(func() {
		s.cancel(nil)
		r.Close()
		_ = s.out.Close(mcptest.Bound)
	})
	a := &asked{session: s, t: t, lines: make(chan string)}
	go func() { // ends with the test, which closes the pipe
		for lines := bufio.NewScanner(r); lines.Scan(); {
			select {
			case a.lines <- lines.Text():
			case <-t.Context().Done():
				return
			}
		}
	}()
	return a
}

func (a *asked) line() string {
	a.t.Helper()
	select {
	case line := <-a.lines:
		return line
	case <-time.After(mcptest.Bound):
		a.t.Fatal("no line")
		return ""
	}
}

func (a *asked) says(line string) {
	a.t.Helper()
	m, err := wire.Parse([]byte(line))
	if err != nil {
		a.t.Fatal(err)
	}
	a.message(m, nil)
}

type outcome struct {
	line string
	err  error
}

// ask asks in the background.
func (a *asked) ask(ctx context.Context, params string, progress func([]byte)) <-chan outcome {
	done := make(chan outcome, 1)
	go func() { // ends with the question, which the test or its end answers
		m, err := a.Ask(ctx, "vendor/question", []byte(params), progress)
		done <- outcome{string(m.Raw), err}
	}()
	return done
}

func (a *asked) outcome(of <-chan outcome) outcome {
	a.t.Helper()
	select {
	case o := <-of:
		return o
	case <-time.After(mcptest.Bound):
		a.t.Fatal("no outcome")
		return outcome{}
	}
}

// R72: answers reach their own question whatever their order; what was not asked
// is nobody's, and so is a second answer.
func TestAnswersFindTheirQuestion(t *testing.T) {
	a := newAsked(t)
	first := a.ask(t.Context(), `{"a":1e400}`, nil)
	if got := a.line(); got != `{"jsonrpc":"2.0","id":1,"method":"vendor/question","params":{"a":1e400}}` {
		t.Fatal(got)
	}
	second := a.ask(t.Context(), `{}`, nil)
	a.line()
	for _, stray := range []string{`3`, `"1"`, `"2"`, `1.5`} {
		a.says(`{"jsonrpc":"2.0","id":` + stray + `,"result":{"stray":true}}`)
	}
	a.says(`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`)
	a.says(`{"jsonrpc":"2.0","id":2.0,"result":{"n":1.0}}`)
	a.says(`{"jsonrpc":"2.0","id":2,"result":{"twice":true}}`)
	if got := a.outcome(second); got.line != `{"jsonrpc":"2.0","id":2.0,"result":{"n":1.0}}` || got.err != nil {
		t.Errorf("%+v", got)
	}
	a.says(`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no","data":[-0]}}`)
	if got := a.outcome(first); got.line != `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no","data":[-0]}}` || got.err != nil {
		t.Errorf("%+v", got)
	}
	if len(a.session.asked.open) != 0 {
		t.Errorf("left open: %v", a.session.asked.open)
	}
}

// R45, the other way round: the token is our own on the way there and the
// server's, byte for byte, on the way back; none comes after the answer.
func TestProgressOfTheAgent(t *testing.T) {
	a := newAsked(t)
	heard := make(chan string, 4)
	done := a.ask(t.Context(), `{"_meta":{"progressToken":"\u0061 9007199254740993"}}`, func(p []byte) { heard <- string(p) })
	if got := a.line(); got != `{"jsonrpc":"2.0","id":1,"method":"vendor/question","params":{"_meta":{"progressToken":1}}}` {
		t.Fatal(got)
	}
	a.says(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1.0,"progressToken":1,"x":null}}`)
	a.says(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":2,"progressToken":"1"}}`)
	a.says(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":2}}`)
	a.says(`{"jsonrpc":"2.0","method":"notifications/progress"}`)
	if got := <-heard; got != `{"progress":1.0,"progressToken":"\u0061 9007199254740993","x":null}` {
		t.Error(got)
	}
	a.says(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	a.says(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":3,"progressToken":1}}`)
	if o := a.outcome(done); o.err != nil || len(heard) > 0 {
		t.Errorf("%+v, %d more", o, len(heard))
	}
}

// A question that asked for no progress hears of none, though the agent may guess
// the token.
func TestProgressNobodyAskedFor(t *testing.T) {
	a := newAsked(t)
	done := a.ask(t.Context(), `{"_meta":{"k":1}}`, func(p []byte) { t.Errorf("%s", p) })
	a.line()
	a.says(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,"progressToken":1}}`)
	a.says(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	a.outcome(done)
}

// R45: a question that is withdrawn is withdrawn from the agent with the reason,
// and its answer is nobody's.
func TestWithdrawn(t *testing.T) {
	a := newAsked(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	done := a.ask(ctx, `{}`, nil)
	a.line()
	cancel(&upstream.Cancelled{Reason: "too \"late\""})
	if got := a.line(); got != `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"too \"late\""}}` {
		t.Error(got)
	}
	var cause *upstream.Cancelled
	if got := a.outcome(done); !errors.As(got.err, &cause) || got.line != "" {
		t.Errorf("%+v", got)
	}
	a.says(`{"jsonrpc":"2.0","id":1,"result":{}}`)
}

// All questions end with the session.
func TestQuestionsEndWithTheSession(t *testing.T) {
	a := newAsked(t)
	done := a.ask(context.Background(), `{}`, nil)
	a.line()
	a.cancel(errors.New("over"))
	if got := a.outcome(done); got.err == nil || got.line != "" {
		t.Errorf("%+v", got)
	}
}

// An agent that does not read keeps a question waiting for room no longer than
// whoever asked.
func TestQuestionWithoutRoom(t *testing.T) {
	a := newAsked(t)
	for a.out.Send(make([]byte, 1<<19), nil) == nil {
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	done := a.ask(ctx, `{"x":"`+strings.Repeat("x", 1<<19)+`"}`, nil)
	cancel(&upstream.Cancelled{})
	if got := a.outcome(done); got.err == nil {
		t.Errorf("%+v", got)
	}
}
