package config

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// flat is a node in one line, to compare readers.
func flat(n *node) string {
	if n == nil {
		return "-"
	}
	var b strings.Builder
	switch n.kind {
	case kindList:
		b.WriteString("[")
		for _, i := range n.items {
			b.WriteString(flat(i) + ",")
		}
		return b.String() + "]"
	case kindMapping:
		b.WriteString("{")
		for _, m := range n.members {
			b.WriteString(m.name + ":" + flat(m.value) + ",")
		}
		return b.String() + "}"
	case kindString:
		return `"` + n.text + `"`
	}
	return n.text
}

// MB-172.
func TestParseJSON(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "-",
		" // only\n/* a comment */":    "-",
		`{"a": [1, -2.5e+3, true],}`:   `{a:[1,-2.5e+3,true,],}`,
		"[null,\n// x\nfalse /* y */]": `[null,false,]`,
		`["\u00e9\ud83d\ude00\n\/\\"]`: "[\"é😀\n/\\\",]",
		`{"a":1,"a":2}`:                `{a:1,a:2,}`,
		"[]":                           "[]",
	} {
		n, err := parseJSON([]byte(text))
		if err != nil || flat(n) != want {
			t.Errorf("%q: %s, %v", text, flat(n), err)
		}
	}
	for text, want := range map[string]pos{
		"[1,,2]": {1, 4}, "[,]": {1, 2}, "{,}": {1, 2}, "[1 2]": {1, 4}, `{"a" 1}`: {1, 6}, "[tru]": {1, 2}, "[truex]": {1, 2}, "[01]": {1, 2},
		"[1.]": {1, 2}, "[.5]": {1, 2}, "[+1]": {1, 2}, "[-]": {1, 2}, "[0x10]": {1, 2}, "[1_0]": {1, 2}, "[Infinity]": {1, 2}, "[-Inf]": {1, 2},
		`["a`: {1, 4}, "[\"a\nb\"]": {1, 4}, `["\x"]`: {1, 3}, `["\ud800"]`: {1, 3}, `["\ud800\u0041"]`: {1, 3}, `["\u+123"]`: {1, 3},
		"/* x": {1, 1}, "[/]": {1, 2}, "['a']": {1, 2}, "{a:1}": {1, 2}, "[1]\n]": {2, 1}, "é [\n é]": {1, 1}, "[\n\"é\", x]": {2, 6},
		strings.Repeat("[", 100): {1, MaxDepth + 2}, "[": {1, 2}, `{"a":`: {1, 6}, "\x00": {1, 1},
	} {
		_, err := parseJSON([]byte(text))
		bad, ok := err.(*parseError)
		if !ok || bad.pos != want {
			t.Errorf("%q: %v %+v, want %v", text, err, bad, want)
		}
	}
}

// Both readers see the same in plain JSON, which is YAML too.
func TestBothFormsAgree(t *testing.T) {
	for _, text := range []string{`{"a": ["x", 1, true, null, "", "${A}"], "b": {"c": "\u00e9\n"}}`, `[]`, `"x"`} {
		j, err := parseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		y, err := parseYAML([]byte(text))
		if err != nil || flat(y) != flat(j) {
			t.Errorf("%s: %s, %s, %v", text, flat(j), flat(y), err)
		}
	}
}

// C10: what YAML can do and this file may not.
func TestYAMLThatIsRefused(t *testing.T) {
	deep := strings.Repeat("a: {", 60) + strings.Repeat("}", 60)
	for text, want := range map[string]string{
		"a: &x 1": "anchors", "a: &x [1]\nb: *x": "aliases", "a:\n  <<: {b: 1}": "merge keys", "a: !!binary eA==": "tag", "a: !!set {}": "tag",
		"a: !x [1]": "tag", "? [a]\n: 1": "field name", deep: "nested more than", "&x a: 1": "field name",
	} {
		n, err := parseYAML([]byte(text))
		if err != nil || !strings.Contains(flat(n), want) {
			t.Errorf("%q: %s, %v", text, flat(n), err)
		}
	}
	for text, want := range map[string]pos{"a: [1\n": {2, 1}, "a: 1\n\tb: 2\n": {2, 1}, "a: 1\n---\nb: 1\n": {2, 1}, "a: *x": {1, 4}, "a: \xff": {1, 4}} {
		_, err := parseYAML([]byte(text))
		if bad, ok := err.(*parseError); !ok || bad.pos != want {
			t.Errorf("%q: %v, want %v", text, err.(*parseError).pos, want)
		}
	}
}

