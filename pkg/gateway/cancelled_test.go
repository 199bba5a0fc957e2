package gateway

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"

	"postern/pkg/mcptest"
	"postern/pkg/wire"
)

// R45, R80: a request that the agent cancelled has no answer, and no empty line in
// its place.
func TestNothingForACancelledRequest(t *testing.T) {
	w := newWorld(t, plainConfig, nil)
	in, toGateway := io.Pipe()
	fromGateway, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { // ends with the session
		ended <- w.g.Serve(context.Background(), in, out, Options{})
		out.Close()
	}()
	lines := make(chan string, 64)
	go func() { // ends with the session's output
		defer close(lines)
		for r := bufio.NewScanner(fromGateway); r.Scan(); {
			lines <- r.Text()
		}
	}()
	send := func(id, method, params string) {
		_, _ = toGateway.Write(append(wire.RequestLine([]byte(id), method, []byte(params)), '\n'))
	}
	meta := introduced("")
	send("1", "tools/call", mcptest.CallParams("fake__echo", `{}`)[:len(mcptest.CallParams("fake__echo", `{}`))-1]+","+meta[1:])
	if first := <-lines; !strings.Contains(first, `"id":1`) {
		t.Fatal(first)
	}
	send("2", "tools/call", strings.Replace(mcptest.CallParams("fake__never", `{}`), "{", meta[:len(meta)-1]+",", 1))
	send("3", "subscriptions/listen", strings.Replace(`{"notifications":{"toolsListChanged":true}}`, "{", meta[:len(meta)-1]+",", 1))
	if ack := <-lines; !strings.Contains(ack, "acknowledged") {
		t.Fatal(ack)
	}
	for _, id := range []string{"2", "3"} {
		_, _ = toGateway.Write(append(wire.NotificationLine("notifications/cancelled", []byte(`{"requestId":`+id+`}`)), '\n'))
	}
	toGateway.Close()
	for line := range lines {
		t.Errorf("%q", line)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// R45: an id that the agent uses again once it has cancelled its request names the
// new one: the end of the old one neither answers nor ends that.
func TestIDUsedAgainAfterCancelling(t *testing.T) {
	a := newAsked(t)
	a.open = map[string]*request{}
	m, err := wire.Parse([]byte(`{"jsonrpc":"2.0","id":9,"method":"tools/list","params":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	answers := make(chan string, 4)
	reply := func(line []byte) { answers <- string(line) }
	begin := func() *request {
		begun := make(chan *request)
		a.start(m, nil, reply, func(r *request, _ wire.Message) { begun <- r })
		return <-begun
	}
	first := begin()
	a.says(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`)
	second := begin()
	a.done(first, wire.ResultLine(first.id, []byte(`"old"`)))
	if got := <-answers; got != "" {
		t.Errorf("the old request was answered with %s", got)
	}
	a.done(second, wire.ResultLine(second.id, []byte(`"new"`)))
	if got := <-answers; !strings.Contains(got, "new") {
		t.Errorf("the new request was answered with %q", got)
	}
	a.wg.Wait()
}
