package call

import (
	"net/url"
	"strings"
	"testing"

	"postern/pkg/config"
)

// R54: what a completion offers for a template is what may be read, byte for byte
// otherwise.
func TestCompletionsNameNothingThatIsDenied(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.Replace(more("shared: true"), `servers: ["*"],`, `servers: ["*"], deny: ["resource:fake/fake://item/id=secret*"],`, 1), nil)
	w.list(false, "fake")
	s := w.agent(&person{}, SessionOptions{})
	for _, c := range []struct{ value, want string }{
		{"public", `"values":["fake://item/{id}","id=public"]`},
		{"secret-1", `"values":["fake://item/{id}"]`},
	} {
		a, row := w.answered(s, Request{Method: methodComplete, Params: []byte(`{"ref":{"type":"ref/resource","uri":"fake://item/{id}"},"argument":{"name":"id","value":"` + c.value + `"}}`)})
		if got := string(a.result()); !strings.Contains(got, c.want) || !strings.Contains(got, `"total":2,"hasMore":false`) || row.Outcome != "ok" {
			t.Errorf("%s: %s", c.value, got)
		}
	}
	a, _ := w.answered(s, Request{Method: methodComplete, Params: []byte(`{"ref":{"type":"ref/prompt","name":"fake__greet"},"argument":{"name":"id","value":"secret-1"}}`)})
	if got := string(a.result()); !strings.Contains(got, "id=secret-1") {
		t.Errorf("of a prompt: %s", got)
	}
}

// A server cannot have the policies asked without end.
func TestVeryLongCompletion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, more("shared: true"), nil)
	w.list(false, "fake")
	s := w.agent(&person{}, SessionOptions{})
	c := s.begin(Request{Method: methodComplete, Params: []byte(`{"ref":{"type":"ref/resource","uri":"fake://item/{id}"},"argument":{"name":"id","value":""}}`)})
	c.subject()
	c.find()
	c.withhold([]byte(`{"completion":{"values":[` + strings.Repeat(`"a",`, 3*config.MaxValues) + `"b"]}}`))
	if n := strings.Count(string(c.answer.Result), `"a"`); n != config.MaxValues || !strings.HasSuffix(string(c.answer.Result), `"a"]}}`) {
		t.Errorf("%d values", n)
	}
}

func TestExpand(t *testing.T) {
	given := map[string]string{"a": "x/y", "b": "é"}
	for _, c := range []struct{ template, plain, encoded string }{
		{"f:///{a}/{b}", "f:///x/y/é", "f:///x%2Fy/%C3%A9"}, {"f:///{+a}", "f:///x/y", "f:///x/y"}, {"f:///", "f:///", "f:///"},
		{"f:///{c}", "", ""}, {"f:///{?a}", "", ""}, {"f:///{a,b}", "", ""}, {"f:///{a*}", "", ""}, {"f:///{a", "", ""}, {"f:///{}", "", ""},
	} {
		plain, ok := expand(c.template, given, func(s string) string { return s })
		encoded, _ := expand(c.template, given, url.PathEscape)
		if plain != c.plain || encoded != c.encoded || ok != (c.plain != "") {
			t.Errorf("%s: %q, %q, %v", c.template, plain, encoded, ok)
		}
	}
	if name, given := completed([]byte(`{"argument":{"name":"a","value":"v"},"context":{"arguments":{"b":"c","n":1}}}`)); name != "a" || len(given) != 1 || given["b"] != "c" {
		t.Errorf("%q, %v", name, given)
	}
	if name, _ := completed([]byte(`{"argument":1}`)); name != "" {
		t.Errorf("%q", name)
	}
}
