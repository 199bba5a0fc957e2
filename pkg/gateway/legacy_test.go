package gateway

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"postern/pkg/config"
	"postern/pkg/mcptest"
	"postern/pkg/wire"
)

// unsharedConfig is moreConfig with one process for each session.
const unsharedConfig = `version: 1
servers:
  fake: {command: $FAKE, args: [-more, -events, $WORK/events], shared: false, sampling: true}
` + allowAll

// notes are the methods of the notifications that came so far.
func notes(a *mcptest.Agent) (methods []string) {
	for _, m := range a.Lines() {
		if m.Kind == wire.Notification {
			methods = append(methods, m.Method)
		}
	}
	return methods
}

// R54: each list is announced by itself, after it was asked for, once, and resources
// and templates under one name.
func TestEachListIsAnnounced(t *testing.T) {
	w := newWorld(t, moreConfig, nil)
	prompts, templates, all := w.connect(Options{}), w.connect(Options{}), w.connect(Options{})
	for _, a := range []*mcptest.Agent{prompts, templates, all} {
		a.Initialize()
	}
	prompts.Ask("prompts/list", "")
	templates.Ask("resources/templates/list", "")
	for _, list := range []string{"tools", "prompts", "resources", "resources/templates"} {
		all.Ask(list+"/list", "")
	}
	all.Call("fake__change", `{"prompts":[{"name":"new"}],"resources":[{"uri":"x:1","name":"n"}],"templates":[{"uriTemplate":"x:{a}","name":"t"}]}`)
	prompts.ExpectNotification("notifications/prompts/list_changed")
	templates.ExpectNotification("notifications/resources/list_changed")
	all.ExpectNotification("notifications/prompts/list_changed")
	all.ExpectNotification("notifications/resources/list_changed")
	if !mcptest.Eventually(func() bool {
		return string(all.Ask("resources/list", "")) == `{"resources":[{"uri":"x:1","name":"n"}]}` &&
			string(all.Ask("resources/templates/list", "")) == `{"resourceTemplates":[{"uriTemplate":"x:{a}","name":"t"}]}` &&
			string(all.Ask("prompts/list", "")) == `{"prompts":[{"name":"fake__new"}]}`
	}) {
		t.Error("the lists are not the new ones")
	}
	if got := notes(prompts); len(got) != 1 {
		t.Errorf("who asked for prompts alone heard %q", got)
	}
	for _, method := range notes(templates) {
		if method != "notifications/resources/list_changed" {
			t.Errorf("who asked for templates alone heard %s", method)
		}
	}
	for _, method := range notes(all) {
		if method == "notifications/tools/list_changed" {
			t.Error("tools, which did not change, were announced")
		}
	}
}

// MB-095, MB-093: a change that leaves the bytes alone is none.
func TestSameListIsNotAnnounced(t *testing.T) {
	w := newWorld(t, moreConfig, nil)
	a := w.connect(Options{})
	a.Initialize()
	list := string(a.Ask("prompts/list", ""))
	a.Ask("resources/list", "")
	same := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(list, `{"prompts":`), "}"), "fake__", "")
	a.Call("fake__change", `{"prompts":`+same+`}`)
	a.Call("fake__change", `{"resources":[]}`) // this one is told, behind the other
	a.ExpectNotification("notifications/resources/list_changed")
	for _, method := range notes(a) {
		if method == "notifications/prompts/list_changed" {
			t.Error("the same list was announced")
		}
	}
}

// R71, MB-105: all lists come in pages, whose cursors hold for their own list only.
func TestPagesOfResources(t *testing.T) {
	var items []string
	for n := range 300 {
		items = append(items, fmt.Sprintf(`{"uri":"r:%d","name":%q}`, n, strings.Repeat("n", 10_000)))
	}
	w := newWorld(t, `version: 1
servers:
  fake: {command: $FAKE, args: [-more, -resources, $WORK/r.json], max_message_bytes: 16MiB}
`+allowAll, map[string]string{"r.json": "[" + strings.Join(items, ",") + "]"})
	a := w.connect(Options{})
	a.Initialize()
	cursor, seen := "", 0
	for pages := 0; pages == 0 || cursor != ""; pages++ {
		raw := a.Ask("resources/list", `{"cursor":`+orNull(cursor)+`}`)
		if len(raw) > config.ListPageBytes+1000 || pages > 3 {
			t.Fatalf("page %d of %d bytes", pages, len(raw))
		}
		seen += bytes.Count(raw, []byte(`"uri":`))
		_, rest, _ := strings.Cut(string(raw), `"nextCursor":`)
		cursor = strings.TrimSuffix(rest, "}")
		if pages == 0 {
			if m := a.Expect(a.Request("prompts/list", `{"cursor":`+cursor+`}`)); !bytes.Contains(m.ErrorBytes(), []byte("-32602")) {
				t.Errorf("a cursor of another list: %s", m.Raw)
			}
		}
	}
	if seen != 300 {
		t.Errorf("%d resources", seen)
	}
}

func orNull(raw string) string {
	if raw == "" {
		return "null"
	}
	return raw
}

// received waits for a message of that method at the server, and is its line.
func received(t *testing.T, w *world, method string) (line string) {
	t.Helper()
	if !mcptest.Eventually(func() bool {
		for _, e := range mcptest.Events(t, w.path("events"), "recv") {
			if m, err := wire.Parse([]byte(e.Data)); err == nil && m.Method == method {
				line = e.Data
			}
		}
		return line != ""
	}) {
		t.Fatalf("the server got no %s", method)
	}
	return line
}

// MB-090: reads and prompts are cancelled as calls are, under the server's own id;
// an unknown id is ignored, and initialize is nobody's to cancel.
func TestMB090CancelOtherMethods(t *testing.T) {
	w := newWorld(t, moreConfig, nil)
	a := w.connect(Options{})
	a.Send(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`)
	a.Cancel(`"i"`, "no")
	a.Cancel(`"unknown"`, "no")
	a.Expect(`"i"`)
	a.Ask("prompts/list", "")
	for n, c := range []struct{ method, params string }{
		{"prompts/get", `{"name":"fake__greet","arguments":{"who":"never"}}`},
		{"resources/read", `{"uri":"fake://item/never"}`},
	} {
		id := a.Request(c.method, c.params)
		asked := received(t, w, c.method)
		a.Cancel(id, "no \"longer\" wanted")
		heard := mcptest.WaitEvents(t, w.path("events"), "cancelled", n+1)[n]
		m, err := wire.Parse([]byte(asked))
		if err != nil || !strings.Contains(heard.Data, `"requestId":`+string(m.IDBytes())) || !strings.Contains(heard.Data, `no \"longer\" wanted`) {
			t.Errorf("%s: the server was asked %s and heard %s", c.method, asked, heard.Data)
		}
	}
	a.Call("fake__echo", "{}")
	for _, m := range a.Lines() {
		if m.Error.Ok() {
			t.Errorf("answered: %s", m.Raw)
		}
	}
}
