package call

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"postern/pkg/mcptest"
	"postern/pkg/upstream"
)

// with gives plain's server more fields.
func with(fields string) string { return strings.Replace(plain, "args: [", fields+", args: [", 1) }

// R43: a call is sent at most once. A server that dies in the middle leaves an
// outcome that nobody knows, and the text says so; the next call starts anew.
func TestServerDiesInTheMiddle(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plain, nil)
	s := w.session(false)
	for round, name := range []string{"exit", "half", "exit"} {
		r, row := w.refused(s, tool("fake__"+name, `{"stderr":"my last words"}`), OutcomeUnknown)
		if !r.AsResult() || !strings.Contains(r.Message, "may have happened") || !strings.HasPrefix(r.Message, "server fake") {
			t.Errorf("got %+v", r)
		}
		// R42: an instance that answered somebody may say what concerns another.
		if first := round == 0; strings.Contains(r.Error(), "the last it wrote: my last words") != first {
			t.Errorf("round %d: %v", round, r)
		}
		if row.Outcome != "upstream_error" || row.Code != 0 {
			t.Errorf("row %+v", row)
		}
		w.answered(s, tool("fake__echo", "{}"))
		if sent, starts := len(w.sent()), w.starts(); sent != 2*(round+1) || starts != round+2 {
			t.Errorf("%d calls were sent to %d processes", sent, starts)
		}
	}
}

// R43: many callers, a server that dies now and then: no call reaches a server
// twice, and each has one answer and one row.
func TestNoCallIsRepeated(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plain, nil)
	s := w.session(false)
	w.answered(s, tool("fake__echo", `{"id":"first"}`))
	const callers, each = 8, 15
	unknown := make(chan int, callers)
	for g := range callers {
		go func() { // ends with its calls
			n := 0
			for k := range each {
				name := "fake__echo"
				if (g+k)%13 == 0 {
					name = "fake__exit"
				}
				s.Do(context.Background(), tool(name, fmt.Sprintf(`{"id":"%d-%d"}`, g, k)), func(a Answer) {
					if a.Refusal != nil && a.Refusal.Word == OutcomeUnknown {
						n++
					}
				})
			}
			unknown <- n
		}()
	}
	lost := 0
	for range callers {
		lost += <-unknown
	}
	w.calls += callers * each
	until(t, "all rows are written", func() bool { return len(w.rows()) == w.calls })
	seen := map[string]int{}
	for _, c := range w.sent() {
		seen[c]++
	}
	for c, n := range seen {
		if n > 1 {
			t.Errorf("%s was sent %d times", c, n)
		}
	}
	if lost < callers {
		t.Errorf("only %d calls lost their server: the test tests nothing", lost)
	}
}

// R44: the timeout runs from the writing and starts again with progress; the
// server is told why it may stop.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, with("timeout: 2s, max_timeout: 8s"), nil)
	s := w.session(false)
	w.answered(s, tool("fake__echo", "{}"))

	r, row := w.refused(s, tool("fake__never", "{}"), Timeout)
	if r.Reason != "tools/call" || !strings.Contains(r.Message, "within 2s") || !strings.Contains(r.Message, "may have happened") {
		t.Errorf("got %+v", r)
	}
	if row.LatencyMS < 2000 || row.LatencyMS > 7900 || row.Outcome != "timeout" {
		t.Errorf("row %+v", row)
	}
	if e := mcptest.WaitEvents(t, w.events, "cancelled", 1)[0]; !strings.Contains(e.Data, `"reason":"no answer within 2s"`) {
		t.Errorf("the server was told %s", e.Data)
	}

	progress := func(steps, ms int) (Request, *int) {
		n := 0
		return Request{
			Exposed: "fake__progress", Params: fmt.Appendf(nil, `{"arguments":{"steps":%d,"ms":%d},"_meta":{"progressToken":"mine"}}`, steps, ms),
			Progress: func(params []byte) {
				n++
				if want := fmt.Sprintf(`{"progressToken":"mine","progress":%d,"total":%d}`, n, steps); string(params) != want {
					t.Errorf("progress %s, want %s", params, want)
				}
			},
		}, &n
	}
	request, n := progress(6, 400) // 2.4 s in all
	if a, row := w.answered(s, request); *n != 6 || row.LatencyMS < 2300 {
		t.Errorf("%d steps, %+v, row %+v", *n, a.Reply, row)
	}
	request, n = progress(100, 400) // 40 s, of which max_timeout leaves eight
	r, row = w.refused(s, request, Timeout)
	if r.Reason != "max_timeout" || *n < 6 || !strings.Contains(r.Message, "8s") || !strings.Contains(r.Message, "may have happened") {
		t.Errorf("after %d steps %+v", *n, r)
	}
	if row.LatencyMS < 7900 || row.LatencyMS > 20000 {
		t.Errorf("row %+v", row)
	}
	w.answered(s, tool("fake__echo", "{}")) // the connection lives
	if n := w.starts(); n != 1 {
		t.Errorf("%d processes", n)
	}
}

