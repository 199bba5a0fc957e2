package call

import (
	"strings"
	"testing"
	"time"

	"postern/pkg/mcptest"
	"postern/pkg/wire"
)

// R50, R54: nothing that a policy refuses as a request reaches the server as a
// notification, and nothing that is a request here does at all: many a server
// carries out what has no id, and only does not answer.
func TestNotificationsAreNoWayAroundPolicies(t *testing.T) {
	t.Parallel()
	const allowed = "allow: [read, write, execute]"
	yaml := strings.Replace(more("shared: true"), allowed, allowed+`, deny: ["fake/fail", "fake/notifications/secret/*"]`, 1)
	w := newWorld(t, yaml, nil)
	s := w.agent(&person{}, SessionOptions{})
	w.answered(s, tool("fake__echo", "{}")) // it runs now
	for _, method := range []string{
		"tools/call", "Tools/Call", "prompts/get", "resources/read", "vendor/x", "notifications/secret/x", "notifications", "",
	} {
		s.NotifyServers(method, []byte(`{"name":"fail","arguments":{}}`))
	}
	s.NotifyServers("notifications/vendor/x", []byte(`{"name":"fail"}`))
	w.answered(s, tool("fake__echo", `{"last":true}`))
	var got []string
	for _, e := range mcptest.Events(t, w.events, "recv") {
		if strings.Contains(e.Data, `"name":"fail"`) {
			got = append(got, e.Data)
		}
	}
	if len(got) != 1 || !strings.Contains(got[0], `"notifications/vendor/x"`) {
		t.Errorf("the server got %q", got)
	}
	w.edit(s, strings.Replace(more("shared: true"), allowed, "allow: [read, write]", 1))
	s.NotifyServers("notifications/vendor/y", nil) // as a method it is of tier execute
	w.answered(s, tool("fake__echo", `{"last":true}`))
	for _, e := range mcptest.Events(t, w.events, "recv") {
		if strings.Contains(e.Data, "vendor/y") {
			t.Errorf("the server got %s", e.Data)
		}
	}
}

// R40: a method that a server could read as one that is judged otherwise here is
// nobody's; by "notifications/cancelled" it could end another session's call.
func TestDisguisedMethods(t *testing.T) {
	t.Parallel()
	w := newWorld(t, more("shared: true"), nil)
	s := w.agent(&person{}, SessionOptions{})
	w.answered(s, Request{Method: "vendor/x"})
	for _, method := range []string{
		"Tools/Call", " tools/call", "tools/call\n", "RESOURCES/READ", "Initialize", "notifications/cancelled", "Notifications/cancelled", "notifications/vendor/x",
	} {
		w.refused(s, Request{Method: method, Params: []byte(`{"name":"fail","requestId":1}`)}, UnknownMethod)
	}
	for _, method := range []string{"notifications/Cancelled", "notifications/ cancelled", "notifications/PROGRESS", "notifications/notifications/cancelled"} {
		s.NotifyServers(method, []byte(`{"requestId":1}`))
	}
	w.answered(s, Request{Method: "vendor/y"})
	for _, e := range mcptest.Events(t, w.events, "recv") {
		if strings.Contains(e.Data, `"requestId":1`) {
			t.Errorf("the server got %s", e.Data)
		}
	}
}

// R53: a denied resource is denied however its URI is spelled.
func TestDeniedResourcesInOtherSpellings(t *testing.T) {
	t.Parallel()
	w := newWorld(t, two, twoFiles())
	w.list(false, "a")
	w.list(false, "b")
	for _, o := range []SessionOptions{{}, {Only: "b"}} {
		s := w.agent(&person{capabilities: everything}, o)
		for _, uri := range []string{
			"b://secret/x", "b://open/../secret/x", "b://open/%2e%2e/secret/x", "b://%73ecret/x", "b:////secret/x", "B://secret/x",
			"postern+b:b://open/../secret/x",
		} {
			if o.Only != "" && strings.HasPrefix(uri, uriMark) {
				continue
			}
			for _, method := range []string{methodRead, methodSubscribe} {
				a, _ := w.do(t.Context(), s, Request{Method: method, Params: []byte(`{"uri":"` + uri + `","_meta":{"fake/result":{"contents":[]}}}`)})
				if a.Refusal == nil {
					t.Errorf("%s %s was let through", method, uri)
				}
			}
		}
		w.answered(s, Request{Method: methodRead, Params: []byte(`{"uri":"b://open/x","_meta":{"fake/result":{"contents":[]}}}`)})
	}
	for _, e := range mcptest.Events(t, w.events, "recv") {
		if strings.Contains(e.Data, "ecret") {
			t.Errorf("the server got %s", e.Data)
		}
	}
}

// A server's reader waits for no file and no rebuild of a session: all others'
// answers are behind it.
func TestNewsWaitForNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, two, twoFiles())
	w.list(false, "b")
	p := &person{}
	s := w.agent(p, SessionOptions{})
	m, err := wire.Parse([]byte(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"b://one"}}`))
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock() // a rebuild, which may have to ask a command for a secret
	s.checked.Store(0)
	done := make(chan struct{})
	go func() { // ends with Note
		defer close(done)
		(*peer)(s).Note(s.view.Load().Server("b").Declared, m)
	}()
	select {
	case <-done:
	case <-time.After(mcptest.Bound):
		t.Error("it waits for the rebuild")
	}
	s.mu.Unlock()
	<-done
	if n := len(p.news()); n != 1 {
		t.Errorf("told %d", n)
	}
}

// C80, S5: a method that is not known here is written by the agent, and may be what
// was meant to be an argument.
func TestMethodsInRowsAreRedacted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, more("shared: true"), nil)
	s := w.agent(&person{}, SessionOptions{})
	w.list(false, "fake")
	_, row := w.answered(s, Request{Method: "vendor/ghp_0123456789abcdefghijABCDEFGHIJ012345"})
	if strings.Contains(row.Tool, "0123456789") || !strings.Contains(row.Tool, "vendor/") {
		t.Errorf("the row has %q", row.Tool)
	}
}
