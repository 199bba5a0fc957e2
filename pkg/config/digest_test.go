package config

import (
	"strings"
	"testing"
)

// digests of a file at a fixed place, so that they can be written down.
func digests(t *testing.T, text string, scope Scope) map[string]string {
	t.Helper()
	top, err := parseYAML([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{file: "/c/mcp.yaml", source: "/c/mcp.yaml", scope: scope, claims: map[string]string{}}
	var servers []*Server
	if scope == User {
		servers = readUser(r, top).servers
	} else {
		servers = readProject(r, top, "/c")
	}
	if r.failed > 0 {
		t.Fatal(r.diags)
	}
	out := map[string]string{}
	for _, s := range servers {
		out[s.ID] = s.Digest
	}
	return out
}

// C40: records of earlier versions must stay good. Those of full and least were
// taken before `shared` was a field.
func TestDigestsAreFixed(t *testing.T) {
	for file, want := range map[string]map[string]string{
		"user": {
			"full":  "sha256:4e46c906adb578c3fccbef24fae25e3ac332dc65ccd67d56aad25d0379470cea",
			"least": "sha256:e5d2a72c8a0dfa8954eeada7e0478df906975bccc32b3faf37a0630c9d3fab05",
		},
		"project": {
			"full":  "sha256:fdbc8ee5a379b951fd603d955061a68c6050bb587c24e103fe6883e3165173eb",
			"least": "sha256:621551578ab8fb02c95e7c7b47d90ccedb1375c1e2f46f38280016611e6bae2e",
			"own":   "sha256:50edfbb78e808b69314bcbe4cbe1797b9a0aec66add0427546120d187964f68c",
		},
	} {
		scope := User
		if file == "project" {
			scope = Project
		}
		got := digests(t, fixture(t, "v1/"+file+".yaml"), scope)
		for id, digest := range want {
			if got[id] != digest {
				t.Errorf("%s, %s: %s", file, id, got[id])
			}
		}
	}
}

// C20, C40: that a server is not shared is covered; that it is, is as if not
// written, and what only the user decides is not covered.
func TestDigestOfShared(t *testing.T) {
	base := digests(t, declared, User)["s"]
	for text, same := range map[string]bool{
		"shared: true": true, "shared: false": false, "shared: false\n    sampling: true": false,
	} {
		if got := digests(t, declared+"    "+text+"\n", User)["s"]; (got == base) != same {
			t.Errorf("%q: same = %v", text, got == base)
		}
	}
	if digests(t, declared+"    shared: false\n", User)["s"] != digests(t, declared+"    shared: false\n    sampling: true\n", User)["s"] {
		t.Error("sampling is covered")
	}
}

const declared = `version: 1
servers:
  s:
    command: x
    args: [a, b]
    env: {A: "1", B: "2"}
    cwd: sub
    timeout: 60s
`

// C40 and MB-190: what changes a digest and what does not.
func TestWhatTheDigestCovers(t *testing.T) {
	base := digests(t, declared, Project)["s"]
	for change, same := range map[string]bool{
		"command: x=>command: y":                             false,
		"[a, b]=>[b, a]":                                     false,
		"[a, b]=>[a, b, '']":                                 false,
		`A: "1"=>A: "3"`:                                     false,
		`A: "1"=>A2: "1"`:                                    false,
		"cwd: sub=>cwd: sub2":                                false,
		"timeout: 60s=>timeout: 61s":                         false,
		"    timeout: 60s\n=>":                               false,
		"timeout: 60s=>timeout: 60s\n    env_file: x":        false,
		"timeout: 60s=>timeout: 60s\n    inherit_env: none":  false,
		"timeout: 60s=>timeout: 60s\n    inherit_env: []":    false,
		"timeout: 60s=>timeout: 60s\n    write_tools: [a]":   false,
		"timeout: 60s=>start_timeout: 60s":                   false,
		"timeout: 60s=>timeout: 60s\n    execute_tools: [a]": false,
		"timeout: 60s=>timeout: 1m":                          true,
		"timeout: 60s=>timeout: 60s\n    enabled: false":     true,
		"timeout: 60s=>timeout: 60s\n    inherit_env: safe":  true,
		"timeout: 60s=>timeout: 60s\n    write_tools: []":    true,
		`{A: "1", B: "2"}=>{B: "2", A: "1"}`:                 true,
		"[a, b]=>\n      - 'a'\n      - b # c":               true,
		"servers:=># c\nservers:":                            true,
	} {
		old, now, _ := strings.Cut(change, "=>")
		text := strings.Replace(declared, old, now, 1)
		if text == declared {
			t.Fatalf("%q does not occur", old)
		}
		if got := digests(t, text, Project)["s"]; (got == base) != same {
			t.Errorf("%q: same = %v", change, got == base)
		}
	}
	if digests(t, declared, User)["s"] == base {
		t.Error("the scope is not covered")
	}
	if d := digests(t, strings.Replace(declared, "  s:", "  s2:", 1), Project); d["s2"] == base {
		t.Error("the id is not covered")
	}
}

// C40: the same declaration gives the same digest in both forms of file.
func TestDigestOfBothForms(t *testing.T) {
	want := digests(t, declared, Project)["s"]
	top, err := parseJSON([]byte(`{"servers": {"s": {"timeout": 60000, "cwd": "sub", "env": {"B": "2", "A": "1"}, "args": ["a", "b"],
		"type": "stdio", "command": "x", "other": 1, "disabled": true}}}`))
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{source: "/c/mcp.yaml", scope: Project, foreign: true, claims: map[string]string{}}
	if s := readMCPJSON(r, top, "/c"); len(s) != 1 || s[0].Digest != want {
		t.Errorf("%v %v", s, r.diags)
	}
}
