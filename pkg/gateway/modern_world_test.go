package gateway

import (
	"strings"
	"testing"

	"postern/pkg/mcptest"
)

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
