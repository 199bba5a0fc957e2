package call

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"postern/pkg/config"
	"postern/pkg/mcptest"
)

// R72, R61: an update comes under the URI by which the agent subscribed; of what
// may not be read any more there is none, and to end a subscription needs no right.
func TestUpdatesUnderTheAgentsURI(t *testing.T) {
	t.Parallel()
	w := newWorld(t, two, twoFiles())
	w.list(false, "a")
	w.list(false, "b")
	p := &person{capabilities: everything}
	s := w.agent(p, SessionOptions{})
	const marked = "postern+b:fake://text"
	subscribe := func(method, uri string) Request {
		return Request{Method: method, Params: []byte(fmt.Sprintf(`{"uri":%q}`, uri))}
	}
	_, row := w.answered(s, subscribe(methodSubscribe, marked))
	if row.Tool != "fake://text" || row.Upstream != "b" || row.Via != ViaResource {
		t.Errorf("%+v", row)
	}
	w.answered(s, subscribe(methodSubscribe, "b://x/y"))
	w.answered(s, tool("b__update", `{"uri":"fake://text"}`))
	w.answered(s, tool("b__update", `{"uri":"b://x/y"}`))
	w.answered(s, tool("a__update", `{"uri":"fake://text"}`)) // nobody subscribed to that one
	told := func() (uris []string) {
		for _, note := range p.news() {
			if rest, ok := strings.CutPrefix(note, `notifications/resources/updated {"uri":"`); ok {
				uris = append(uris, strings.TrimSuffix(rest, `"}`))
			}
		}
		return uris
	}
	if got := told(); !slices.Equal(got, []string{marked, "b://x/y"}) {
		t.Errorf("told %q", got)
	}
	w.edit(s, strings.Replace(two, `deny: [`, `deny: ["resource:b/*", `, 1))
	w.answered(s, tool("b__update", `{"uri":"b://x/y"}`))
	if got := told(); len(got) != 2 {
		t.Errorf("told %q of what it may not read", got)
	}
	w.answered(s, subscribe(methodUnsubscribe, marked))
	w.refused(s, subscribe(methodUnsubscribe, marked), PolicyDenied) // it is none of its subscriptions now
	w.refused(s, subscribe(methodSubscribe, marked), PolicyDenied)
}

// R40: for subscriptions and completions nobody is asked.
func TestNobodyIsAskedForSubscriptions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.Replace(two, `deny: [`, "ask: [\"resource:a/fake://text\", \"prompt:a/greet\"]\n    deny: [", 1), twoFiles())
	w.list(false, "a")
	s := w.session(false)
	w.refused(s, Request{Method: methodRead, Params: []byte(`{"uri":"fake://text"}`)}, ApprovalRequired)
	for _, r := range []Request{
		{Method: methodSubscribe, Params: []byte(`{"uri":"fake://text"}`)},
		{Method: methodComplete, Params: []byte(`{"ref":{"type":"ref/prompt","name":"a__greet"}}`)},
	} {
		refusal, _ := w.refused(s, r, PolicyDenied)
		if refusal.Reason != "not_permitted" || !strings.Contains(refusal.Message, "nobody is asked") {
			t.Errorf("%+v", refusal)
		}
	}
}

// R61: what a result links to is read from the server that linked to it, once
// lists and templates have been looked through.
func TestLinksOfResults(t *testing.T) {
	t.Parallel()
	w := newWorld(t, two, twoFiles())
	w.list(false, "a")
	w.list(false, "b")
	s, other := w.session(false), w.session(false)
	read := func(uri string) Request {
		return Request{Method: methodRead, Params: []byte(fmt.Sprintf(`{"uri":%q,"_meta":{"fake/result":{"contents":[]}}}`, uri))}
	}
	w.refused(s, read("linked://1"), UnknownResource)
	w.answered(s, tool("b__raw", `{"result":{"content":[{"type":"text","text":""},{"uri":"linked://1","type":"resource_link"},{"type":"resource_link","uri":"fake://text"},{"type":"resource_link","uri":5}]}}`))
	w.answered(s, tool("a__raw", `{"result":{"content":[{"type":"resource_link","uri":"linked://1"}]}}`))
	for uri, server := range map[string]string{"linked://1": "b", "postern+a:linked://1": "a", "fake://text": "a", "postern+b:linked://1": "b"} {
		if _, row := w.answered(s, read(uri)); row.Upstream != server {
			t.Errorf("%s was read from %s", uri, row.Upstream)
		}
	}
	w.refused(other, read("linked://1"), UnknownResource)
	w.answered(s, Request{Method: methodPrompt, Params: []byte(`{"name":"a__greet","_meta":{"fake/result":{"messages":[{"role":"user","content":{"type":"resource_link","uri":"linked://2"}}]}}}`)})
	w.answered(s, read("linked://2"))
}

func TestLinkMemory(t *testing.T) {
	var l links
	for n := range config.LinkMemory + 1 {
		l.add("a", fmt.Sprint("u", n))
		l.add("a", fmt.Sprint("u", n))
	}
	if l.has("a", "u0") || l.first("u0") != "" || !l.has("a", "u1") || l.first(fmt.Sprint("u", config.LinkMemory)) != "a" {
		t.Error("it does not keep the last ones")
	}
	l.add("b", "u5")
	if l.first("u5") != "a" || !l.has("b", "u5") || l.has("b", "u6") || len(l.seen) != config.LinkMemory {
		t.Error("a link of another server took its place")
	}
}

