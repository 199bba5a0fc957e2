package policy

import (
	"errors"
	"strings"
	"testing"

	"postern/pkg/config"
)

// R53 and the cases about names: what one deny pattern catches.
func TestPatternForms(t *testing.T) {
	const hashed = "agentic-qe__test_run_0123abcd"
	tests := []struct {
		why, pattern string
		tool         Tool
		want         bool
	}{
		{"MB-132", "db/drop", Tool{Server: "db", Name: "drop"}, true},
		{"MB-132", "db/drop", Tool{Server: "db_prod", Name: "drop"}, false},
		{"MB-132", "db/*", Tool{Server: "db_prod", Name: "drop"}, false},
		{"MB-134 original name", "agentic-qe/test.run", Tool{Server: "agentic-qe", Name: "test.run", Exposed: hashed}, true},
		{"MB-134 exposed name", hashed, Tool{Server: "agentic-qe", Name: "test.run", Exposed: hashed}, true},
		{"MB-134 joined original", "agentic-qe__test.run", Tool{Server: "agentic-qe", Name: "test.run", Exposed: hashed}, true},
		{"MB-134 other spelling", "agentic_qe/test_run", Tool{Server: "agentic-qe", Name: "test.run", Exposed: hashed}, false},
		{"MB-130 the pair tells them apart", "acme/__status", Tool{Server: "acme", Name: "__status"}, true},
		{"MB-130 the pair tells them apart", "acme/__status", Tool{Server: "acme__", Name: "status"}, false},
		{"first slash splits", "fs/a/b", Tool{Server: "fs", Name: "a/b"}, true},
		{"first slash splits", "fs/*", Tool{Server: "fs", Name: "a/b"}, true},
		{"a star does not cross parts", "f*b", Tool{Server: "fs", Name: "a/b"}, true}, // joined: fs__a/b
		{"a star does not cross parts", "f*/b", Tool{Server: "fs", Name: "a/b"}, false},
		{"case counts, MB-204", "db/drop", Tool{Server: "db", Name: "DROP"}, false},
		{"exec sees the command", "exec:npx -y *", Tool{Server: "x", Exec: "npx -y pkg"}, true},
		{"exec is whole", "exec:npx", Tool{Server: "x", Exec: "npx -y pkg"}, false},
		{"exec is not a name", "exec:*drop*", Tool{Server: "db", Name: "drop", Exec: "server"}, false},
		{"a resource is no tool", "resource:db/*", Tool{Server: "db", Name: "drop", Exposed: "db__drop"}, false},
		{"a prompt is no tool", "prompt:*/*", Tool{Server: "db", Name: "drop", Exposed: "db__drop"}, false},
		{"everything", "*", Tool{Server: "db", Name: "drop"}, true},
		{"everything", "*/*", Tool{Server: "db", Name: "drop"}, true},
	}
	for _, tt := range tests {
		p, err := parsePattern(config.Pattern{Text: tt.pattern, At: "f:1"})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.matches(&tt.tool, true); got != tt.want {
			t.Errorf("%s: %q on %+v: %v", tt.why, tt.pattern, tt.tool, got)
		}
	}
}

// MB-130: a server chooses the names of its tools, and with them the exposed
// names. No name may slip it into a list of allowed tools.
func TestExposedNameWidensNothing(t *testing.T) {
	p := compile(t, &config.Policy{
		At: "f:1", Servers: patterns("", "*"), Tools: patterns("f:2", "safe__read"), Allow: allTiers,
	})
	s := Subject{Level: 3, Policies: []*Policy{p}}
	for _, tool := range []Tool{
		{Server: "evil", Name: "x", Exposed: "safe__read"},
		{Server: "safe_", Name: "read", Exposed: "safe__read"},
		{Server: "saf", Name: "e__read", Exposed: "safe__read"},
	} {
		if d := Decide(s, tool); d.Verdict != Deny {
			t.Errorf("%+v is %+v", tool, d)
		}
	}
	if d := Decide(s, Tool{Server: "safe", Name: "read", Class: config.ClassRead}); d.Verdict != Allow {
		t.Errorf("the tool itself: %+v", d)
	}
}