// R45: a cancelled call ends at once and is told to the server with the reason.
func TestCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plain, nil)
	s := w.session(false)
	w.answered(s, tool("fake__echo", "{}"))
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { // ends when the call was seen
		mcptest.WaitEvents(t, w.events, "call", 2)
		cancel(&upstream.Cancelled{Reason: "the user pressed \"stop\""})
	}()
	a, row := w.do(ctx, s, tool("fake__late", "{}"))
	if a.Refusal == nil || a.Refusal.Word != Cancelled || a.Refusal.Reason != `the user pressed "stop"` || !strings.Contains(a.Refusal.Message, "may have happened") {
		t.Errorf("got %+v", a.Refusal)
	}
	if row.Outcome != "cancelled" || row.Word != "cancelled" || row.Step != StepDispatch || row.Reason != `the user pressed "stop"` {
		t.Errorf("row %+v", row)
	}
	if e := mcptest.WaitEvents(t, w.events, "cancelled", 1)[0]; !strings.Contains(e.Data, `"reason":"the user pressed \"stop\""`) {
		t.Errorf("the server was told %s", e.Data)
	}
	w.answered(s, tool("fake__echo", "{}"))

	gone, end := context.WithCancelCause(t.Context())
	end(&upstream.Cancelled{})
	if a, _ := w.do(gone, s, tool("fake__echo", "{}")); a.Refusal == nil || a.Refusal.Word != Cancelled || strings.Contains(a.Refusal.Message, "happened") {
		t.Errorf("a call that was cancelled before it began: %+v", a.Refusal)
	}
	if n := len(w.sent()); n != 3 {
		t.Errorf("%d calls were sent", n)
	}
}

// Whoever is cancelled before the start starts nothing.
func TestCancelledBeforeTheStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plain, nil)
	w.list(false, "fake")
	started := w.starts()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, exposed := range []string{"fake__echo", "fake__unknown"} {
		w.do(ctx, w.session(false), tool(exposed, "{}"))
	}
	if n := w.starts(); n != started {
		t.Errorf("%d processes were started", n-started)
	}
}

// R24: past the queue a call fails at once, in words that say what to do; one
// that waited too long timed out without being sent.
func TestOverloadAndQueueTimeout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, with("max_concurrency: 1, queue: 1, timeout: 2s"), nil)
	s := w.session(false)
	w.answered(s, tool("fake__echo", "{}"))
	ctx, cancel := context.WithCancel(t.Context())
	held := make(chan struct{})
	go func() { // ends with cancel
		defer close(held)
		s.Do(ctx, Request{Exposed: "fake__progress", Params: []byte(`{"arguments":{"steps":1000,"ms":100},"_meta":{"progressToken":1}}`)}, func(Answer) {})
	}()
	mcptest.WaitEvents(t, w.events, "call", 2)
	answers := make(chan Answer, 2)
	for range 2 { // there is room for one
		go s.Do(context.Background(), tool("fake__echo", `{"waiting":1}`), func(a Answer) { answers <- a }) // ends with its timeout
	}
	late, waited := <-answers, <-answers
	if late.Refusal == nil || late.Refusal.Word != Overload || !late.Refusal.AsResult() || late.Refusal.Remedy == "" {
		t.Errorf("got %+v", late.Refusal)
	}
	if waited.Refusal == nil || waited.Refusal.Word != Timeout || waited.Refusal.Reason != "queue" || strings.Contains(waited.Refusal.Message, "happened") {
		t.Errorf("got %+v", waited.Refusal)
	}
	cancel()
	<-held
	w.calls += 3
	until(t, "all rows are written", func() bool { return len(w.rows()) == w.calls })
	for _, row := range w.rows() {
		if row.Word == "timeout" && (row.QueueMS < 1900 || row.QueueMS > row.LatencyMS) || row.Word == "overload" && (row.Outcome != "circuit_open" || row.LatencyMS > 1000) {
			t.Errorf("row %+v", row)
		}
	}
	if n := len(w.sent()); n != 2 {
		t.Errorf("%d calls were sent: %q", n, w.sent())
	}
}

// A host that closes ends its calls as closed, and those who wait for a start.
func TestHostCloses(t *testing.T) {
	t.Parallel()
	yaml := "version: 1\nservers:\n  fake: {command: $FAKE, args: [-events, $WORK/events]}\n" +
		"  hung: {command: $FAKE, args: [-events, $WORK/events, -fault, no-initialize]}\n" + allowAll
	w := newWorld(t, yaml, nil)
	s := w.session(false)
	w.answered(s, tool("fake__echo", "{}"))
	answers := make(chan Answer, 2)
	for _, exposed := range []string{"fake__never", "hung__echo"} {
		go s.Do(context.Background(), tool(exposed, "{}"), func(a Answer) { answers <- a }) // ends with the host
	}
	mcptest.WaitEvents(t, w.events, "call", 2)
	mcptest.WaitEvents(t, w.events, "start", 2)
	w.host.pool.Close()
	for range 2 {
		r := (<-answers).Refusal
		if r == nil || r.Word != map[string]Word{"fake": OutcomeUnknown, "hung": Closed}[r.Server] {
			t.Errorf("got %+v", r)
		}
	}
	w.calls += 2
	until(t, "the rows are written", func() bool { return len(w.rows()) == w.calls })
	w.refused(s, tool("fake__echo", "{}"), Closed)
}
