package main

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/tidwall/gjson"

	"postern/pkg/call"
	"postern/pkg/cmdmain"
	"postern/pkg/wire"
)

const (
	logLines = 256         // of a server's log that wait for standard error; what comes beyond is dropped
	logWidth = 2000        // characters of one
	logEnd   = time.Second // for the last of them, at the end
)

// agent is this command as servers see it: it passes questions on to the person at
// the terminal, and their log to standard error.
type agent struct {
	env      *cmdmain.Env
	progress atomic.Pointer[progress] // beside which it writes; nil = none
	mark     string                   // before questions that do not say whose they are
	asking   chan struct{}            // taken by the one question that is put
	typed    chan string              // lines of standard input; nil until something was asked

	lines   chan logLine
	dropped atomic.Int64
	end     chan struct{} // closed when no more is written
	done    chan struct{}
}

// logLine is a line for standard error, or who waits for those before it.
type logLine struct {
	text    string
	flushed chan struct{}
}

var _ call.Agent = (*agent)(nil)

func newAgent(env *cmdmain.Env) *agent {
	a := &agent{
		env: env, asking: make(chan struct{}, 1),
		lines: make(chan logLine, logLines), end: make(chan struct{}), done: make(chan struct{}),
	}
	go a.write() // ends with close
	return a
}

// close waits for the log to be written, at most logEnd.
func (a *agent) close() {
	close(a.end)
	select {
	case <-a.done:
	case <-time.After(logEnd):
	}
}

// beside has what is written leave a line of progress in peace.
func (a *agent) beside(p *progress) { a.progress.Store(p) }

// Modern says that this command speaks the legacy era, in which it can be asked.
func (a *agent) Modern() bool { return false }

// Level is how much of the log a person wants to see.
func (a *agent) Level() string { return "info" }

// Capabilities is what it can be asked.
func (a *agent) Capabilities() []byte { return []byte(`{"elicitation":{"form":{},"url":{}}}`) }

// Notify writes log messages; of everything else the answer tells in time.
func (a *agent) Notify(method string, params []byte) {
	if method != "notifications/message" {
		return
	}
	select {
	case a.lines <- logLine{text: logText(gjson.ParseBytes(params))}:
	default: // standard error is not read, and a server must not wait for that
		a.dropped.Add(1)
	}
}

// logText is a message as one line.
func logText(params gjson.Result) string {
	text := member(params, "level").String() + ": "
	if logger := member(params, "logger").String(); logger != "" {
		text += logger + ": "
	}
	if data := member(params, "data"); data.Type == gjson.String {
		text += data.Str
	} else {
		text += string(wire.OneLine([]byte(data.Raw)))
	}
	return cmdmain.Cut(text, logWidth)
}

// flush waits until what servers said so far is written, at most logEnd: it stands
// before the answer then.
func (a *agent) flush() {
	limit := time.NewTimer(logEnd)
	defer limit.Stop()
	mark := logLine{flushed: make(chan struct{})}
	select {
	case a.lines <- mark:
	case <-limit.C:
		return
	}
	select {
	case <-mark.flushed:
	case <-limit.C:
	}
}

func (a *agent) write() {
	defer close(a.done)
	for {
		select {
		case line := <-a.lines:
			a.say(line)
			continue
		default:
		}
		select {
		case line := <-a.lines:
			a.say(line)
			continue
		case <-a.end:
		}
		break
	}
	if n := a.dropped.Load(); n > 0 {
		a.env.Sayf("%d log messages of the server were dropped", n)
	}
}

func (a *agent) say(line logLine) {
	if line.flushed != nil {
		close(line.flushed)
		return
	}
	resume := a.progress.Load().pause()
	a.env.Sayf("%s", line.text)
	resume()
}

// Ask puts a question to the person at the terminal. Where there is none it is
// declined (K6).
func (a *agent) Ask(ctx context.Context, method string, params []byte, _ func([]byte)) (wire.Message, error) {
	select {
	case a.asking <- struct{}{}:
	case <-ctx.Done():
		return wire.Message{}, context.Cause(ctx)
	}
	defer func() { <-a.asking }()
	answer := `{"action":"decline"}`
	if a.env.IsTerminal(a.env.Stdin) && a.env.IsTerminal(a.env.Stderr) {
		defer a.progress.Load().pause()()
		said, err := a.elicit(ctx, gjson.ParseBytes(params))
		if err != nil {
			return wire.Message{}, err
		}
		answer = said
	}
	return wire.Parse(wire.ResultLine([]byte("0"), []byte(answer)))
}
