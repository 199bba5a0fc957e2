package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"postern/pkg/mcptest"
)

// MB-204: a prompt or resource that a policy keeps from a caller is in no list and
// reached by no method and no spelling, in neither era; the server hears of nothing,
// and each attempt is a row.
func TestMB204OtherKinds(t *testing.T) {
	for name, p := range map[string]string{
		"denied":         `servers: ["*"], allow: [read, write, execute], deny: ["resource:fake/*", "prompt:fake/*"]`,
		"another server": `servers: [other], allow: [read, write, execute]`,
		"not in tools":   `servers: ["*"], allow: [read, write, execute], tools: ["*/*", "resource:other/*", "prompt:other/*"]`,
		"denied command": `servers: ["*"], allow: [read, write, execute], deny: ["exec:*fake.events*"]`,
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, `version: 1
servers:
  fake: {command: $FAKE, args: [-more, -events, $WORK/fake.events]}
  other: {command: $FAKE, args: [-more, -resources, $WORK/empty, -templates, $WORK/empty, -prompts, $WORK/empty]}
policies:
  everything: {servers: ["*"], allow: [read, write, execute]}
  p: {`+p+`}
defaults: {policy: everything, trust_level: 2}
`, map[string]string{"empty": "[]"})
			first := w.connect(Options{})
			first.Initialize()
			first.Ask("prompts/list", "")
			before := len(mcptest.Events(t, w.path("fake.events"), "recv"))
			attempts := 0
			for _, modern := range []bool{false, true} {
				a := w.connect(Options{Policy: "p"})
				if modern {
					a.Modern("{}")
				} else {
					a.Initialize()
				}
				for _, list := range []string{"prompts/list", "resources/list", "resources/templates/list"} {
					if got := a.Ask(list, ""); bytes.Contains(got, []byte(`fake`)) {
						t.Errorf("%s: %s", list, got)
					}
				}
				for _, r := range forbidden(modern) {
					attempts++
					m := a.Expect(a.Request(r.method, r.params))
					if !m.Error.Ok() || bytes.Contains(m.Raw, []byte("Greets")) {
						t.Errorf("%s %s: %s", r.method, r.params, m.Raw)
					}
				}
			}
			if got := mcptest.Events(t, w.path("fake.events"), "recv")[before:]; len(got) > 0 {
				t.Errorf("the server got %+v", got)
			}
			for _, r := range w.rows(attempts) {
				if r.Outcome != "denied" || r.Step == "" || r.Word == "" {
					t.Errorf("row %+v", r)
				}
			}
			if n := len(w.rows(attempts)); n != attempts {
				t.Errorf("%d rows of %d attempts", n, attempts)
			}
		})
	}
}

type wanting struct{ method, params string }

// forbidden is how an agent might get at what it has no right to.
func forbidden(modern bool) (all []wanting) {
	for _, uri := range []string{"fake://text", "postern+fake:fake://text", "fake://item/1", "postern+fake:fake://item/1", "FAKE://text", "fake://text ", "fake://./text"} {
		all = append(all, wanting{"resources/read", `{"uri":"` + uri + `"}`})
		if !modern {
			all = append(all, wanting{"resources/subscribe", `{"uri":"` + uri + `"}`})
		}
	}
	for _, name := range []string{"fake__greet", "greet", "FAKE__greet", "fake__greet ", "other__greet", "fake/greet"} {
		all = append(all, wanting{"prompts/get", `{"name":"` + name + `"}`})
		all = append(all, wanting{"completion/complete", `{"ref":{"type":"ref/prompt","name":"` + name + `"},"argument":{"name":"who","value":""}}`})
	}
	for _, uri := range []string{"fake://item/{id}", "postern+fake:fake://item/{id}", "fake://text"} {
		all = append(all, wanting{"completion/complete", `{"ref":{"type":"ref/resource","uri":"` + uri + `"},"argument":{"name":"id","value":""}}`})
	}
	return all
}

// MB-206, R54: under random policies the prompts and resources that are listed are
// those that can be had.
func TestMB206OtherKinds(t *testing.T) {
	const policies = 40
	r := rand.New(rand.NewSource(2062))
	patterns := []string{"resource:one/*", "resource:*/fake://text", "resource:two/fake://b*", "prompt:*/greet", "prompt:one/*", "prompt:t*/r*", "one/*", "*", "resource:*/*", "prompt:*/*"}
	pick := func() string {
		var some []string
		for range 1 + r.Intn(3) {
			some = append(some, `"`+patterns[r.Intn(len(patterns))]+`"`)
		}
		return "[" + strings.Join(some, ", ") + "]"
	}
	yaml := "version: 1\nservers:\n  one: {command: $FAKE, args: [-more]}\n  two: {command: $FAKE, args: [-more]}\npolicies:\n  all: {servers: [\"*\"], allow: [read, write, execute]}\n"
	for n := range policies {
		servers := []string{`["*"]`, `["*"]`, "[one]", "[two]"}[r.Intn(4)]
		yaml += fmt.Sprintf("  p%d: {servers: %s, allow: %s", n, servers, []string{"[read]", "[read, write]", "[write]"}[r.Intn(3)])
		for _, field := range []string{"deny", "tools", "ask"} {
			if r.Intn(2) == 0 {
				yaml += ", " + field + ": " + pick()
			}
		}
		yaml += "}\n"
	}
	w := newWorld(t, yaml+"defaults: {policy: all, trust_level: 2}\n", nil)
	first := w.connect(Options{})
	first.Initialize()
	prompts, resources := shown(t, first, "prompts/list", "name"), shown(t, first, "resources/list", "uri")
	if len(prompts) != 4 || len(resources) != 6 {
		t.Fatalf("%q %q", prompts, resources)
	}
	differ := map[string]bool{}
	for n := range policies {
		a := w.connect(Options{Policy: fmt.Sprintf("p%d", n)})
		a.Initialize()
		for _, kind := range []struct {
			list, method, member string
			all                  []string
		}{{"prompts/list", "prompts/get", "name", prompts}, {"resources/list", "resources/read", "uri", resources}} {
			listed := shown(t, a, kind.list, kind.member)
			differ[strings.Join(listed, " ")] = true
			for _, name := range kind.all {
				if strings.HasSuffix(name, "rounds") {
					continue // asks first
				}
				m := a.Expect(a.Request(kind.method, `{"`+kind.member+`":"`+name+`"}`))
				refused := bytes.Contains(m.Raw, []byte(`"policy_denied"`)) || bytes.Contains(m.Raw, []byte(`"unknown_`))
				if got := !refused; got != slices.Contains(listed, name) {
					t.Errorf("p%d: %s listed: %v, to be had: %v\n%s", n, name, slices.Contains(listed, name), got, m.Raw)
				}
			}
		}
		a.Hangup()
	}
	if len(differ) < 8 {
		t.Errorf("the policies are too much alike: %d", len(differ))
	}
}

// shown is a member of all that is listed, in order.
func shown(t *testing.T, a *mcptest.Agent, method, member string) (all []string) {
	t.Helper()
	var lists map[string][]map[string]any
	if err := json.Unmarshal(a.Ask(method, ""), &lists); err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		for _, item := range list {
			all = append(all, item[member].(string))
		}
	}
	slices.Sort(all)
	return all
}
