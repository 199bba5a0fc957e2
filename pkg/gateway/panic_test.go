package gateway

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"postern/pkg/call"
	"postern/pkg/mcptest"
	"postern/pkg/wire"
)

// panicking is an agent's stream that cannot even be read.
type panicking struct{ after io.Reader }

func (p panicking) Read(b []byte) (int, error) {
	n, err := p.after.Read(b)
	if err == io.EOF {
		panic("unreadable stream")
	}
	return n, err
}

// serve runs one session on in and is what came of it.
func (w *world) serve(in io.Reader) (out string, err error) {
	w.t.Helper()
	r, pipe := io.Pipe()
	read := make(chan string)
	go func() { // ends with the session
		all, _ := io.ReadAll(r)
		read <- string(all)
	}()
	ended := make(chan error, 1)
	go func() { // ends with the session
		err := w.g.Serve(context.Background(), in, pipe, Options{})
		pipe.Close()
		ended <- err
	}()
	select {
	case err = <-ended:
	case <-time.After(mcptest.Bound):
		w.t.Fatal("the session does not end")
	}
	return <-read, err
}

// kept wants a text in hub.log and nowhere else.
func (w *world) kept(text, out string, err error) {
	w.t.Helper()
	if !errors.Is(err, ErrInternal) {
		w.t.Errorf("Serve: %v", err)
	}
	log, _ := os.ReadFile(w.path("state/hub.log"))
	if !strings.Contains(string(log), text) || !strings.Contains(string(log), "goroutine ") {
		w.t.Errorf("hub.log holds %q", log)
	}
	if strings.Contains(out, text) || strings.Contains(err.Error(), text) {
		w.t.Errorf("the panic reached the agent: %s, %v", out, err)
	}
}

// R26: a panic ends the session it happens in, is kept for people, reaches no
// agent, and leaves the other sessions alone, whose calls go on.
func TestPanicEndsOneSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainConfig, nil)
	other := w.connect(Options{})
	other.Initialize()
	other.Call("fake__echo", "{}")
	hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}` + "\n"
	never := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"fake__never","arguments":{}}}` + "\n"
	out, err := w.serve(panicking{strings.NewReader(hello + never)})
	w.kept("unreadable stream", out, err)
	if answer := other.Call("fake__echo", "{}"); !strings.Contains(string(answer), `"structuredContent":{}`) {
		t.Errorf("the other session: %s", answer)
	}
}

// The goroutines of requests, of announcements and of progress are under the
// same recover.
func TestPanicInARequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainConfig, nil)
	s, in := w.bare()
	s.start(in, nil, func([]byte) {}, func(*request, wire.Message) { panic("in a request") })
	s.wg.Wait()
	w.kept("in a request", "", context.Cause(s.ctx))

	s, in = w.bare()
	var r *request
	s.start(in, nil, func([]byte) {}, func(q *request, _ wire.Message) { r = q })
	s.wg.Wait()
	s.out = nil // what sends progress on finds nothing to send it to
	s.progress(r)([]byte(`{"progress":1}`))
	w.kept("nil pointer", "", context.Cause(s.ctx))

	s, _ = w.bare()
	s.out = nil // likewise
	s.Notify("notifications/vendor/x", []byte("{}"))
	w.kept("nil pointer", "", context.Cause(s.ctx))
}

// bare is a session that is initialized and has no reader, and a request.
func (w *world) bare() (*session, wire.Message) {
	w.t.Helper()
	s := &session{g: w.g, open: map[string]*request{}, changes: make(chan struct{}, 1), revision: revisions[0]}
	var err error
	if s.calls, err = w.host.Open(call.SessionOptions{Via: "direct"}); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(s.calls.Close)
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	m, err := wire.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if err != nil {
		w.t.Fatal(err)
	}
	return s, m
}
