package gateway

import (
	"strings"
	"testing"

	"postern/pkg/call"
	"postern/pkg/mcptest"
)

// The level of a session of the modern era is the lowest that a request under way
// asks for; without such a one there are no log messages (R72).
func TestLevelOfRequests(t *testing.T) {
	s := &session{open: map[string]*request{"legacy": {}, "silent": {modern: &call.Modern{}}}}
	if s.Level() != "" || s.logs("emergency") || s.logs("") {
		t.Errorf("level %q without a request that has one", s.Level())
	}
	s.open["a"] = &request{modern: &call.Modern{LogLevel: "error"}}
	s.open["b"] = &request{modern: &call.Modern{LogLevel: "notice"}}
	for level, want := range map[string]bool{"info": false, "notice": true, "emergency": true, "loud": false, "": false} {
		if s.logs(level) != want {
			t.Errorf("%q: %v", level, !want)
		}
	}
	if s.Level() != "notice" {
		t.Error(s.Level())
	}
	s.revision, s.level = revisions[0], "alert" // a legacy agent says it once for all
	if s.Level() != "alert" {
		t.Error(s.Level())
	}
}

// Who asks is said with each request of the modern era, and stands in its row; a
// request that does not say it is nobody's, whatever others said.
func TestEachRequestSaysWhoAsks(t *testing.T) {
	w := newWorld(t, plainConfig, nil)
	a := w.connect(Options{})
	a.Modern("{}")
	call := func(client string) {
		params := mcptest.CallParams("fake__echo", "{}")
		if client != "" {
			params = strings.Replace(params, "{", `{"_meta":{"`+metaClientInfo+`":{"name":"`+client+`","version":"2"}},`, 1)
		}
		a.Ask("tools/call", params)
	}
	var want []string
	for _, client := range []string{"one", "two", "two", "", "one"} {
		call(client)
		want = append(want, client)
		w.rows(len(want)) // a row is written behind the answer
	}
	for i, r := range w.rows(len(want)) {
		got := ""
		if r.Claimed != nil {
			got = r.Claimed.Name
		}
		if got != want[i] {
			t.Errorf("row %d claims %q, want %q", i, got, want[i])
		}
	}
}
