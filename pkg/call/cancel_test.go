package call

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"postern/pkg/mcptest"
	"postern/pkg/upstream"
)

// MB-090, R45: prompts and resources are cancelled as tools are, under the
// server's own id and with the reason.
func TestMB090CancelOtherMethods(t *testing.T) {
	t.Parallel()
	w := newWorld(t, more("shared: true"), nil)
	w.list(false, "fake")
	s := w.session(false)
	for n, r := range []Request{
		{Method: methodRead, Params: []byte(`{"uri":"fake://big/never","never":1}`)},
		{Method: methodPrompt, Params: []byte(`{"name":"fake__greet","arguments":{"who":"never"},"never":1}`)},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { // ends when the server has the request
			until(t, "it is there", func() bool {
				for _, e := range mcptest.Events(t, w.events, "recv") {
					if strings.Contains(e.Data, r.Method) && strings.Contains(e.Data, `"never":1`) {
						return true
					}
				}
				return false
			})
			cancel(&upstream.Cancelled{Reason: "enough"})
		}()
		a, row := w.do(ctx, s, r)
		if a.Refusal == nil || a.Refusal.Word != Cancelled || row.Outcome != "cancelled" {
			t.Errorf("%s: %+v", r.Method, a.Refusal)
		}
		if told := mcptest.WaitEvents(t, w.events, "cancelled", n+1)[n].Data; !strings.Contains(told, `"reason":"enough"`) {
			t.Errorf("%s: the server was told %s", r.Method, told)
		}
	}
}

// A limit of the caller's own that ran out is a timeout in the answer and in the
// row, not a cancellation; the server is told which limit it was.
func TestCallersLimitIsATimeout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plain, nil)
	s := w.session(false)
	for n, name := range []string{"never", "slow"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { // ends when the server has the call
			mcptest.WaitEvents(t, w.events, "call", n+1)
			cancel(fmt.Errorf("--timeout 1s is over: %w", context.DeadlineExceeded))
		}()
		a, row := w.do(ctx, s, tool("fake__"+name, `{"ms":60000}`))
		if a.Refusal == nil || a.Refusal.Word != Timeout || row.Outcome != "timeout" || row.Word != "timeout" {
			t.Errorf("%s: %+v, row %+v", name, a.Refusal, row)
		}
		if told := mcptest.WaitEvents(t, w.events, "cancelled", n+1)[n].Data; !strings.Contains(told, "--timeout 1s is over") {
			t.Errorf("%s: the server was told %s", name, told)
		}
	}
}
