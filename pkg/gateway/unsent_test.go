package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postern/pkg/config"
	"postern/pkg/mcptest"
	"postern/pkg/wire"
)

// deaf is an agent that reads nothing until it hears, and then all there is.
type deaf struct {
	in      *io.PipeReader
	session *session
}

// stopped is a session with such an agent, of which queue bytes fit into the queue and
// as many are kept besides.
func stopped(t *testing.T, queue int) *deaf {
	r, pipe := io.Pipe()
	s := &session{open: map[string]*request{}, revision: "2025-03-26", unsent: unsent{most: queue}}
	s.ctx, s.cancel = context.WithCancelCause(t.Context())
	s.out = wire.NewWriter(pipe, wire.WriterOptions{MaxMessage: 1 << 20, MaxQueue: queue})
	return &deaf{in: r, session: s}
}

// hear reads whatever comes until nothing more does.
func (d *deaf) hear(t *testing.T) map[string]wire.Message {
	all := map[string]wire.Message{}
	go func() { // ends with the writer
		lines := wire.NewReader(d.in, 1<<20)
		for {
			line, err := lines.Next()
			if err != nil {
				return
			}
			parts, err := wire.SplitBatch(line, config.MaxBatch)
			if err != nil {
				parts = [][]byte{line}
			}
			for _, part := range parts {
				m, err := wire.Parse(bytes.Clone(part))
				if err != nil {
					t.Errorf("%s: %v", part, err)
				}
				all[string(m.IDBytes())] = m
			}
		}
	}()
	synctest.Wait()
	if u := &d.session.unsent; u.bytes != 0 || u.waits != 0 || u.fewer != nil {
		t.Errorf("still %d bytes and %d that wait", u.bytes, u.waits)
	}
	if err := d.session.out.Close(time.Second); err != nil {
		t.Error(err)
	}
	d.in.Close()
	return all
}

const underWay = 40

// begin starts requests that are answered with some bytes each once go is closed.
func (d *deaf) begin(reply func([]byte), size int) (answer chan struct{}) {
	answer = make(chan struct{})
	for id := range underWay {
		m, err := wire.Parse(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, id))
		if err != nil {
			panic(err)
		}
		d.session.start(m, nil, reply, func(r *request, m wire.Message) {
			<-answer
			d.session.done(r, wire.ResultLine(r.id, []byte(`"`+strings.Repeat("x", size)+`"`)))
		})
	}
	return answer
}

// check wants an answer to each request: as many whole ones as there is room for, and
// of the others a note.
func check(t *testing.T, all map[string]wire.Message, size, least, most int) {
	t.Helper()
	whole := 0
	for id := range underWay {
		m := all[fmt.Sprint(id)]
		switch {
		case m.Kind == 0 && m.Raw == nil:
			t.Errorf("no answer to %d", id)
		case m.Result.Ok() && len(m.ResultBytes()) == size+2:
			whole++
		case !strings.Contains(string(m.ErrorBytes()), `"word":"overload"`) || len(m.Raw) > smallAnswer:
			t.Errorf("%d is answered %.200s", id, m.Raw)
		}
	}
	if whole < least || whole > most {
		t.Errorf("%d answers came whole, want %d to %d", whole, least, most)
	}
}

// R6: what an agent that does not read may leave with the gateway is bounded, however
// many calls of it were under way; it gets an answer to each.
func TestAnswersForAStoppedAgentAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size, queue = 4 << 10, 40 << 10
		d := stopped(t, queue)
		close(d.begin(d.session.send, size))
		synctest.Wait()
		if u := &d.session.unsent; u.bytes > queue+underWay*smallAnswer || u.waits == 0 {
			t.Errorf("%d bytes are kept, %d wait", u.bytes, u.waits)
		}
		check(t, d.hear(t), size, 17, 20)
		d.session.wg.Wait()
	})
}

// R5: so are the answers that wait for the rest of their batch, whose array would
// else be longer than any message.
func TestAnswersOfABatchAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size, queue = 4 << 10, 40 << 10
		d := stopped(t, queue)
		c := &collector{s: d.session, missing: underWay}
		close(d.begin(c.add, size))
		check(t, d.hear(t), size, 9, 10)
		d.session.wg.Wait()
	})
}

// As long as answers wait for room nothing is read from the agent; afterwards it is.
func TestNothingIsReadFromAStoppedAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size, queue = 4 << 10, 40 << 10
		d := stopped(t, queue)
		close(d.begin(d.session.send, size))
		synctest.Wait()
		in, agent := io.Pipe()
		ended, taken := make(chan error, 1), make(chan struct{})
		go func() { ended <- d.session.read(in) }() // ends with the pipe
		go func() {                                 // ends when the line is taken
			defer close(taken)
			_, _ = io.WriteString(agent, `{"jsonrpc":"2.0","id":"p","method":"ping"}`+"\n")
		}()
		time.Sleep(time.Hour)
		select {
		case <-taken:
			t.Error("a request was taken while answers wait")
		default:
		}
		if all := d.hear(t); string(all[`"p"`].ResultBytes()) != "{}" {
			t.Errorf("the request that waited is answered %s", all[`"p"`].Raw)
		}
		agent.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		d.session.wg.Wait()
	})
}

// A session that is told to end does not wait for its agent to read.
func TestStoppedAgentKeepsNoSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := stopped(t, 40<<10)
		close(d.begin(d.session.send, 4<<10))
		synctest.Wait()
		in, _ := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- d.session.read(in) }() // ends with the session
		synctest.Wait()
		d.session.cancel(nil)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		d.session.wg.Wait()
		d.in.Close()
	})
}

// The bounds are those of the configuration, through all of a session: of more than
// both of them hold some results are a note, and none is lost.
func TestStoppedAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainConfig, nil)
	in, agent := io.Pipe()
	out, gateway := io.Pipe()
	ended := make(chan error, 1)
	go func() { // ends with the session
		ended <- w.g.Serve(context.Background(), in, gateway, Options{})
		gateway.Close()
	}()
	const size, calls = 4<<20 - 4<<10, 48
	write := func(format string, args ...any) {
		if _, err := fmt.Fprintf(agent, format+"\n", args...); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	for id := range calls {
		write(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}`, id, mcptest.CallParams("fake__big", fmt.Sprintf(`{"bytes":%d}`, size)))
	}
	mcptest.WaitEvents(t, w.path("events"), "call", calls) // all but the last 8 are answered
	whole, notes := 0, 0
	lines := wire.NewReader(out, config.MaxMessageBytes)
	for range calls + 1 {
		line, err := lines.Next()
		switch {
		case err != nil:
			t.Fatal(err)
		case len(line) > size:
			whole++
		case bytes.Contains(line, []byte(`"word":"overload"`)):
			notes++
		}
	}
	if kept := (config.AgentQueueBytes + config.AgentUnsentBytes) / size; whole+notes != calls || notes == 0 || whole < kept-8 {
		t.Errorf("%d results and %d notes", whole, notes)
	}
	agent.Close()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(mcptest.Bound):
		t.Error("the session does not end")
	}
}
