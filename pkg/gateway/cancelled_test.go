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
