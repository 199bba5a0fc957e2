package call

import (
	"strings"
	"testing"
)

// R69: a result that no client could read is an upstream_error, told as a
// result that says the call was made; a task or a question is not judged.
func TestMalformedResults(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plain, nil)
	s := w.session(false)
	for _, c := range []struct{ result, why string }{
		{`{"content":[],"isError":"true"}`, "isError is not a boolean"},
		{`{"content":[],"isError":0}`, "isError is not a boolean"},
		{`{}`, "neither content nor structuredContent"},
		{`{"isError":true}`, "neither content nor structuredContent"},
		{`{"content":null}`, "neither content nor structuredContent"},
		{`{"content":"x]","isError":true}`, "content is no list"},
		{`{"content":{}}`, "content is no list"},
		{`{"content":[{},"x"]}`, "content[1] is no object"},
		{`{"content":[],"content":[]}`, `"content" is there twice`},
		{`{"content":[],"iserror":true}`, `"isError" is there in another case`},
		{`[]`, "it is no object"},
		{`null`, "it is no object"},
		{`{"resultType":"complete","content":1}`, "content is no list"},
		// R2 says of which members there may be one.
		{`{"content":[],"extra":1,"extra":2}`, ""},
		{`{"content":[]}`, ""},
		{`{"structuredContent":null}`, ""},
		{`{"content":[{"type":"hologram"}],"isError":null,"structuredContent":[1]}`, ""},
		{`{"resultType":"input_required","inputRequests":{}}`, ""},
		{`{"resultType":"task","taskId":"1"}`, ""},
		{`{"task":{"taskId":"1"}}`, ""},
		{`{"resultType":null,"content":[]}`, ""},
	} {
		a, row := w.do(t.Context(), s, tool("fake__raw", `{"result":`+c.result+`}`))
		if c.why == "" {
			if a.Refusal != nil || string(a.Reply.ResultBytes()) != c.result || row.Outcome != "ok" {
				t.Errorf("%s: %+v, row %+v", c.result, a.Refusal, row)
			}
			continue
		}
		if r := a.Refusal; r == nil || r.Word != UpstreamError || !r.AsResult() || !strings.Contains(r.Message, c.why) ||
			!strings.Contains(r.Message, "the call was made") {
			t.Errorf("%s: %+v", c.result, r)
		}
		if row.Outcome != "upstream_error" || row.Step != StepDispatch || row.Reason != "malformed_result" {
			t.Errorf("%s: row %+v", c.result, row)
		}
	}
}
