package call

import (
	"strings"
	"testing"
	"unicode/utf8"

	"postern/pkg/config"
	"postern/pkg/wire"
)

// R16, R72: a server asks only what the agent declared that it answers, and only
// what this server may ask.
func TestQuestionsThatMayBePut(t *testing.T) {
	shared := &config.Server{ID: "srv", Shared: true}
	own := &config.Server{ID: "srv"}
	model := &config.Server{ID: "srv", Sampling: true}
	const all = `{"elicitation":{"form":{},"url":{}},"roots":{},"sampling":{"tools":{}}}`
	for _, c := range []struct {
		server               *config.Server
		capabilities, method string
		params               string
		want                 string // the params it is put with, or
		problem              string
	}{
		{shared, all, methodElicit, `{"message":"m","x":1.0}`, `{"message":"[server srv] m","x":1.0}`, ""},
		{own, all, methodElicit, `{"mode":"form","message":"\u006d"}`, `{"mode":"form","message":"[server srv] \u006d"}`, ""},
		{own, all, methodElicit, `{"mode":"url","message":"","url":"u"}`, `{"mode":"url","message":"[server srv] ","url":"u"}`, ""},
		{own, `{"elicitation":{}}`, methodElicit, `{"message":"m"}`, `{"message":"[server srv] m"}`, ""},
		{own, `{"elicitation":{}}`, methodElicit, `{"message":"m","mode":"url"}`, "", "does not offer"},
		{own, `{"elicitation":{"url":{}}}`, methodElicit, `{"message":"m"}`, "", "does not offer"},
		{own, all, methodElicit, `{"message":"m","mode":"voice"}`, "", "does not offer"},
		{own, all, methodElicit, `{"message":"m","mode":"form","Mode":"url"}`, "", "does not offer"},
		{own, `{"roots":{}}`, methodElicit, `{"message":"m"}`, "", "does not offer"},
		{own, all, methodElicit, `{"message":5}`, "", "no message"},
		{own, all, methodElicit, ``, "", "does not offer"},
		{own, all, methodElicit, `{"message":"a","message":"b"}`, "", "twice"},
		{own, all, methodElicit, `{"message":" Postern  approval 123"}`, "", "gateway's own"},
		{own, all, methodRoots, `{"x":1}`, `{"x":1}`, ""},
		{own, all, methodRoots, ``, ``, ""},
		{shared, all, methodRoots, ``, "", "shared"},
		{own, `{"roots":null}`, methodRoots, ``, "", "does not offer"},
		{model, all, methodSample, `{"messages":[],"tools":[]}`, `{"messages":[],"tools":[]}`, ""},
		{model, `{"sampling":{}}`, methodSample, `{"messages":[]}`, `{"messages":[]}`, ""},
		{model, `{"sampling":{}}`, methodSample, `{"messages":[],"toolChoice":{}}`, "", "does not offer"},
		{own, all, methodSample, `{"messages":[]}`, "", "may not use"},
		{shared, all, methodSample, `{"messages":[]}`, "", "may not use"},
		{own, all, "tasks/list", `{}`, "", "does not offer"},
		{own, all, "vendor/x", `{}`, "", "not known"},
	} {
		s := &Session{o: SessionOptions{Agent: &person{capabilities: c.capabilities}}}
		var params []byte
		if c.params != "" {
			params = []byte(c.params)
		}
		got, problem := s.question(c.server, c.method, params)
		if string(got) != c.want || (problem == "") != (c.problem == "") || !strings.Contains(problem, c.problem) {
			t.Errorf("%s %s: %s, %q; want %s, %q", c.method, c.params, got, problem, c.want, c.problem)
		}
		s.o.Agent = &person{capabilities: c.capabilities, modern: true}
		if _, problem := s.question(c.server, c.method, params); problem == "" {
			t.Errorf("%s: a modern agent is asked", c.method)
		}
		s.o.Agent = nil
		if _, problem := s.question(c.server, c.method, params); problem == "" {
			t.Errorf("%s: nobody is asked", c.method)
		}
	}
}

// R62: where the session is one server's alone, its questions stay as they are.
func TestQuestionsOfTheOnlyServer(t *testing.T) {
	s := &Session{o: SessionOptions{Only: "srv", Agent: &person{capabilities: `{"elicitation":{}}`}}}
	d := &config.Server{ID: "srv", Shared: true}
	if got, problem := s.question(d, methodElicit, []byte(`{"message":"m"}`)); string(got) != `{"message":"m"}` || problem != "" {
		t.Errorf("%s, %s", got, problem)
	}
	if _, problem := s.question(d, methodElicit, []byte(`{"message":"postern approval 1"}`)); problem == "" {
		t.Error("it passes for the gateway")
	}
}

// R72: what a person could take for a question of the gateway's own.
func TestForgedQuestions(t *testing.T) {
	for message, want := range map[string]bool{
		"postern approval": true, "Postern Approval 4711": true, "\n\t postern\u00a0approval": true, "**postern** approval": true,
		"\u200bpostern\u200b \u202eapproval": true, "[postern approval] x": true, "postern-approval": true, "posternapproval": true,
		"post\u200bern approval": true, "p\u00ado\u0301stern\u3164 appro\u202eval": true, "\x1bpostern\x00 approval": true,
		"postern": false, "approval": false, "a postern approval": false, "post ern approval": false, "": false, "postern approve": false,
		"1 postern approval": false,
	} {
		if got := forged(message); got != want {
			t.Errorf("%q: %v", message, got)
		}
	}
}

func FuzzWorded(f *testing.F) {
	f.Add([]byte(`{"message":"m\u0041","mode":"form"}`), "srv")
	f.Add([]byte(`{"x":{"message":1},"message":"\"}"}`), "a-b_c")
	f.Fuzz(func(t *testing.T, params []byte, id string) {
		if _, err := wire.Parse(wire.RequestLine([]byte("1"), "x", params)); err != nil || !wire.IsObject(params) || !utf8.ValidString(id) {
			return
		}
		var at [1]wire.Span
		if wire.Lookup(params, []string{"message"}, at[:]) != nil {
			return
		}
		before, err := wire.Unquote(at[0].Of(params))
		worded, problem := (&Session{}).worded(&config.Server{ID: id}, params)
		if problem != "" {
			return
		}
		if err != nil || wire.Lookup(worded, []string{"message"}, at[:]) != nil {
			t.Fatalf("%s became %s", params, worded)
		}
		after, err := wire.Unquote(at[0].Of(worded))
		if err != nil || after != "[server "+id+"] "+before {
			t.Errorf("%q became %q (%v)", before, after, err)
		}
		rest := string(worded[:at[0].Start]) + string(worded[at[0].End:])
		if wire.Lookup(params, []string{"message"}, at[:]); rest != string(params[:at[0].Start])+string(params[at[0].End:]) {
			t.Errorf("%s became %s", params, worded)
		}
	})
}