func FuzzParseJSON(f *testing.F) {
	for _, name := range []string{"comments", "vscode", "desktop", "shells"} {
		f.Add([]byte(fixture(f, "mcpjson/"+name+".json")))
	}
	f.Add([]byte("[1,/**/2,]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := parseJSON(data)
		if _, ok := err.(*parseError); err != nil && !ok {
			t.Fatalf("%T", err)
		}
		// What strict JSON accepts is accepted, to the bounds that are ours.
		var v any
		if json.Unmarshal(data, &v) == nil && err != nil {
			problem := err.(*parseError).problem
			if !strings.Contains(problem, "nested") && !strings.Contains(problem, "half a character") && !strings.Contains(problem, "UTF-8") {
				t.Fatalf("%q: %v", data, err)
			}
		}
		if err == nil && n != nil {
			r := &reader{scope: Project, foreign: true, claims: map[string]string{}}
			for _, s := range readMCPJSON(r, n, "/p") {
				if s.Digest == "" || s.Command == "" || checkID(s.ID) != nil || s.Timeout <= 0 || s.Timeout > MaxTimeout || !s.Shared {
					t.Fatalf("%+v", s)
				}
			}
		}
	})
}

func FuzzReadUser(f *testing.F) {
	f.Add([]byte(policed))
	f.Add([]byte(edited))
	f.Add([]byte(fixture(f, "v1/user.yaml")))
	f.Add(StarterFile())
	f.Add([]byte(head + "servers:\n  a: {command: x, shared: false, sampling: true}\n  b: {command: x, sampling: true}\npolicies:\n  p: {tools: ['resource:a/b', 'prompt:*/?']}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := parseYAML(data)
		if n == nil || err != nil {
			return
		}
		for _, scope := range []Scope{User, Project} {
			r := &reader{file: "f", source: "/f", scope: scope, claims: map[string]string{}}
			if scope == Project {
				for _, s := range readProject(r, n, "/p") {
					if s.Sampling || s.AgentEnv != nil || s.Class != ClassUnknown {
						t.Fatalf("a repository decides: %+v", s)
					}
				}
				continue
			}
			u := readUser(r, n)
			if !r.outside && u.defaults != nil && u.policies[u.defaults.Policy] == nil {
				t.Fatal("a default without its policy is in force")
			}
			for _, s := range u.servers {
				if s.Digest == "" || checkID(s.ID) != nil || s.Command == "" || IsShell(s.Command) || s.Sampling && s.Shared {
					t.Fatalf("%+v", s)
				}
			}
		}
	})
}

// Drop-ins: whatever two files say, together they are a configuration in which
// nothing is there twice, or none.
func FuzzDropIns(f *testing.F) {
	f.Add([]byte(head+"servers: {a: {command: x}}\ndefaults: {policy: p}\n"), []byte(head+"servers: {a: {command: y}, b: {command: y}}\npolicies: {p: {}}\n"))
	f.Add([]byte(policed), []byte(policed))
	f.Add([]byte(head+"secrets: {A: 'cmd:a'}\n"), []byte(head+"servers: {a: {command: x, args: ['${A}']}}\n"))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		u, claims := newUserFile(), map[string]string{}
		for i, data := range [][]byte{first, second} {
			name := string(rune('a' + i))
			top, err := parseYAML(data)
			if err != nil {
				return
			}
			u.read(&reader{file: name, source: "/" + name, scope: User, claims: claims}, top)
		}
		u.finish()
		refused := slices.ContainsFunc(u.files, func(f readFile) bool { return f.r.outside })
		if !refused && u.defaults != nil && u.policies[u.defaults.Policy] == nil {
			t.Fatal("a default without its policy is in force")
		}
		seen := map[string]bool{}
		for _, s := range u.servers {
			if seen[s.ID] || s.Source != "/a" && s.Source != "/b" {
				t.Fatalf("%s twice or from nowhere", s.ID)
			}
			seen[s.ID] = true
		}
	})
}

func FuzzEdit(f *testing.F) {
	f.Add([]byte(edited), "github", "gh", "-x")
	f.Add(StarterFile(), "new", "/usr/bin/x y", "no")
	f.Add([]byte(" "), "\xe8", "0", "0")
	f.Add([]byte("servers: {a: {command: x}, b: {command: y}} # c"), "a", "true", "#")
	f.Add([]byte("&000:"), "0", "0", "'")
	f.Add([]byte("servers: {&a b: {command: x}}"), "c", "x", "y")
	f.Fuzz(func(t *testing.T, file []byte, id, command, arg string) {
		if len(file) > 4096 {
			return
		}
		got, err := SetServer(file, id, Declaration{Command: command, Args: []string{arg}, KeepEnv: true})
		if err != nil {
			return
		}
		top, err := parseYAML(got)
		if err != nil {
			t.Fatalf("%v\n%q\n%q", err, file, got)
		}
		s := top.get("servers").get(id)
		if s.get("command").text != command || s.get("args").items[0].text != arg {
			t.Fatalf("%q became %q", file, got)
		}
		if _, err := RemoveServer(got, id); err != nil {
			t.Fatalf("%v\n%q", err, got)
		}
	})
}
