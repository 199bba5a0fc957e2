package mcptest

import (
	"io"
	"strconv"
	"time"

	"postern/pkg/wire"
)

// Send writes one line as it is. It does not fail when the other side is gone:
// what is expected of it will.
func (a *Agent) Send(line string) { _, _ = io.WriteString(a.in, line+"\n") }

// Request sends a request with an id of its own, a number, and returns the id.
// params "" leaves the member out, but for a modern agent.
func (a *Agent) Request(method, params string) (id string) {
	a.nextID++
	id = strconv.Itoa(a.nextID)
	var raw []byte
	if params != "" {
		raw = []byte(params)
	}
	a.Send(string(wire.RequestLine([]byte(id), method, a.stamped(raw))))
	return id
}

// Expect waits for the response to id, raw JSON, and returns its line. Each
// response is returned once.
func (a *Agent) Expect(id string) wire.Message {
	a.t.Helper()
	key := wire.IDKey([]byte(id))
	return a.wait("the response to "+id, func(m wire.Message) bool {
		return m.Kind == wire.Response && wire.IDKey(m.IDBytes()) == key
	})
}

// Ask sends a request and returns the result; an error in its place fails the
// test.
func (a *Agent) Ask(method, params string) []byte {
	a.t.Helper()
	m := a.Expect(a.Request(method, params))
	if m.Error.Ok() {
		a.t.Fatalf("%s %s: %s", method, params, m.ErrorBytes())
	}
	return m.ResultBytes()
}

// Call calls a tool and returns the result; arguments "" leaves them out. An
// error in place of a result fails the test.
func (a *Agent) Call(tool, arguments string) []byte {
	a.t.Helper()
	return a.Ask("tools/call", CallParams(tool, arguments))
}

// CallParams are the params of tools/call; arguments "" leaves them out.
func CallParams(tool, arguments string) string {
	params := `{"name":` + string(wire.Quote(tool))
	if arguments != "" {
		params += `,"arguments":` + arguments
	}
	return params + "}"
}

// ExpectNotification waits for a notification of that method not returned yet.
func (a *Agent) ExpectNotification(method string) wire.Message {
	a.t.Helper()
	return a.wait("a notification "+method, func(m wire.Message) bool { return m.Kind == wire.Notification && m.Method == method })
}

// ExpectRequest waits for a request of the other side not returned yet.
func (a *Agent) ExpectRequest(method string) wire.Message {
	a.t.Helper()
	return a.wait("a request "+method, func(m wire.Message) bool { return m.Kind == wire.Request && m.Method == method })
}

// ExpectBatch waits for an array of messages; the message has only Raw.
func (a *Agent) ExpectBatch() wire.Message {
	a.t.Helper()
	return a.wait("a batch", func(m wire.Message) bool { return m.Kind == 0 })
}

// Lines returns all messages that came so far, in order.
func (a *Agent) Lines() []wire.Message {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]wire.Message(nil), a.lines...)
}

// wait returns the first message not returned yet that is wanted.
func (a *Agent) wait(what string, wanted func(wire.Message) bool) wire.Message {
	a.t.Helper()
	end := time.NewTimer(Bound)
	defer end.Stop()
	for ended := false; ; {
		a.mu.Lock()
		changed := a.changed
		for i, m := range a.lines {
			if !a.taken[i] && wanted(m) {
				a.taken[i] = true
				a.mu.Unlock()
				return m
			}
		}
		a.mu.Unlock()
		if ended {
			a.t.Fatalf("the other side ended before %s came\nstderr: %s", what, a.Stderr())
		}
		select {
		case <-changed:
		case <-a.eof:
			ended = true // look once more: the last lines came before the end
		case <-end.C:
			a.t.Fatalf("%s did not come in %v\nstderr: %s", what, Bound, a.Stderr())
		}
	}
}

// Line waits for the n-th line the other side sent, counted from 0, whether or
// not it was returned before.
func (a *Agent) Line(n int) wire.Message {
	a.t.Helper()
	end := time.NewTimer(Bound)
	defer end.Stop()
	for {
		a.mu.Lock()
		lines, changed := a.lines, a.changed
		a.mu.Unlock()
		if n < len(lines) {
			return lines[n]
		}
		select {
		case <-changed:
		case <-end.C:
			a.t.Fatalf("line %d did not come in %v", n, Bound)
		}
	}
}
