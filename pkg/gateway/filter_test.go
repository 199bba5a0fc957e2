package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"postern/pkg/config"
	"postern/pkg/wire"
)

func TestReadFilter(t *testing.T) {
	for params, want := range map[string]string{
		`{"notifications":{}}`: `{}`,
		`{"notifications":{"resourcesListChanged":true,"toolsListChanged":true,"promptsListChanged":true}}`: `{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}`,
		`{"notifications":{"toolsListChanged":false,"promptsListChanged":null}}`:                            `{}`,
		`{"notifications":{"resourceSubscriptions":["a:b","","a:b","c\u003A\/d"]}}`:                         `{"resourceSubscriptions":["a:b","","c:/d"]}`,
		`{"notifications":{"taskIds":["1"],"resourceSubscriptions":[]}}`:                                    `{"taskIds":["1"]}`,
		`{"notifications":{"resourceSubscriptions":null,"taskIds":null}}`:                                   `{}`,
		`{"notifications":{"weatherChanged":true,"toolsListChanged":true}}`:                                 `{"toolsListChanged":true}`,
	} {
		f, err := readFilter([]byte(params))
		if err != nil || string(f.json()) != want {
			t.Errorf("%s: %s %v, want %s", params, f.json(), err, want)
		}
		if f.empty() != (want == "{}") {
			t.Errorf("%s: empty is %v", params, f.empty())
		}
	}
}

func TestReadFilterRefuses(t *testing.T) {
	for params, want := range map[string]string{
		``:                       "no JSON object",
		`{}`:                     "needs params.notifications",
		`{"notifications":[]}`:   "needs params.notifications",
		`{"notifications":null}`: "needs params.notifications",
		`{"notifications":{"toolsListChanged":1}}`:                         "notifications.toolsListChanged is not a boolean",
		`{"notifications":{"toolsListChanged":true,"ToolsListChanged":1}}`: "in another case",
		`{"notifications":{},"notifications":{}}`:                          "twice",
		`{"notifications":{"resourceSubscriptions":"a:b"}}`:                "resourceSubscriptions is not an array",
		`{"notifications":{"resourceSubscriptions":["a:b",1]}}`:            "resourceSubscriptions holds something else than strings",
		`{"notifications":{"taskIds":[null]}}`:                             "taskIds holds something else than strings",
	} {
		if _, err := readFilter([]byte(params)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", params, err, want)
		}
	}
}

func TestReadFilterBounds(t *testing.T) {
	uris := func(n int) []byte {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf("a:%d", i)
		}
		return []byte(`{"notifications":{"resourceSubscriptions":` + string(quoteAll(append(list, "a:0"))) + `}}`)
	}
	if f, err := readFilter(uris(config.StreamItems)); err != nil || len(f.uris) != config.StreamItems {
		t.Errorf("%d %v", len(f.uris), err)
	}
	if _, err := readFilter(uris(config.StreamItems + 1)); err == nil {
		t.Error("one more than the limit is taken")
	}
}

// A stream carries what it was asked for, and what lies below that.
func TestFilterHasURI(t *testing.T) {
	f := filter{uris: []string{"file:///a", "db://x/"}}
	for uri, want := range map[string]bool{
		"file:///a": true, "file:///a/b": true, "file:///a?q": true, "file:///a#f": true, "db://x/": true, "db://x/y": true,
		"file:///ab": false, "file:///": false, "db://x": false, "": false,
	} {
		if f.hasURI(uri) != want {
			t.Errorf("%s: %v", uri, !want)
		}
	}
}

// FuzzFilter: what is read can be written, and reads the same.
func FuzzFilter(f *testing.F) {
	for _, seed := range []string{`{"notifications":{"toolsListChanged":true}}`, `{"notifications":{"resourceSubscriptions":["a:b"],"taskIds":["\ud83d\ude00"]}}`, `{"notifications":{ } }`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, params []byte) {
		if _, err := wire.Parse(wire.RequestLine([]byte("1"), "m", params)); err != nil {
			return
		}
		got, err := readFilter(params)
		if err != nil {
			return
		}
		var whole object
		whole.raw("notifications", got.json())
		if !json.Valid(whole.bytes()) {
			t.Fatalf("%s", whole.bytes())
		}
		again, err := readFilter(whole.bytes())
		if err != nil || string(again.json()) != string(got.json()) {
			t.Fatalf("%s: %s, then %s %v", params, got.json(), again.json(), err)
		}
	})
}
