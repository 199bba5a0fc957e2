package policy

import (
	"slices"
	"strings"
	"testing"

	"postern/pkg/config"
)

// ofKind is one of a kind, of server x.
func ofKind(k Kind, name string) Tool {
	return Tool{Kind: k, Server: "x", Name: name, Exposed: "x__" + name, Exec: "npx x", Class: config.ClassRead}
}

var kindWords = map[Kind]string{ToolKind: "tool", ResourceKind: "resource", PromptKind: "prompt", MethodKind: "method"}

// R53: which pattern is about which kind, in each of the three lists.
func TestPatternsAndKinds(t *testing.T) {
	for _, c := range []struct {
		pattern string
		name    string
		kinds   string // those it matches
	}{
		{"x/y", "y", "tool method"},
		{"*/*", "y", "tool method"},
		{"*", "y", "tool method"},
		{"x__y", "y", "tool method"},
		{"x__*", "y", "tool method"},
		{"x/vendor/*", "vendor/do", "tool method"},
		{"resource:x/y", "y", "resource"},
		{"resource:*/*", "y", "resource"},
		{"resource:x/file:///a/*", "file:///a/b/c", "resource"},
		{"resource:x/file:///a/*", "file:///b", ""},
		{"resource:x/file:///?", "file:///é", "resource"},
		{"resource:x_y/*", "y", ""},
		{"resource:X/y", "y", ""},
		{"resource:x/Y", "y", ""},
		{"prompt:x/y", "y", "prompt"},
		{"prompt:*/?", "y", "prompt"},
		{"prompt:x/x__y", "y", ""}, // the exposed name is none of its own
		{"exec:npx *", "y", "tool resource prompt method"},
		{"exec:npx", "y", ""},
	} {
		for kind, word := range kindWords {
			item := ofKind(kind, c.name)
			want := slices.Contains(strings.Fields(c.kinds), word)
			if got := Matches(c.pattern, item); got != want {
				t.Errorf("%q on a %s: %v", c.pattern, word, got)
			}
			open := config.Policy{At: "f:9", Servers: patterns("f:2", "x"), Allow: allTiers}
			deny, ask := open, open
			deny.Deny, ask.Ask = patterns("f:1", c.pattern), patterns("f:1", c.pattern)
			wantDeny, wantAsk := Allow, Allow
			if want {
				wantDeny, wantAsk = Deny, Ask
			}
			if d := Decide(Subject{Level: 3, Policies: []*Policy{compile(t, &deny)}}, item); d.Verdict != wantDeny || want && (d.Rule != "f:1" || d.Reason != DeniedBy) {
				t.Errorf("deny %q, a %s: %+v", c.pattern, word, d)
			}
			if d := Decide(Subject{Level: 3, Policies: []*Policy{compile(t, &ask)}}, item); d.Verdict != wantAsk || want && d.Rule != "f:1" {
				t.Errorf("ask %q, a %s: %+v", c.pattern, word, d)
			}
		}
	}
}

// R53: `tools` chooses among resources and among prompts only where it has an
// entry on that kind, and then by all entries that are about it.
func TestToolsNarrowByKind(t *testing.T) {
	for _, c := range []struct {
		tools []string // nil = not written
		kinds string   // that are covered
	}{
		{nil, "tool resource prompt method"},
		{[]string{}, "resource prompt"},
		{[]string{"x/y"}, "tool resource prompt method"},
		{[]string{"x/other"}, "resource prompt"},
		{[]string{"exec:uvx*"}, "resource prompt"},
		{[]string{"x/y", "resource:x/other"}, "tool prompt method"},
		{[]string{"resource:x/y"}, "resource prompt"},
		{[]string{"resource:z/*"}, "prompt"},
		{[]string{"resource:z/*", "exec:npx*"}, "tool resource prompt method"},
		{[]string{"prompt:x/other"}, "resource"},
		{[]string{"prompt:x/*", "resource:x/other", "x/*"}, "tool prompt method"},
	} {
		p := config.Policy{At: "f:9", Servers: patterns("f:2", "x"), Allow: allTiers}
		if c.tools != nil {
			p.Tools = patterns("f:3", c.tools...)
		}
		s := Subject{Level: 3, Policies: []*Policy{compile(t, &p)}}
		for kind, word := range kindWords {
			item, want := ofKind(kind, "y"), Deny
			if slices.Contains(strings.Fields(c.kinds), word) {
				want = Allow
			}
			d := Decide(s, item)
			if d.Verdict != want || want == Deny && (d.Reason != NotPermitted || d.Rule != "f:9") {
				t.Errorf("tools %q, a %s: %+v", c.tools, word, d)
			}
			if _, refused := RefusedByName(s, item); refused != (want == Deny) {
				t.Errorf("tools %q, a %s, by name: %v", c.tools, word, refused)
			}
			// The server as a whole may have others that are covered.
			item.Name = ""
			if _, refused := RefusedByName(s, item); refused {
				t.Errorf("tools %q refuse the server to a %s", c.tools, word)
			}
			item.Name, item.Server = "y", "w"
			if d := Decide(s, item); d.Verdict != Deny {
				t.Errorf("tools %q, a %s of a server that is not named: %+v", c.tools, word, d)
			}
		}
	}
}

