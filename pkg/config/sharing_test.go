package config

import (
	"slices"
	"strings"
	"testing"
)

// MB-049: a server can be marked as one that each session has for itself, by
// the user and by a repository; whoever says nothing shares.
func TestShared(t *testing.T) {
	c := loadUser(t, head+`servers:
  said: {command: x, shared: true}
  own: {command: x, shared: false}
  asks: {command: x, shared: false, sampling: true}
  quiet: {command: x, shared: false, sampling: false}
  least: {command: x, sampling: false}
`)
	if len(c.Diagnostics) > 0 {
		t.Fatal(problems(c))
	}
	for id, want := range map[string][2]bool{
		"said": {true, false}, "own": {false, false}, "asks": {false, true}, "quiet": {false, false}, "least": {true, false},
	} {
		if s := c.Server(id); s.Shared != want[0] || s.Sampling != want[1] {
			t.Errorf("%s: shared %v, sampling %v", id, s.Shared, s.Sampling)
		}
	}

	c = loadProject(t, "", map[string]string{".postern/mcp.yaml": head + "servers:\n  a: {command: x, shared: false}\n  b: {command: x}\n"})
	if a, b := c.Server("a"), c.Server("b"); len(c.Diagnostics) > 0 || a.Shared || !b.Shared {
		t.Errorf("of a repository: %v", problems(c))
	}
}

// C22: other clients know neither field, so they say nothing in their files.
func TestForeignFilesShare(t *testing.T) {
	c := loadProject(t, "", map[string]string{".mcp.json": `{"mcpServers": {"a": {"command": "x", "shared": false, "sampling": true}}}`})
	s := c.Server("a")
	if s == nil || !s.Shared || s.Sampling {
		t.Fatalf("%+v", s)
	}
	got := problems(c)
	for _, field := range []string{"shared", "sampling"} {
		if !slices.ContainsFunc(got, func(p string) bool { return strings.Contains(p, "mcpServers.a."+field+": not used by postern") }) {
			t.Errorf("%s is not named: %q", field, got)
		}
	}
}

// R53: the forms about what is no tool are patterns of all three lists.
func TestPatternsOnItems(t *testing.T) {
	c := loadUser(t, head+`servers: {a: {command: x}}
policies:
  p:
    servers: [a]
    tools: ["resource:a/file:///*", "prompt:a/review"]
    deny: ["resource:*/*secret*"]
    ask: ["prompt:*/*"]
`)
	p := c.Policies["p"]
	if len(c.Diagnostics) > 0 || p == nil || len(p.Tools) != 2 || len(p.Deny) != 1 || len(p.Ask) != 1 {
		t.Fatalf("%q %+v", problems(c), p)
	}
	for _, list := range []string{"read_tools", "write_tools", "execute_tools"} {
		// There these are names of tools, in which a colon is like any letter.
		c := loadUser(t, head+"servers: {a: {command: x, "+list+": ['resource:a']}}\n")
		if len(c.Diagnostics) > 0 {
			t.Errorf("%s: %q", list, problems(c))
		}
	}
}