// MB-132: allow db only, and db_prod stays out.
func TestServerIsNoPrefix(t *testing.T) {
	p := compile(t, &config.Policy{At: "f:1", Servers: patterns("", "db"), Allow: allTiers})
	s := Subject{Level: 3, Policies: []*Policy{p}}
	if d := Decide(s, Tool{Server: "db_prod", Name: "drop"}); d.Verdict != Deny || d.Rule != "f:1" {
		t.Errorf("%+v", d)
	}
	if d := Decide(s, Tool{Server: "db", Name: "drop"}); d.Verdict != Allow {
		t.Errorf("%+v", d)
	}
}

// MB-127: only what says so, and may be believed, is read.
func TestReadOnlyFilter(t *testing.T) {
	p := compile(t, &config.Policy{At: "f:1", Servers: patterns("", "*"), Allow: allTiers[:1]})
	s := Subject{Level: 3, Policies: []*Policy{p}}
	for class, want := range map[config.Class]Verdict{config.ClassExecute: Allow, config.ClassUnknown: Deny} {
		if d := Decide(s, Tool{Server: "x", Name: "y", Class: class, ReadOnly: true}); d.Verdict != want {
			t.Errorf("class %s with the hint: %+v", class, d)
		}
		if d := Decide(s, Tool{Server: "x", Name: "y", Class: class}); d.Verdict != Deny || d.Tier != config.TierWrite {
			t.Errorf("class %s without the hint: %+v", class, d)
		}
	}
}

// A policy with one bad pattern is no policy (C11).
func TestCompileRefuses(t *testing.T) {
	for name, p := range map[string]*config.Policy{
		"tools": {Tools: patterns("f:7", "a/b", "")},
		"deny":  {Deny: patterns("f:7", "/x")},
		"ask":   {Ask: patterns("f:7", "x/")},
	} {
		got, err := Compile(p)
		var bad *PatternError
		if !errors.As(err, &bad) || got != nil {
			t.Fatalf("%s: %v, %v", name, got, err)
		}
		if bad.At != "f:7" || bad.Unwrap() == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzDeny holds that naming a tool by either of its names denies it, whatever
// the names are, and that no other policy of the subject changes that.
func FuzzDeny(f *testing.F) {
	f.Add("git", "get_issue", "git__get_issue")
	f.Add("a", "_b", "a___b_12345678")
	f.Add("a_", "b*?[", "x")
	f.Add("fs", "a/b", "fs__a_b_12345678")
	f.Fuzz(func(t *testing.T, server, name, exposed string) {
		if strings.ContainsAny(exposed, "/:") {
			return // no exposed name has them
		}
		open := compile(t, &config.Policy{At: "f:1", Servers: patterns("", "*"), Allow: allTiers})
		tool := Tool{Server: server, Name: name, Exposed: exposed, Class: config.ClassRead}
		if d := Decide(Subject{Level: 3, Policies: []*Policy{open}}, tool); d.Verdict != Allow {
			t.Fatalf("not allowed to begin with: %+v", d)
		}
		for _, text := range []string{server + "/" + name, server + "__" + name, exposed} {
			deny, err := Compile(&config.Policy{At: "f:1", Servers: patterns("", "*"), Deny: patterns("f:2", text), Allow: allTiers})
			if err != nil || !namesTool(text, server) {
				continue // no configuration can say this
			}
			if d := Decide(Subject{Level: 3, Policies: []*Policy{open, deny}}, tool); d.Verdict != Deny || d.Reason != DeniedBy {
				t.Fatalf("%q on %+v: %+v", text, tool, d)
			}
		}
	})
}

// namesTool leaves out texts that are read as another form than they were made
// for; ids have no slash and no colon, exposed names neither.
func namesTool(text, server string) bool {
	for _, s := range []string{server, text} {
		for i, c := range s {
			if c == ':' || c == '/' && i < len(server) {
				return false
			}
		}
	}
	p, err := parsePattern(config.Pattern{Text: text})
	return err == nil && (p.form == joinedForm || p.server == server)
}

func TestMatches(t *testing.T) {
	tool := Tool{Server: "git", Name: "push all", Exposed: "git__push_all-1234", Exec: "git-mcp --push"}
	for text, want := range map[string]bool{
		"git/push *": true, "git__push all": true, "git__push_all-*": true, "exec:*--push": true,
		"git/pull": false, "hub/*": false, "exec:x": false, "git/": false, "": false,
	} {
		if got := Matches(text, tool); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