// R51, R53: resources and prompts are read, unknown methods execute, and no
// list of tools and no class says otherwise.
func TestTierOfKinds(t *testing.T) {
	want := map[Kind]config.Tier{ResourceKind: config.TierRead, PromptKind: config.TierRead, MethodKind: config.TierExecute, MethodKind + 1: config.TierAdmin}
	everything := patterns("", "*")
	for kind, tier := range want {
		for _, item := range []Tool{
			{Kind: kind, Class: config.ClassUnknown, ExecuteTools: everything},
			{Kind: kind, Class: config.ClassRead, ReadTools: everything, ReadOnly: true},
			{Kind: kind, Class: config.ClassExecute, WriteTools: everything},
		} {
			if got := TierOf(item); got != tier {
				t.Errorf("kind %d: %s, want %s", kind, got, tier)
			}
		}
	}
}

// Who may read only, may read resources and get prompts and call nothing that
// nobody knows; without rights there is neither, and what class unknown offers
// a person must agree to (R50, R51).
func TestKindsInTheTable(t *testing.T) {
	read := compile(t, &config.Policy{At: "f:9", Servers: patterns("", "x"), Allow: allTiers[:1]})
	write := compile(t, &config.Policy{At: "f:9", Servers: patterns("", "x"), Allow: allTiers[1:]})
	for _, c := range []struct {
		kind   Kind
		class  config.Class
		level  int
		policy *Policy
		want   Verdict
	}{
		{ResourceKind, config.ClassExecute, 1, read, Allow},
		{PromptKind, config.ClassExecute, 1, read, Allow},
		{MethodKind, config.ClassRead, 2, read, Deny},
		{MethodKind, config.ClassRead, 1, write, Deny},
		{MethodKind, config.ClassRead, 2, write, Allow},
		{ResourceKind, config.ClassRead, 2, write, Deny},
		{PromptKind, config.ClassRead, 2, write, Deny},
		{ResourceKind, config.ClassRead, 0, read, Deny},
		{ResourceKind, config.ClassUnknown, 1, read, Ask},
		{PromptKind, config.ClassUnknown, 1, read, Ask},
		{MethodKind, config.ClassUnknown, 2, write, Ask},
		{MethodKind + 1, config.ClassRead, 2, write, Deny},
		{MethodKind + 1, config.ClassRead, 2, read, Deny},
	} {
		item := ofKind(c.kind, "y")
		item.Class = c.class
		if d := Decide(Subject{Level: c.level, Policies: []*Policy{c.policy}}, item); d.Verdict != c.want {
			t.Errorf("%+v: %+v", c, d)
		}
		if d := Decide(Subject{Level: 3}, item); d.Verdict != Deny {
			t.Errorf("kind %d without any policy: %+v", c.kind, d)
		}
	}
	// The gateway's own results are there for whoever may read (R52, R69).
	own := Tool{Kind: ResourceKind, Server: Gateway, Name: "postern://results/1", Class: config.ClassRead}
	if d := Decide(Subject{Level: 1}, own); d.Verdict != Allow {
		t.Errorf("an own resource: %+v", d)
	}
	closed := compile(t, &config.Policy{At: "f:9", Allow: allTiers[:1], Deny: patterns("f:1", "resource:gateway/postern://results/*")})
	if d := Decide(Subject{Level: 1, Policies: []*Policy{closed}}, own); d.Verdict != Deny {
		t.Errorf("an own resource that is denied: %+v", d)
	}
}

func TestKindOf(t *testing.T) {
	for text, want := range map[string]struct {
		kind Kind
		rest string
	}{
		"resource:a/b":   {ResourceKind, "a/b"},
		"prompt:a/b":     {PromptKind, "a/b"},
		"a/resource:b":   {ToolKind, "a/resource:b"},
		"Resource:a/b":   {ToolKind, "Resource:a/b"},
		"exec:resource:": {ToolKind, "exec:resource:"},
	} {
		if kind, rest := KindOf(text); kind != want.kind || rest != want.rest {
			t.Errorf("%q: %d, %q", text, kind, rest)
		}
	}
}

// FuzzDenyItem holds that the pattern of a resource or prompt denies it whatever
// it is called, and touches nothing of another kind.
func FuzzDenyItem(f *testing.F) {
	f.Add("git", "repo://a/b?c={x}", true)
	f.Add("a", "*?", false)
	f.Add("a", "resource:a/b", true)
	f.Fuzz(func(t *testing.T, server, name string, resource bool) {
		kind, prefix := PromptKind, "prompt:"
		if resource {
			kind, prefix = ResourceKind, "resource:"
		}
		text := prefix + server + "/" + name
		deny, err := Compile(&config.Policy{At: "f:1", Servers: patterns("", "*"), Deny: patterns("f:2", text), Allow: allTiers})
		if err != nil || strings.Contains(server, "/") {
			return // no configuration can say this
		}
		for k := range kindWords {
			item := Tool{Kind: k, Server: server, Name: name, Exposed: text, Class: config.ClassRead}
			d := Decide(Subject{Level: 3, Policies: []*Policy{deny}}, item)
			if denied := d.Verdict == Deny; denied != (k == kind) || denied && d.Reason != DeniedBy {
				t.Fatalf("%q on kind %d: %+v", text, k, d)
			}
		}
	})
}
