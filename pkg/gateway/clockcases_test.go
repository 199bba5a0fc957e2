package gateway

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"postern/pkg/calllog"
	"postern/pkg/config"
	"postern/pkg/mcptest"
	"postern/pkg/wire"
)

// declaring is one fake server with more fields.
func declaring(fields string) string {
	return strings.Replace(plainConfig, "command: $FAKE,", "command: $FAKE, "+fields+",", 1)
}

// MB-085: progress keeps a call alive past its timeout, for the token goes to the
// server; the limit of the whole call ends it all the same, with both limits and
// the last progress in the error; without progress the timeout ends it.
func TestMB085ProgressExtends(t *testing.T) {
	t.Parallel()
	w := newWorld(t, declaring("timeout: 4s, max_timeout: 12s, max_concurrency: 8"), nil)
	a := w.connect(Options{})
	a.Initialize()
	a.Call("fake__echo", "{}")
	slow := func(steps int, meta string) string {
		return a.Request("tools/call", fmt.Sprintf(`{"name":"fake__progress","arguments":{"steps":%d,"ms":200}%s}`, steps, meta))
	}
	alive, endless, mute := slow(30, `,"_meta":{"progressToken":"t"}`), slow(300, `,"_meta":{"progressToken":"u"}`), slow(30, "")
	if m := a.Expect(mute); !bytes.Contains(m.Raw, []byte("no answer within 4s")) || !bytes.Contains(m.Raw, []byte(`"word":"timeout"`)) {
		t.Errorf("without a token: %s", m.Raw)
	}
	if m := a.Expect(alive); !bytes.Contains(m.Raw, []byte(`"text":"done"`)) {
		t.Errorf("with progress: %s", m.Raw)
	}
	m := a.Expect(endless)
	for _, want := range []string{`"word":"timeout"`, "altogether", "since its last sign of life is 4s", "progress messages came"} {
		if !bytes.Contains(m.Raw, []byte(want)) {
			t.Errorf("at the cap, without %q: %s", want, m.Raw)
		}
	}
}

// MB-087: a call that is never answered ends at a limit that is there without being
// declared, its row says timeout, and later calls work; a large argument is no
// reason to hang.
func TestMB087EveryCallHasALimit(t *testing.T) {
	d := config.Load(config.LoadOptions{Dirs: newWorld(t, plainConfig, nil).dirs}).Server("fake")
	if d.Timeout <= 0 || d.MaxTimeout < d.Timeout || d.StartTimeout <= 0 {
		t.Errorf("limits %v, %v, %v", d.Timeout, d.MaxTimeout, d.StartTimeout)
	}
	w := newWorld(t, declaring("timeout: 3s"), nil)
	a := w.connect(Options{})
	a.Initialize()
	m := a.Expect(a.Request("tools/call", mcptest.CallParams("fake__never", `{"x":"`+strings.Repeat("x", 15<<10)+`"}`)))
	if !bytes.Contains(m.Raw, []byte(`"word":"timeout"`)) {
		t.Errorf("%s", m.Raw)
	}
	a.Call("fake__echo", "{}")
	outcomes := map[string]calllog.Outcome{} // a row follows its answer, and another may overtake it
	for _, r := range w.rows(2) {
		outcomes[r.Tool] = r.Outcome
	}
	if outcomes["never"] != "timeout" || outcomes["echo"] != "ok" {
		t.Errorf("rows %v", outcomes)
	}
}

// MB-089: a cancellation goes to the server whose call it is, under that server's
// own id, past everything that waits there; a call that still waited is never sent.
func TestMB089CancelsItsOwnCall(t *testing.T) {
	w := newWorld(t, `version: 1
servers:
  a: {command: $FAKE, max_concurrency: 1, args: [-events, $WORK/a]}
  b: {command: $FAKE, max_concurrency: 1, args: [-events, $WORK/b]}
`+allowAll, nil)
	agent := w.connect(Options{})
	agent.Initialize()
	agent.Call("a__echo", "{}")
	agent.Call("b__echo", "{}")
	ones := agent.Request("tools/call", mcptest.CallParams("a__slow", `{"ms":2500}`))
	twos := agent.Request("tools/call", mcptest.CallParams("b__never", `{}`))
	mcptest.WaitEvents(t, w.path("a"), "call", 2)
	mcptest.WaitEvents(t, w.path("b"), "call", 2)
	waits := agent.Request("tools/call", mcptest.CallParams("b__echo", `{"n":"never sent"}`))
	behind := agent.Request("tools/call", mcptest.CallParams("b__echo", `{"n":"behind"}`))
	agent.Cancel(waits, "not now")
	agent.Cancel(twos, "enough")
	told := mcptest.WaitEvents(t, w.path("b"), "cancelled", 1)[0].Data
	id := ""
	for _, e := range mcptest.Events(t, w.path("b"), "recv") {
		if m, err := wire.Parse([]byte(e.Data)); err == nil && bytes.Contains(m.ParamsBytes(), []byte(`"name":"never"`)) {
			id = string(m.IDBytes())
		}
	}
	if !strings.Contains(told, `"requestId":`+id+`,`) || !strings.Contains(told, `"reason":"enough"`) {
		t.Errorf("b was told %s, and its call has the id %s", told, id)
	}
	agent.Expect(behind)
	if m := agent.Expect(ones); !bytes.Contains(m.Raw, []byte("done")) {
		t.Errorf("a's call: %s", m.Raw)
	}
	if n := len(mcptest.Events(t, w.path("a"), "cancelled")); n != 0 {
		t.Errorf("a was told of %d cancellations", n)
	}
	for _, e := range mcptest.Events(t, w.path("b"), "call") {
		if strings.Contains(e.Data, "never sent") {
			t.Error("a cancelled call was sent")
		}
	}
	agent.Cancel("4711", "an id that is not known")
	agent.Call("a__echo", "{}")
}

