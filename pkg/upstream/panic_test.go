package upstream

import (
	"context"
	"strings"
	"testing"

	"postern/pkg/wire"
)

// R26: a panic in one of a client's goroutines, of its callbacks too, ends that
// connection with its calls, is reported, and is told to nobody else.
func TestPanicEndsTheConnection(t *testing.T) {
	reports := make(chan string, 9)
	p := newPeer(t, Options{
		Notify: func(wire.Message) { panic("boom") },
		Panicked: func(where string, value any, stack []byte) {
			text, _ := value.(string)
			if strings.Contains(string(stack), "panic_test.go") {
				reports <- where + ": " + text
			}
		},
	})
	failures := make(chan error, 1)
	go func() { // ends with the connection
		_, err := p.c.Do(context.Background(), Call{Method: "m"})
		failures <- err
	}()
	p.request()
	p.send(`{"jsonrpc":"2.0","method":"notifications/message"}`)
	if got := <-reports; got != "server demo: boom" {
		t.Errorf("reported %q", got)
	}
	<-p.c.Done()
	err := <-failures
	if f, ok := err.(*Failure); !ok || !f.Sent || strings.Contains(f.Error(), "boom") {
		t.Errorf("the call came to %v", err)
	}
	if td := p.c.Close(); !td.Complete {
		t.Errorf("teardown %+v", td)
	}
}
