package hub

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"postern/pkg/call"
)

// The lines of version 1 are what this build writes, and it reads them as that.
func TestWireFixtures(t *testing.T) {
	text, err := os.ReadFile("testdata/wire/v1.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
	next := func() []byte {
		l := lines[0]
		lines = lines[1:]
		return []byte(strings.TrimSuffix(l, "\n") + "\n")
	}
	for _, h := range []Hello{
		{Kind: KindBridge, Version: "1.2", Dir: "/home/u/src/x", Policy: "reviewer", ListWaitMS: 5000, ClientPID: 123, Locale: []string{"LANG=C.UTF-8", "TERM=xterm"}},
		{Kind: KindBridge, NoProject: true, Only: "wiki"},
		{Kind: KindCall, Version: "1.2", Via: "mcp-call", Dir: "/home/u", Project: "/home/u/src/x", Exposure: "full"},
	} {
		want := next()
		if got := h.line(); !bytes.Equal(got, want) {
			t.Errorf("written %s, not %s", got, want)
		}
		if o, err := parseOpening(want); err != nil || o.hello == nil || o.order != nil || !reflect.DeepEqual(*o.hello, h) {
			t.Errorf("%s is read as %+v, %v", want, o.hello, err)
		}
	}
	for _, order := range []order{{Verb: call.VerbKill, Name: "wiki", ClientPID: 123}, {Verb: call.VerbStatus}} {
		want := next()
		if got := order.line(); !bytes.Equal(got, want) {
			t.Errorf("written %s, not %s", got, want)
		}
		if o, err := parseOpening(want); err != nil || o.order == nil || o.hello != nil || *o.order != order {
			t.Errorf("%s is read as %+v, %v", want, o.order, err)
		}
	}
	for _, welcome := range []welcome{{Session: "06h2kjnkwf9ytbsq9h9zmw2488", Want: []string{"GITHUB_TOKEN"}}, {Session: "06h2kjnkwf9ytbsq9h9zmw2488"}, {Session: "06h2kjnkwf9ytbsq9h9zmw2488", Notes: []string{"mcp.yaml:3:1: no such key"}}} {
		want := next()
		if got, err := parseWelcome(want); err != nil || !reflect.DeepEqual(got, welcome) || !bytes.Equal(line(welcome), want) {
			t.Errorf("%s is read as %+v, %v and written %s", want, got, err, line(welcome))
		}
	}
	if got := (values{Env: map[string]string{"GITHUB_TOKEN": "x", "BYTES": "caf\xe9"}}).line(); !bytes.Equal(got, next()) {
		t.Errorf("written %s", got)
	}
	for _, refused := range []RemoteError{
		{Word: wordRetiring, Message: "this hub takes no new session: look for it again", Exit: 6},
		{Word: "upstream_unavailable", Message: "wiki is not up", Exit: 6, Remedy: "mcp-serve start wiki"},
	} {
		var got *RemoteError
		want := next()
		if _, err := parseWelcome(want); !errors.As(err, &got) || *got != refused {
			t.Errorf("%s is read as %v", want, err)
		}
		if _, err := parseResult(want); !errors.As(err, &got) || *got != refused {
			t.Errorf("%s is read as %v", want, err)
		}
	}
	if got, err := parseResult(next()); err != nil || string(got) != `{"sessions":2}` {
		t.Errorf("the result is %s, %v", got, err)
	}
	if stopped := next(); !isStopped(stopped) || string(stopped) != stoppedLine+"\n" || isStopped([]byte(`{"jsonrpc":"2.0"}`)) {
		t.Errorf("%s is not the last line", stopped)
	}
}

// R81: only an object with "postern":1 is a line of the hub's own; of those the bad
// ones are refused in words, and anything else is MCP.
func TestOpening(t *testing.T) {
	for _, text := range []string{
		"", "x", "[]", "1", "null", "{}", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"postern":2,"verb":"status"}`,
		`{"postern":"1","verb":"status"}`, `{"postern":1,"verb":"status"`, `{"postern":null}`,
	} {
		if o, err := parseOpening([]byte(text)); err != nil || o.hello != nil || o.order != nil {
			t.Errorf("%q: %+v, %v", text, o, err)
		}
	}
	for text, says := range map[string]string{
		`{"postern":1}`: "a kind or a verb",
		`{"postern":1,"kind":"bridge","verb":"status"}`:                                        "a kind or a verb",
		`{"postern":1,"kind":"agent"}`:                                                         `kind "agent"`,
		`{"postern":1,"kind":7}`:                                                               "kind has a value of the wrong kind: number",
		`{"postern":1,"verb":["a"]}`:                                                           "verb has a value of the wrong kind: array",
		`{"postern":1,"kind":"bridge","list_wait_ms":-1}`:                                      "list_wait_ms",
		`{"postern":1,"kind":"bridge","list_wait_ms":60001}`:                                   "60000",
		`{"postern":1,"kind":"bridge","dir":"src"}`:                                            "absolute",
		`{"postern":1,"kind":"bridge","project":"src"}`:                                        "absolute",
		`{"postern":1,"kind":"bridge","project":"/src","no_project":true}`:                     "exclude",
		`{"postern":1,"kind":"bridge","via":"control"}`:                                        "control", // would not be shown by status
		`{"postern":1,"kind":"call","via":"` + strings.Repeat("x", 1<<10) + `"}`:               "via",
		`{"postern":1,"kind":"bridge","exposure":"top_k"}`:                                     "top_k",
		`{"postern":1,"kind":"bridge","locale":{"LANG":"C"}}`:                                  "locale has a value of the wrong kind: object",
		`{"postern":1,"kind":"bridge","list_wait_ms":123456789012345678901234567890123456789}`: "list_wait_ms",
	} {
		var refused *RemoteError
		if _, err := parseOpening([]byte(text)); !errors.As(err, &refused) || !strings.Contains(refused.Message, says) || refused.Exit != exitUsage {
			t.Errorf("%s: %v, without %q", text, err, says)
		}
	}
}

// Answers that are no hub's are errors in words, not guesses.
func TestAnswersOfOthers(t *testing.T) {
	for _, text := range []string{"", "x", "[]", "{}", `{"session":"x"}`, `{"postern":2,"session":"x"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"postern":1,"session":1}`} {
		if w, err := parseWelcome([]byte(text)); err == nil {
			t.Errorf("%q is a welcome: %+v", text, w)
		}
	}
}

// FuzzOpening: whatever comes first, it is MCP, or refused, or within the bounds
// that a session relies on, and then written as it was read.
func FuzzOpening(f *testing.F) {
	text, err := os.ReadFile("testdata/wire/v1.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for l := range bytes.Lines(text) {
		f.Add(l)
	}
	f.Add([]byte(`{"postern":1,"kind":"bridge","dir":"/\u0000"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		o, err := parseOpening(text)
		switch {
		case err != nil:
			if answer := line(remote(err)); !json.Valid(answer) || bytes.IndexByte(answer, '\n') != len(answer)-1 {
				t.Errorf("the refusal is %q", answer)
			}
		case o.hello != nil && o.order != nil:
			t.Error("both a hello and an order")
		case o.hello != nil:
			again, err := parseOpening(o.hello.line())
			if err != nil || again.hello == nil || !bytes.Equal(again.hello.line(), o.hello.line()) {
				t.Errorf("%s is read back as %+v, %v", o.hello.line(), again.hello, err)
			}
		case o.order != nil:
			again, err := parseOpening(o.order.line())
			if err != nil || again.order == nil || *again.order != *o.order && json.Valid(text) {
				t.Errorf("%s is read back as %+v, %v", o.order.line(), again.order, err)
			}
		}
		_, _ = parseWelcome(text)
		_, _ = parseResult(text)
	})
}