// MB-091: a server that a cancellation kills costs those who called it an error and
// no wait, and is started once more for the next call.
func TestMB091FragileServer(t *testing.T) {
	w := newWorld(t, strings.Replace(declaring("max_concurrency: 8"), "args: [", "args: [-fault, exit-on=notifications/cancelled, ", 1), nil)
	a, b := w.connect(Options{}), w.connect(Options{})
	a.Initialize()
	b.Initialize()
	a.Call("fake__echo", "{}")
	mine := a.Request("tools/call", mcptest.CallParams("fake__never", `{}`))
	theirs := b.Request("tools/call", mcptest.CallParams("fake__never", `{"n":2}`))
	mcptest.WaitEvents(t, w.path("events"), "call", 3)
	b.Cancel(theirs, "enough")
	if m := a.Expect(mine); !bytes.Contains(m.Raw, []byte(`"word":"outcome_unknown"`)) {
		t.Errorf("the other agent's call: %s", m.Raw)
	}
	a.Call("fake__echo", "{}")
	b.Call("fake__echo", "{}")
	if n := len(mcptest.Events(t, w.path("events"), "start")); n != 2 {
		t.Errorf("%d processes", n)
	}
	if n := len(mcptest.Events(t, w.path("events"), "call")); n != 5 {
		t.Errorf("%d calls were sent: none is sent twice", n)
	}
}

// MB-095: a tool that a server adds and announces is announced to the agent, once,
// and is listed and called.
func TestMB095NewToolsAreHeardOf(t *testing.T) {
	w := newWorld(t, plainConfig, nil)
	a := w.connect(Options{})
	a.Initialize()
	a.Ask("tools/list", "")
	a.Call("fake__change", `{"tools":[{"name":"change","inputSchema":{"type":"object"}},{"name":"added","inputSchema":{"type":"object"}}]}`)
	a.ExpectNotification("notifications/tools/list_changed")
	if got := shows(t, a.Ask("tools/list", "")); got != "fake__change fake__added" {
		t.Errorf("listed: %s", got)
	}
	if got := a.Call("fake__added", `{"n":1}`); !bytes.Contains(got, []byte(`"n":1`)) {
		t.Errorf("called: %s", got)
	}
	a.Call("fake__change", `{"tools":[]}`)
	a.ExpectNotification("notifications/tools/list_changed") // the second change's, behind all of the first's
	n := 0
	for _, m := range a.Lines() {
		if m.Kind == wire.Notification {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d notifications for two changes", n)
	}
}

// MB-093: a server that announces a change of its lists over and over, while they
// stay what they were, is listed a few times, and the agent hears nothing.
func TestMB093NothingChanged(t *testing.T) {
	w := newWorld(t, plainConfig, nil)
	a := w.connect(Options{})
	a.Initialize()
	a.Ask("tools/list", "")
	begin, before := time.Now(), w.count("tools/list")
	for time.Since(begin) < 3*time.Second {
		a.Call("fake__notify", `{"method":"notifications/tools/list_changed","params":{}}`)
		time.Sleep(20 * time.Millisecond)
	}
	took := time.Since(begin)
	if n := w.count("tools/list") - before; n > 4+int(took/config.ListUnchangedRest) {
		t.Errorf("listed %d times in %v", n, took)
	}
	for _, m := range a.Lines() {
		if m.Kind == wire.Notification {
			t.Errorf("the agent heard %s", m.Raw)
		}
	}
}
