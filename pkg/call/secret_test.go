package call

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"postern/pkg/upstream"
)

// R90, R21: a process that lives for days gives servers a secret as it is after a
// reload, also those of sessions that are open; others run on.
func TestReloadReadsSecretsAgain(t *testing.T) {
	t.Parallel()
	w := newHub(t, `version: 1
secrets: {TOKEN: "file:$WORK/token", LOCKED: "file:$WORK/locked"}
servers:
  fake: {command: $FAKE, args: [-events, $WORK/events], env: {GIVEN: "${TOKEN}"}}
  plain: {command: $FAKE, args: [-events, $WORK/events]}
  locked: {command: $FAKE, args: [-events, $WORK/events], env: {GIVEN: "${LOCKED}"}}
`+allowAll, map[string]string{"token": "first-token"})
	s, other := w.agent(&person{}, SessionOptions{}), w.agent(&person{}, SessionOptions{})
	before, plain := w.child(s, "fake__env"), w.child(other, "plain__env")
	w.refused(s, tool("locked__env", "{}"), Unavailable)
	w.write("token", "second-token")
	w.write("locked", "third-token")
	if got := w.child(other, "fake__env"); got.PID != before.PID || got.Env["GIVEN"] != "first-token" {
		t.Errorf("it is looked at without need: %+v", got)
	}
	control[Reloaded](w, VerbReload, "")
	for _, s := range []*Session{s, other} {
		if got := w.child(s, "fake__env"); got.PID == before.PID || got.Env["GIVEN"] != "second-token" {
			t.Errorf("after the reload %+v", got)
		}
		if got := w.child(s, "plain__env"); got.PID != plain.PID {
			t.Error("a server that did not change was stopped")
		}
		if got := w.child(s, "locked__env"); got.Env["GIVEN"] != "third-token" {
			t.Errorf("after the reload %+v", got)
		}
	}
	until(t, "the one before has ended", func() bool { return w.alive() == 3 })
	control[Reloaded](w, VerbReload, "")
	if got := w.child(s, "plain__env"); got.PID != plain.PID || w.starts() != 4 {
		t.Errorf("a reload of nothing started something: %d starts", w.starts())
	}
}

// C31: a value that a server was given is in no row, catalog, refusal or error,
// nor in anything else that is written, also where the server says it back
// when it fails. What it says back as an answer is the answer.
func TestValuesStayInMemory(t *testing.T) {
	t.Parallel()
	const value = "s3cr3t-v4lue"
	yaml := "version: 1\nservers:\n" +
		"  good: {command: $FAKE, args: [-events, $WORK/events], env: {KEY: \"${KEY}\"}, agent_env: [KEY]}\n" +
		"  bad: {command: $FAKE, args: [-fault, \"initialize={\\\"protocolVersion\\\":\\\"${KEY}\\\"}\"], env: {AUTH: \"Bearer ${KEY}\"}, agent_env: [KEY]}\n" +
		"  dies: {command: $FAKE, args: [-fault, \"stderr-line=${KEY}\", -fault, exit-at-start=3], agent_env: [KEY]}\n" +
		"  lost: {command: \"/nowhere/${KEY}\", agent_env: [KEY]}\n" +
		"  poor: {command: $FAKE, env: {KEY: \"${KEY}${MORE}\"}, agent_env: [KEY]}\n" + allowAll
	w := newWorld(t, yaml, nil)
	w.host.Close()
	w.environ = append(w.environ, "KEY="+value)
	w.open()
	s := w.session(false)
	a, _ := w.answered(s, tool("good__env", "{}"))
	if !strings.Contains(string(a.Reply.Raw), value) {
		t.Fatal("the server was not given the value: the test tests nothing")
	}
	w.answered(s, tool("good__echo", "{}"))
	w.refused(s, tool("good__exit", `{"stderr":"`+value+`"}`), OutcomeUnknown)
	for _, exposed := range []string{"bad__x", "dies__x", "lost__x", "poor__x", "good__x"} {
		a, _ := w.do(t.Context(), s, tool(exposed, "{}"))
		if a.Refusal == nil {
			t.Fatalf("%s: answered", exposed)
		}
		if text := a.Refusal.Error() + string(a.Refusal.Data()) + string(a.Refusal.ToolResult()); strings.Contains(text, value) {
			t.Errorf("%s: the value stands in %s", exposed, text)
		}
	}
	v := s.View()
	s.Refresh(t.Context(), v, v.Servers, RefreshLimits{Jobs: 3, Timeout: upstreamBound}, func(r Refreshed) {
		if r.Err != nil && strings.Contains(r.Err.Error(), value) {
			t.Errorf("refresh: the value stands in %v", r.Err)
		}
	})
	if strings.Contains(strings.Join(w.warnings(), "\n"), value) {
		t.Errorf("the value stands in a warning: %q", w.warnings())
	}
	w.host.Close()
	for _, dir := range []string{w.dirs.Cache, w.path("state/calls"), w.path("state/stderr")} {
		w.noneHolds(dir, value)
	}
}

// upstreamBound is how long a refresh gives a fake.
const upstreamBound = 10e9

// noneHolds fails the test for a file below dir that holds text, and when there
// is no file.
func (w *world) noneHolds(dir, text string) {
	w.t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		files++
		if strings.Contains(string(raw), text) {
			w.t.Errorf("%s holds %s", path, text)
		}
		return err
	})
	if err != nil || files == 0 {
		w.t.Errorf("%d files below %s: %v", files, dir, err)
	}
}

// R42: the failure of a connection is worded, with what of stderr may be told.
func TestWordFailure(t *testing.T) {
	for _, c := range []struct {
		word upstream.Word
		sent bool
		want Word
	}{
		{upstream.Spawn, false, Spawn},
		{upstream.Closed, false, Closed}, {upstream.Closed, true, OutcomeUnknown},
		{upstream.Protocol, false, ProtocolError}, {upstream.Protocol, true, ProtocolError},
		{upstream.Timeout, false, Timeout}, {upstream.Timeout, true, Timeout},
		{upstream.Overload, false, Overload}, {upstream.Overload, true, Overload},
		{upstream.Aborted, false, Closed}, {upstream.Aborted, true, OutcomeUnknown},
		{upstream.ServerError, true, ServerError},
		{upstream.Word("new"), false, Unavailable},
	} {
		r := &Refusal{Word: Unavailable}
		wordFailure(r, &upstream.Failure{Word: c.word, Server: "docs", Phase: "tools/call", Detail: "detail", Stderr: "last words", Sent: c.sent})
		if r.Word != c.want || r.Reason != "tools/call" || !strings.HasPrefix(r.Message, "server docs: tools/call: detail") {
			t.Errorf("%s, sent %v: %+v", c.word, c.sent, r)
		}
		if strings.Contains(r.Message, "may have happened") != c.sent || !strings.Contains(r.Message, "detail; the last it wrote: last words") {
			t.Errorf("%s, sent %v: %s", c.word, c.sent, r.Message)
		}
	}
	// A start that was given up is made again by the next call.
	r := &Refusal{}
	wordFailure(r, &upstream.Failure{Word: upstream.Aborted, Server: "docs", Phase: "start", Detail: "detail"})
	if r.Word != Closed || r.Remedy != TriesAgain {
		t.Errorf("%+v", r)
	}
}
