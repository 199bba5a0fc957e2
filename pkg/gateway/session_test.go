package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"postern/pkg/config"
	"postern/pkg/mcptest"
	"postern/pkg/wire"
)

// TestFiveSessions: five agents on one pool call one server at the same time;
// there is one process, and every answer reaches its own caller (R20).
func TestFiveSessions(t *testing.T) {
	w := newWorld(t, plainConfig, nil)
	var wg sync.WaitGroup
	for n := range 5 {
		a := w.connect(Options{})
		a.Initialize()
		wg.Go(func() { // ends with its answers, each bounded
			ids := map[string]string{}
			for i := range 10 { // fifty calls: within max_concurrency and queue
				text := fmt.Sprintf("%d-%d", n, i)
				ids[a.Request("tools/call", mcptest.CallParams("fake__echo", `{"text":"`+text+`"}`))] = text
			}
			for id, text := range ids {
				if got := a.Expect(id).ResultBytes(); !bytes.Contains(got, []byte(`{"text":"`+text+`"}`)) {
					t.Errorf("agent %d: %s for %s", n, got, text)
				}
			}
		})
	}
	wg.Wait()
	if starts := mcptest.Events(t, w.path("events"), "start"); len(starts) != 1 {
		t.Errorf("%d processes for five agents", len(starts))
	}
}

// TestSessionEndLeavesOthers is MB-051: an agent that goes away in the middle of
// a call ends that call alone.
func TestSessionEndLeavesOthers(t *testing.T) {
	w := newWorld(t, plainConfig, nil)
	a, b := w.connect(Options{}), w.connect(Options{})
	a.Initialize()
	b.Initialize()
	id := a.Request("tools/call", mcptest.CallParams("fake__slow", `{"ms":1000}`))
	b.Request("tools/call", mcptest.CallParams("fake__never", ""))
	mcptest.WaitEvents(t, w.path("events"), "call", 2)
	b.Hangup()
	mcptest.WaitEvents(t, w.path("events"), "cancelled", 1)
	if got := a.Expect(id).ResultBytes(); !bytes.Contains(got, []byte("done")) {
		t.Errorf("%s", got)
	}
	if n := len(mcptest.Events(t, w.path("events"), "start")); n != 1 {
		t.Errorf("%d starts", n)
	}
}

// TestCancel: the server hears of it with the reason, the agent gets no answer,
// also where the server answers late (R45).
func TestCancel(t *testing.T) {
	for _, tool := range []string{"never", "late"} {
		t.Run(tool, func(t *testing.T) {
			w := newWorld(t, plainConfig, nil)
			a := w.connect(Options{})
			a.Initialize()
			id := a.Request("tools/call", mcptest.CallParams("fake__"+tool, ""))
			mcptest.WaitEvents(t, w.path("events"), "call", 1)
			a.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"no \"longer\" wanted"}}`)
			heard := mcptest.WaitEvents(t, w.path("events"), "cancelled", 1)
			if !strings.Contains(heard[0].Data, `no \"longer\" wanted`) {
				t.Errorf("the server heard %q", heard[0].Data)
			}
			a.Call("fake__echo", `{"a":1}`)
			for _, m := range a.Lines() {
				if m.Kind == wire.Response && string(m.IDBytes()) == id {
					t.Errorf("a cancelled call was answered: %s", m.Raw)
				}
			}
		})
	}
}

// TestDuplicateID: a second request under an id that is open is refused and the
// first goes on.
func TestDuplicateID(t *testing.T) {
	w := newWorld(t, plainConfig, nil)
	a := w.connect(Options{})
	a.Initialize()
	a.Send(`{"jsonrpc":"2.0","id":"d","method":"tools/call","params":{"name":"fake__slow","arguments":{"ms":300}}}`)
	a.Send(`{"jsonrpc":"2.0","id":"\u0064","method":"tools/call","params":{"name":"fake__echo"}}`)
	if m := a.Expect(`"d"`); !m.Error.Ok() {
		t.Fatalf("the second is answered first: %s", m.Raw)
	}
	if m := a.Expect(`"d"`); !bytes.Contains(m.ResultBytes(), []byte("done")) {
		t.Errorf("%s", m.Raw)
	}
}

// TestTooLong is R1 and R3: a line over the cap is refused when it exceeds it,
// and the session goes on after it.
func TestTooLong(t *testing.T) {
	w := newWorld(t, plainConfig, nil)
	a := w.connect(Options{})
	a.Initialize()
	a.Send(`{"jsonrpc":"2.0","id":5,"method":"ping","params":{"x":"` + strings.Repeat("x", config.AgentMessageBytes) + `"}}`)
	if m := a.Expect("null"); !bytes.Contains(m.ErrorBytes(), []byte(`-32600`)) {
		t.Errorf("%s", m.Raw)
	}
	a.Ask("ping", "")
}

// manyTools is a list whose definitions take more than one page.
func manyTools(n, bytes int) string {
	var items []string
	for i := range n {
		items = append(items, fmt.Sprintf(`{"name":"t%d","description":%q,"inputSchema":{"properties":{"a":{"const":1.0}},"type":"object"}}`, i, strings.Repeat("d", bytes)))
	}
	return "[" + strings.Join(items, ",") + "]"
}

const listConfig = `version: 1
servers:
  fake: {command: $FAKE, args: [-events, $WORK/events, -tools, $WORK/tools.json], max_message_bytes: 16MiB}
` + allowAll