// R73: a method that is not known here goes to the one server that it can be meant
// for, as an execute tool of its name.
func TestUnknownMethods(t *testing.T) {
	t.Parallel()
	w := newWorld(t, more("shared: true"), nil)
	s := w.agent(&person{}, SessionOptions{})
	vendor := Request{Method: "vendor/x", Params: []byte(`{"n":1e400}`)}
	a, row := w.answered(s, vendor) // it starts what was never listed (R40)
	if got := string(a.Reply.ResultBytes()); got != `{"method":"vendor/x","params":{"n":1e400}}` {
		t.Errorf("got %s", got)
	}
	if row.Tool != "vendor/x" || row.Via != ViaMethod || row.Tier != "execute" {
		t.Errorf("%+v", row)
	}
	w.answered(s, Request{Method: "vendor/none"})
	modern := vendor
	modern.Modern = &Modern{}
	w.refused(s, modern, UnknownMethod)
	w.edit(s, strings.Replace(more("shared: true"), "allow: [read, write, execute]", "allow: [read, write]", 1))
	w.refused(s, vendor, PolicyDenied)
	w.edit(s, strings.Replace(more("shared: true"), `servers: ["*"]`, `servers: ["*"], deny: ["fake/vendor/*"]`, 1))
	w.refused(s, vendor, PolicyDenied)
	w.edit(s, strings.Replace(more("shared: true"), "\npolicies:", "\n  other: {command: $FAKE}\npolicies:", 1))
	w.refused(s, vendor, UnknownMethod)
}

// R16, R73: that roots changed is told to the servers that know them, a
// notification that is not known here to the one server that it can be meant for.
func TestNotificationsOfTheAgent(t *testing.T) {
	t.Parallel()
	const own = `
  own: {command: $FAKE, args: [-more, -events, $WORK/own], shared: false}
policies:`
	w := newWorld(t, strings.Replace(more("shared: true"), "\npolicies:", own, 1), nil)
	s := w.agent(&person{capabilities: everything}, SessionOptions{})
	s.NotifyServers("notifications/roots/list_changed", nil) // nothing runs, and nothing starts
	w.answered(s, tool("own__echo", "{}"))
	w.answered(s, tool("fake__echo", "{}"))
	s.NotifyServers("notifications/roots/list_changed", []byte(`{"x":1.0}`))
	s.NotifyServers("notifications/vendor/x", []byte(`{"x":1.0}`)) // there are two
	w.answered(s, tool("own__echo", "{}"))
	w.answered(s, tool("fake__echo", "{}"))
	got := func(file string) (notes []string) {
		for _, e := range mcptest.Events(t, w.path(file), "recv") {
			if strings.Contains(e.Data, "roots/list_changed") || strings.Contains(e.Data, "notifications/vendor") {
				notes = append(notes, e.Data)
			}
		}
		return notes
	}
	if notes := got("own"); len(notes) != 1 || !strings.Contains(notes[0], `"params":{"x":1.0}`) {
		t.Errorf("the session's own server got %q", notes)
	}
	if notes := got("events"); len(notes) != 0 {
		t.Errorf("the shared server got %q", notes)
	}
	only := w.agent(&person{capabilities: everything}, SessionOptions{Only: "fake"})
	w.answered(only, tool("echo", "{}")) // it is this session's from its first call on
	only.NotifyServers("notifications/vendor/x", []byte(`{"x":1.0}`))
	w.answered(only, tool("echo", "{}"))
	if notes := got("events"); len(notes) != 1 || !strings.Contains(notes[0], `"notifications/vendor/x","params":{"x":1.0}`) {
		t.Errorf("the only server got %q", notes)
	}
}

// R21, MB-049: a server that is not shared has a process for each session, in its
// agent's directory, which ends with it.
func TestMB049ServersOfOneSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t, more("shared: false"), map[string]string{"one/x": "", "two/x": ""})
	for _, dir := range []string{"one", "two"} {
		s := w.agent(&person{}, SessionOptions{Dir: w.path(dir)})
		a, _ := w.answered(s, tool("fake__env", "{}"))
		if !strings.Contains(string(a.Reply.Raw), fmt.Sprintf(`"cwd":%q`, w.path(dir))) {
			t.Errorf("it runs elsewhere: %s", a.Reply.Raw)
		}
		if dir == "one" {
			defer until(t, "both are gone", func() bool { return w.alive() == 0 })
			defer s.Close()
			continue
		}
		if w.starts() != 2 {
			t.Errorf("%d starts", w.starts())
		}
		s.Close()
	}
	until(t, "one is gone", func() bool { return w.alive() == 1 })
}

// R16: an eager server of one session is told what the agent can be asked, and so
// waits until that is known.
func TestEagerServerOfOneSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t, more("shared: false, start: eager"), nil)
	p := &person{capabilities: everything}
	s, err := w.host.Open(SessionOptions{Via: "direct", Agent: p, Eager: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.renew(); w.starts() != 0 {
		t.Error("it was started before the agent said anything")
	}
	s.Claim("person", "1")
	if hello := mcptest.WaitEvents(t, w.events, "recv", 1)[0].Data; !strings.Contains(hello, `"roots":{"listChanged":true}`) {
		t.Errorf("it was told %s", hello)
	}
}
