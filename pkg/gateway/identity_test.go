package gateway

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"postern/pkg/config"
)

// R71: capabilities of several servers are united, the first server's value first.
func TestUnion(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{``, `{"x":1.0}`, `{"x":1.0}`},
		{`{}`, `{"x":1.0}`, `{"x":1.0}`},
		{`{"x":1e400}`, `{"x":2,"y":null}`, `{"y":null,"x":1e400}`},
		{`{"list":{},"requests":{"tools":{"call":{}}}}`, `{"cancel":{},"requests":{"tools":{"get":{}},"other":{}}}`,
			`{"cancel":{},"list":{},"requests":{"other":{},"tools":{"get":{},"call":{}}}}`},
		{`{"a":{"b":{"c":{"d":{"e":1}}}}}`, `{"a":{"b":{"c":{"d":{"f":1},"g":1}}}}`, `{"a":{"b":{"c":{"g":1,"d":{"e":1}}}}}`},
		{`{"A":1}`, `{"a":2}`, `{"a":2,"A":1}`},
		{`{"x":{}}`, `{"x":[1]}`, `{"x":{}}`},
	} {
		var a []byte
		if c.a != "" {
			a = []byte(c.a)
		}
		if got := string(union(a, []byte(c.b), config.CapabilityNesting)); got != c.want {
			t.Errorf("%s with %s: %s", c.a, c.b, got)
		}
	}
}

func FuzzUnion(f *testing.F) {
	f.Add(`{"a":{"b":1}}`, `{"a":{"c":[]},"d":null}`)
	f.Add(`{"\u0061":1}`, `{"a":2}`)
	f.Add(`{"a":1,"a":2}`, `{"a":{"a":1}}`)
	f.Fuzz(func(t *testing.T, a, b string) {
		var was, with, is map[string]any
		if json.Unmarshal([]byte(a), &was) != nil || json.Unmarshal([]byte(b), &with) != nil || was == nil || with == nil {
			return
		}
		got := union([]byte(a), []byte(b), config.CapabilityNesting)
		if err := json.Unmarshal(got, &is); err != nil {
			t.Fatalf("%s with %s: %s: %v", a, b, got, err)
		}
		for name, value := range was {
			if _, object := value.(map[string]any); !object && !reflect.DeepEqual(is[name], value) && !strings.Contains(a, "\\u") {
				t.Fatalf("%s with %s: %s changes %q", a, b, got, name)
			}
		}
	})
}

// R71: what a revision does not know it is not offered, and tasks only where a
// server has them; they are known once the servers were listed.
func TestCapabilitiesByRevision(t *testing.T) {
	w := newWorld(t, `version: 1
servers:
  one: {command: $FAKE, args: [-capabilities, '{"tools":{},"experimental":{"vendor":{"n":1.0}}}']}
  two: {command: $FAKE, args: [-more]}
  odd: {command: $FAKE, args: [-capabilities, '{"tools":{},"tasks":true,"experimental":[]}']}
  new: {command: $FAKE, args: [-more, -era, modern]}
  not: {command: $FAKE, enabled: false, args: [-capabilities, '{"experimental":{"no":1}}']}
`+allowAll, nil)
	first := w.connect(Options{})
	first.Initialize()
	first.Ask("tools/list", "")
	const own = `"capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"logging":{}`
	const experimental = `,"experimental":{"vendor":{"n":1.0}}}`
	for revision, rest := range map[string]string{
		"2024-11-05": experimental,
		"2025-03-26": `,"completions":{}` + experimental,
		"2025-06-18": `,"completions":{}` + experimental,
		"2025-11-25": `,"completions":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}` + experimental,
	} {
		a := w.connect(Options{})
		if got := string(a.InitializeAs(revision, "{}")); !strings.Contains(got, own+rest) {
			t.Errorf("%s: %s", revision, got)
		}
	}
}