// TestPages: an own list comes in pages of at most 1 MiB with cursors that hold
// for this set only (R71).
func TestPages(t *testing.T) {
	w := newWorld(t, listConfig, map[string]string{"tools.json": manyTools(300, 10_000)})
	a := w.connect(Options{})
	a.Initialize()
	cursor, seen, pages := "", 0, 0
	for {
		params := `{}`
		if cursor != "" {
			params = `{"cursor":"` + cursor + `"}`
		}
		raw := a.Ask("tools/list", params)
		if len(raw) > config.ListPageBytes+1000 {
			t.Errorf("a page of %d bytes", len(raw))
		}
		var page struct {
			Tools      []struct{ Name string }
			NextCursor string
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			t.Fatal(err)
		}
		for _, tool := range page.Tools {
			if tool.Name != "fake__t"+strconv.Itoa(seen) {
				t.Fatalf("%s at place %d", tool.Name, seen)
			}
			seen++
		}
		pages++
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if seen != 300 || pages != 3 {
		t.Errorf("%d tools on %d pages", seen, pages)
	}
	for _, bad := range []string{`"x"`, `7`, `"` + strings.Repeat("A", 40) + `"`} {
		if m := a.Expect(a.Request("tools/list", `{"cursor":`+bad+`}`)); !bytes.Contains(m.ErrorBytes(), []byte("-32602")) {
			t.Errorf("cursor %s: %s", bad, m.Raw)
		}
	}
}

// TestListChanged: the agent hears of a change once it has listed, not before
// and not when nothing it sees differs (R54).
func TestListChanged(t *testing.T) {
	w := newWorld(t, plainConfig, nil)
	silent, a := w.connect(Options{}), w.connect(Options{})
	silent.Initialize()
	a.Initialize()
	a.Ask("tools/list", "")
	a.Call("fake__change", `{"tools":[{"name":"only","inputSchema":{"type":"object"}}]}`)
	a.ExpectNotification("notifications/tools/list_changed")
	want := `{"tools":[{"name":"fake__only","inputSchema":{"type":"object"}}]}`
	if got := string(a.Ask("tools/list", "")); got != want {
		t.Errorf("%s", got)
	}
	// The tool that was decided on is gone: nothing is sent.
	if m := a.Expect(a.Request("tools/call", mcptest.CallParams("fake__echo", ""))); !bytes.Contains(m.ErrorBytes(), []byte(`"unknown_tool"`)) {
		t.Errorf("%s", m.Raw)
	}
	if got := string(silent.Ask("tools/list", "")); got != want {
		t.Errorf("the other agent lists %s", got)
	}
	for _, m := range silent.Lines() {
		if m.Kind == wire.Notification {
			t.Errorf("an agent that never listed was told: %s", m.Raw)
		}
	}
}

// TestListWait: initialize and list never wait for a server that hangs longer
// than list-wait, and the others' tools are there (R66, MB-059).
func TestListWait(t *testing.T) {
	w := newWorld(t, `version: 1
servers:
  hangs: {command: $FAKE, args: [-fault, no-initialize], start_timeout: 5s}
  fake: {command: $FAKE, args: [-events, $WORK/events]}
`+allowAll, nil)
	a := w.connect(Options{ListWait: 2 * time.Second})
	begin := time.Now()
	a.Initialize()
	if got := a.Ask("tools/list", ""); !bytes.Contains(got, []byte(`"fake__echo"`)) {
		t.Errorf("%.200s", got)
	}
	if took := time.Since(begin); took > 4500*time.Millisecond {
		t.Errorf("the list took %v", took)
	}
	m := a.Expect(a.Request("tools/call", mcptest.CallParams("hangs__x", "")))
	if !bytes.Contains(m.ResultBytes(), []byte(`"word":"timeout"`)) || !bytes.Contains(m.ResultBytes(), []byte("initialize")) {
		t.Errorf("%s", m.Raw)
	}
}

// TestRecordedListStartsNothing: a second process answers the list from the
// recorded catalog (R66).
func TestRecordedListStartsNothing(t *testing.T) {
	w := newWorld(t, plainConfig, nil)
	a := w.connect(Options{})
	a.Initialize()
	first := a.Ask("tools/list", "")
	w.restart()
	b := w.connect(Options{})
	if got := b.Initialize(); !bytes.Contains(got, []byte("fake: starts at the first call, 17 tools")) {
		t.Errorf("%s", got)
	}
	if second := b.Ask("tools/list", ""); !bytes.Equal(first, second) {
		t.Errorf("first %s\nthen %s", first, second)
	}
	if n := len(mcptest.Events(t, w.path("events"), "start")); n != 1 {
		t.Errorf("%d starts", n)
	}
}

// TestEndOfInput: requests that were piped in are answered before the end (R80).
func TestEndOfInput(t *testing.T) {
	w := newWorld(t, plainConfig, nil)
	var out bytes.Buffer
	in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}
{"jsonrpc":"2.0","id":2,"method":"ping"}
`
	if err := w.g.Serve(t.Context(), strings.NewReader(in), &out, Options{}); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(out.String(), "\n"); lines != 2 {
		t.Errorf("%d answers: %s", lines, out.String())
	}
}

// TestWriteFails: a peer that is gone ends the session with that error.
func TestWriteFails(t *testing.T) {
	w := newWorld(t, plainConfig, nil)
	in, toGateway := io.Pipe()
	fromGateway, out := io.Pipe()
	fromGateway.Close()
	ended := make(chan error, 1)
	go func() { ended <- w.g.Serve(t.Context(), in, out, Options{}) }() // ends with the failed write
	io.WriteString(toGateway, `{"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n")
	select {
	case err := <-ended:
		if err == nil {
			t.Error("no error")
		}
	case <-time.After(mcptest.Bound):
		t.Fatal("the session did not end")
	}
	toGateway.Close()
}
