package call

import (
	"encoding/json"
	"strings"
	"testing"

	"postern/pkg/config"
	"postern/pkg/wire"
)

// answerOf is a call with an answer of its server, for an agent of an era.
func answerOf(t *testing.T, line string, m *Modern) *Call {
	t.Helper()
	reply, err := wire.Parse([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	return &Call{
		Request: Request{Modern: m}, session: &Session{}, method: methodOf(methodTool), name: "t",
		server: &Server{Declared: &config.Server{ID: "srv"}}, answer: Answer{Reply: &reply},
	}
}

// R73: an older agent gets complete results without their type and no others.
func TestResultsForOlderAgents(t *testing.T) {
	for _, c := range []struct{ result, want, problem string }{
		{`{"content":[],"resultType":"complete","ttlMs":5}`, `{"content":[],"ttlMs":5}`, ""},
		{`{ "resultType" : "complete" , "content":[1.0]}`, `{ "content":[1.0]}`, ""},
		{`{"resultType":"complete"}`, `{}`, ""},
		{`{"content":[],"x":{"resultType":"complete"}}`, "", ""},
		{`[]`, "", ""},
		{`{"resultType":"task","taskId":"t"}`, "", `kind "task"`},
		{`{"resultType":"input_required"}`, "", `kind "input_required"`},
		{`{"resultType":null}`, "", "kind null"},
		{`{"resultType":"complete","ResultType":"task"}`, "", "in another case"},
	} {
		call := answerOf(t, `{"jsonrpc":"2.0","id":1,"result":`+c.result+`}`, nil)
		r := call.translate(true)
		if (r != nil) != (c.problem != "") || r != nil && !strings.Contains(r.Message, c.problem) {
			t.Errorf("%s: %v", c.result, r)
		}
		if string(call.answer.Result) != c.want {
			t.Errorf("%s: got %s, want %s", c.result, call.answer.Result, c.want)
		}
		same := answerOf(t, `{"jsonrpc":"2.0","id":1,"result":`+c.result+`}`, nil)
		if r := same.translate(false); r != nil || same.answer.Result != nil {
			t.Errorf("%s was changed within an era", c.result)
		}
	}
}

// R73: a modern agent gets an older server's errors in its own era's form, and
// nothing else is changed; within one era nothing is.
func TestErrorsForModernAgents(t *testing.T) {
	gone := `{"jsonrpc":"2.0","id":1,"error":{ "code":-32002,"message":"gone","data":{"n":1e400},"x":-0}}`
	for _, modern := range []bool{false, true} {
		call := answerOf(t, gone, &Modern{})
		if r := call.translate(modern); r != nil {
			t.Fatal(r)
		}
		want := gone
		if !modern {
			want = strings.Replace(gone, "-32002", "-32602", 1)
		}
		if string(call.answer.Reply.Raw) != want {
			t.Errorf("got %s, want %s", call.answer.Reply.Raw, want)
		}
	}
	visit := `{"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"m","data":{"elicitations":[` +
		`{"mode":"url","elicitationId":"e1","url":"https:\/\/x","message":"Go"},{"message":"","url":"u","x":1.0}]}}}`
	for _, c := range []struct{ capabilities, want string }{
		{`{"elicitation":{"url":{}}}`, `{"resultType":"input_required","inputRequests":{` +
			`"elicitation-1":{"method":"elicitation/create","params":{"mode":"url","url":"https:\/\/x","message":"[server srv] Go"}},` +
			`"elicitation-2":{"method":"elicitation/create","params":{"mode":"url","message":"[server srv] ","url":"u","x":1.0}}}}`},
		{`{"elicitation":{}}`, ""}, {`{"elicitation":{"url":null}}`, ""}, {``, ""},
	} {
		call := answerOf(t, visit, &Modern{Capabilities: []byte(c.capabilities)})
		if r := call.translate(false); r != nil || string(call.answer.Result) != c.want || call.answer.Parts.Partial != (c.want != "") {
			t.Errorf("%s: %v\n got %s\nwant %s", c.capabilities, r, call.answer.Result, c.want)
		}
	}
	for _, data := range []string{`{}`, `{"elicitations":[]}`, `{"elicitations":[1]}`, `{"elicitations":[{"url":"u"}]}`, `{"elicitations":{}}`} {
		call := answerOf(t, `{"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"m","data":`+data+`}}`, &Modern{Capabilities: []byte(`{"elicitation":{"url":{}}}`)})
		if r := call.translate(false); r != nil || call.answer.Result != nil {
			t.Errorf("%s became %s", data, call.answer.Result)
		}
	}
}

// R73: the state goes back as the bytes that came, and what stood in its place does
// not go with it.
func TestRetriedParams(t *testing.T) {
	for _, c := range []struct{ first, answers, state, want, token string }{
		{``, `{}`, ``, `{"inputResponses":{}}`, ""},
		{`{"name":"t"}`, `{"a":{"x":1.0}}`, `"\u0041"`, `{"inputResponses":{"a":{"x":1.0}},"requestState":"\u0041","name":"t"}`, ""},
		{`{"name":"t","requestState":"old","_meta":{"progressToken":9007199254740993}}`, ``, `"s"`, `{"requestState":"s","name":"t","_meta":{"progressToken":9007199254740993}}`, "9007199254740993"},
		{`{"inputResponses":{"forged":1},"name":"t","requestState":"old"}`, ``, ``, `{"name":"t"}`, ""},
		{`{"requestState":"old","name":"t","inputResponses":{}}`, `{}`, ``, `{"inputResponses":{},"name":"t"}`, ""},
	} {
		var first, answers, state []byte
		for _, p := range []struct {
			to   *[]byte
			from string
		}{{&first, c.first}, {&answers, c.answers}, {&state, c.state}} {
			if p.from != "" {
				*p.to = []byte(p.from)
			}
		}
		got, token, err := retried(first, answers, state)
		if err != nil || string(got) != c.want || string(token.Of(got)) != c.token {
			t.Errorf("%s: got %s, token %s, %v\nwant %s", c.first, got, token.Of(got), err, c.want)
		}
	}
}

func TestReadRound(t *testing.T) {
	r, problem := readRound([]byte(`{"resultType":"input_required","requestState":"","inputRequests":{"b":{"method":"roots/list"},"\u0061":{"params":{"x":1.0},"method":"elicitation/create"}}}`))
	if problem != "" || r == nil || string(r.state) != `""` || len(r.requests) != 2 {
		t.Fatalf("%+v %s", r, problem)
	}
	if q := r.requests[1]; string(q.key) != `"\u0061"` || q.method != methodElicit || string(q.params) != `{"x":1.0}` {
		t.Errorf("%+v", q)
	}
	for _, none := range []string{``, `[]`, `{}`, `{"resultType":"complete","inputRequests":{}}`, `{"resultType":"task"}`} {
		if r, problem := readRound([]byte(none)); r != nil || problem != "" {
			t.Errorf("%s: %+v %s", none, r, problem)
		}
	}
	many := strings.Repeat(`"k":{"method":"m"},`, config.MaxQuestions) + `"l":{"method":"m"}`
	for _, bad := range []string{`"inputRequests":[]`, `"inputRequests":{"a":1}`, `"inputRequests":{"a":{}}`, `"inputRequests":{"a":{"method":1}}`, `"inputRequests":{` + many + `}`, `"requestState":1,"requeststate":2`} {
		if _, problem := readRound([]byte(`{"resultType":"input_required",` + bad + `}`)); problem == "" {
			t.Errorf("%.80s was read", bad)
		}
	}
}

func FuzzRounds(f *testing.F) {
	f.Add([]byte(`{"resultType":"input_required","requestState":"s","inputRequests":{"a":{"method":"roots/list","params":{}}}}`), []byte(`{"name":"n","requestState":"x","_meta":{"progressToken":1}}`))
	f.Add([]byte(`{}`), []byte(`{"inputResponses":1}`))
	f.Fuzz(func(t *testing.T, result, params []byte) {
		answer, err := wire.Parse(wire.ResultLine([]byte("1"), result))
		if err != nil {
			return
		}
		request, err := wire.Parse(wire.RequestLine([]byte("1"), "x", params))
		if err != nil || !wire.IsObject(request.ParamsBytes()) {
			return
		}
		r, problem := readRound(answer.ResultBytes())
		if r == nil || problem != "" {
			return
		}
		got, _, err := retried(request.ParamsBytes(), []byte(`{"q":1}`), r.state)
		if err != nil {
			return
		}
		var at [2]wire.Span
		if err := wire.Lookup(got, []string{"requestState", "inputResponses"}, at[:]); err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		if string(at[0].Of(got)) != string(r.state) || string(at[1].Of(got)) != `{"q":1}` {
			t.Errorf("state %s became %s in %s", r.state, at[0].Of(got), got)
		}
		if !json.Valid(got) {
			t.Errorf("%s is sent", got)
		}
	})
}

// R16, R73: a server is told of what it may use, as it was written.
func TestCapabilities(t *testing.T) {
	const declared = `{"roots":{"listChanged":true},"x":{"n":1.0},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}}}`
	shared := &config.Server{ID: "s", Shared: true}
	own := &config.Server{ID: "s"}
	model := &config.Server{ID: "s", Sampling: true}
	for _, c := range []struct {
		server         *config.Server
		legacy, modern string
	}{
		{shared, `{"elicitation":{"form":{},"url":{}}}`, `{"x":{"n":1.0},"elicitation":{"form":{},"url":{}}}`},
		{own, `{"elicitation":{"form":{},"url":{}},"roots":{"listChanged":true}}`, `{"roots":{"listChanged":true},"x":{"n":1.0},"elicitation":{"form":{},"url":{}}}`},
		{model, `{"elicitation":{"form":{},"url":{}},"roots":{"listChanged":true},"sampling":{"tools":{}}}`, declared},
	} {
		s := &Session{o: SessionOptions{Agent: &person{capabilities: declared}}}
		if got := s.capabilities(c.server, true); string(got) != c.legacy {
			t.Errorf("legacy: %s, want %s", got, c.legacy)
		}
		if got := modernCapabilities([]byte(declared), c.server); string(got) != c.modern {
			t.Errorf("modern: %s, want %s", got, c.modern)
		}
	}
	for _, s := range []*Session{{}, {o: SessionOptions{Agent: &person{}}}, {o: SessionOptions{Agent: &person{capabilities: declared, modern: true}}}} {
		if got := s.capabilities(model, true); string(got) != "{}" {
			t.Errorf("nobody declared %s", got)
		}
	}
	for _, bad := range []string{``, `[]`, `{"roots":{},"Roots":{}}`} {
		if got := modernCapabilities([]byte(bad), shared); string(got) != "{}" {
			t.Errorf("%s became %s", bad, got)
		}
	}
}

// Whatever a server answers is read without harm, and what is made of it is JSON.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"resource_link","uri":"u"}]}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"messages":[{"content":{"type":"resource_link","uri":"u"}}],"task":{"taskId":"t"},"status":"failed"}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"resultType":"task","taskId":"t"}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"m","data":{"elicitations":[{"message":"a","url":"u","elicitationId":"e"}]}}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":""}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if m, err := wire.Parse(line); err != nil || m.Kind != wire.Response {
			return
		}
		for _, c := range []*Call{answerOf(t, string(line), nil), answerOf(t, string(line), &Modern{Capabilities: []byte(`{"elicitation":{"url":{}}}`)})} {
			if refusal := c.translate(c.Modern == nil); refusal != nil {
				continue
			}
			result := c.result()
			if _, err := wire.Parse(c.answer.Reply.Raw); err != nil || result != nil && !json.Valid(result) {
				t.Errorf("%s became %s and %s (%v)", line, c.answer.Reply.Raw, result, err)
			}
			linked(result, func(uri string) {
				if uri == "" {
					t.Error("a link to nothing")
				}
			})
			for _, modern := range []bool{true, false} {
				taskIn(result, modern)
				ended(result, modern)
			}
		}
	})
}
