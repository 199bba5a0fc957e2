package policy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"postern/pkg/config"
)

var allTiers = []config.Tier{config.TierRead, config.TierWrite, config.TierExecute, config.TierAdmin}

func patterns(at string, texts ...string) []config.Pattern {
	out := []config.Pattern{}
	for _, text := range texts {
		out = append(out, config.Pattern{Text: text, At: at})
	}
	return out
}

func compile(t testing.TB, p *config.Policy) *Policy {
	t.Helper()
	c, err := Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// choice is one value of one column of the table, with what it means.
type choice struct {
	patterns []config.Pattern
	applies  bool
}

// TestTable walks every combination of what lines 1, 5, 6, 7 and 8 of R50 look
// at, and compares with the table read line by line.
func TestTable(t *testing.T) {
	denies := []choice{
		{nil, false},
		{patterns("f:1", "git/other", "db/drop", "gi/*", "git_lab/*", "x__*", "exec:drop*"), false},
		{patterns("f:1", "gi?/dr*"), true},
		{patterns("f:1", "git__drop"), true},
		{patterns("f:1", "shown*"), true},
		{patterns("f:1", "exec:*--privileged*"), true},
	}
	servers := []choice{{nil, false}, {patterns("f:2", "g", "git_lab", "GIT"), false}, {patterns("f:2", "db", "git"), true}, {patterns("f:2", "*"), true}}
	tools := []choice{
		{nil, true},
		{patterns("f:3"), false},
		{patterns("f:3", "shown*", "git/other"), false}, // the exposed name widens nothing
		{patterns("f:3", "git/d*"), true},
		{patterns("f:3", "git__*"), true},
	}
	asks := []choice{{nil, false}, {patterns("f:4", "db/*", "git"), false}, {patterns("f:4", "git/*"), true}, {patterns("f:4", "shown__1"), true}}
	classes := []config.Class{config.ClassRead, config.ClassExecute, config.ClassUnknown}

	cells := 0
	for _, deny := range denies {
		for _, server := range servers {
			for _, tool := range tools {
				for allow := range 16 {
					for _, ask := range asks {
						p := compile(t, &config.Policy{
							At: "f:9", Servers: server.patterns, Tools: tool.patterns,
							Deny: deny.patterns, Ask: ask.patterns, Allow: subset(allow),
						})
						for level := -1; level <= 4; level++ {
							for _, tier := range allTiers[:3] {
								for _, class := range classes {
									cells++
									checkCell(t, p, level, cellTool(tier, class), cell{deny, server, tool, ask, subset(allow), tier})
								}
							}
						}
					}
				}
			}
		}
	}
	t.Logf("%d cells", cells)
}

type cell struct {
	deny, server, tool, ask choice
	allow                   []config.Tier
	tier                    config.Tier
}

func cellTool(tier config.Tier, class config.Class) Tool {
	t := Tool{Server: "git", Name: "drop", Exposed: "shown__1", Exec: "docker run --privileged git", Class: class}
	list := patterns("", "drop")
	switch tier {
	case config.TierRead:
		t.ReadTools = list
	case config.TierWrite:
		t.WriteTools = list
	case config.TierExecute:
		t.ExecuteTools = list
	}
	return t
}

func subset(bits int) []config.Tier {
	out := []config.Tier{}
	for i, t := range allTiers {
		if bits&(1<<i) != 0 {
			out = append(out, t)
		}
	}
	return out
}

func checkCell(t *testing.T, p *Policy, level int, tool Tool, c cell) {
	t.Helper()
	ofLevel := map[int][]config.Tier{1: allTiers[:1], 2: allTiers[:3], 3: allTiers}[level]
	var allowed []config.Tier
	for _, tier := range c.allow {
		if slices.Contains(ofLevel, tier) {
			allowed = append(allowed, tier)
		}
	}
	want := Decision{Tier: c.tier}
	switch {
	case c.deny.applies:
		want.Reason, want.Rule = DeniedBy, "f:1"
	case !c.server.applies || !c.tool.applies:
		want.Reason, want.Rule = NotPermitted, "f:9"
	case !slices.Contains(allowed, c.tier):
		want.Reason, want.Allowed = NotPermitted, allowed
		want.Rule = "f:9"
		if !slices.Contains(ofLevel, c.tier) {
			want.Rule = fmt.Sprintf("level %d", level)
			if level < 0 || level > 3 {
				want.Rule = "unknown level"
			}
		}
	case c.ask.applies:
		want.Verdict, want.Rule = Ask, "f:4"
	case tool.Class == config.ClassUnknown:
		want.Verdict, want.Rule = Ask, "class unknown"
	default:
		want.Verdict, want.Rule = Allow, "f:9"
	}
	got := Decide(Subject{Level: level, Policies: []*Policy{p}}, tool)
	if got.Verdict != want.Verdict || got.Reason != want.Reason || got.Rule != want.Rule || got.Tier != want.Tier ||
		!slices.Equal(got.Allowed, want.Allowed) {
		t.Fatalf("level %d, class %s, %+v:\n got %+v\nwant %+v", level, tool.Class, c, got, want)
	}
}

// Fail closed: no subject that was put together wrongly may do anything.
func TestNothingAllowsNothing(t *testing.T) {
	open := compile(t, &config.Policy{At: "f:1", Servers: patterns("", "*"), Allow: allTiers})
	tool := cellTool(config.TierRead, config.ClassRead)
	for name, s := range map[string]Subject{
		"zero":             {},
		"level only":       {Level: 3},
		"nil policy":       {Level: 3, Policies: []*Policy{nil}},
		"nil among others": {Level: 3, Policies: []*Policy{open, nil}},
		"zero policy":      {Level: 3, Policies: []*Policy{{}}},
		"policy only":      {Policies: []*Policy{open}},
	} {
		if d := Decide(s, tool); d.Verdict != Deny || d.Reason == "" || d.Rule == "" && name != "zero policy" {
			t.Errorf("%s: %+v", name, d)
		}
	}
	if d := Decide(Subject{Level: 1, Policies: []*Policy{open}}, tool); d.Verdict != Allow {
		t.Errorf("the tool of this test is not allowed at all: %+v", d)
	}
	if (Decision{}).Verdict != Deny {
		t.Error("the zero Decision does not deny")
	}
}

// R52: with several policies the strictest word counts, whatever the order, so
// that narrowing never allows what was denied and never lifts a question.
func TestNarrowingOnlyTakesAway(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		tool := randomTool(rnd)
		s := Subject{Level: rnd.IntN(4)}
		strictest, deniedBy := Allow, false
		for range 1 + rnd.IntN(3) {
			before := Decide(s, tool)
			p := randomPolicy(t, rnd)
			alone := Decide(Subject{Level: s.Level, Policies: []*Policy{p}}, tool)
			strictest = min(strictest, alone.Verdict)
			deniedBy = deniedBy || alone.Reason == DeniedBy
			s.Policies = append(s.Policies, p)
			after := Decide(s, tool)
			if len(s.Policies) > 1 && after.Verdict > before.Verdict {
				t.Fatalf("narrowing made %+v of %+v for %+v", after, before, tool)
			}
			if after.Verdict != strictest || (after.Reason == DeniedBy) != deniedBy {
				t.Fatalf("%d policies: %+v, strictest alone %d, denied by a pattern %v", len(s.Policies), after, strictest, deniedBy)
			}
		}
		slices.Reverse(s.Policies)
		if d := Decide(s, tool); d.Verdict != strictest {
			t.Fatalf("the order of policies counts: %+v", d)
		}
	}
}

func randomTool(r *rand.Rand) Tool {
	return Tool{
		Kind: Kind(r.IntN(4)), Server: pick(r, "a", "ab", "a_b"), Name: pick(r, "get", "set", "a/b"), Exposed: pick(r, "a__get", "ab__set", "z"),
		Exec: pick(r, "npx a", "uvx b"), Class: pick(r, config.ClassRead, config.ClassExecute, config.ClassUnknown),
		ReadOnly: r.IntN(2) == 0, WriteTools: randomPatterns(r, "get", "s*"),
	}
}

func randomPolicy(t *testing.T, r *rand.Rand) *Policy {
	p := &config.Policy{
		At: "p:1", Servers: randomPatterns(r, "*", "a", "ab", "a*"), Allow: subset(r.IntN(16)),
		Deny: randomPatterns(r, "a/get", "*/set", "z", "exec:npx*", "resource:a/get"), Ask: randomPatterns(r, "a/*", "ab__*", "z", "prompt:*/?et"),
	}
	if r.IntN(2) == 0 {
		p.Tools = randomPatterns(r, "a/*", "*/get", "ab__set", "*__*", "resource:a/*", "prompt:*/get")
	}
	return compile(t, p)
}

func randomPatterns(r *rand.Rand, texts ...string) []config.Pattern {
	return patterns("p:2", slices.DeleteFunc(texts, func(string) bool { return r.IntN(2) == 0 })...)
}

func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

func TestAllowDoesNotAllocate(t *testing.T) {
	p := compile(t, &config.Policy{
		At: "f:1", Servers: patterns("", "db", "git"), Tools: patterns("f:2", "db/*", "git__*"),
		Deny: patterns("f:3", "git/merge_*", "exec:*--privileged*", "other__*"), Ask: patterns("f:4", "git/create_*", "git__create_*"),
		Allow: allTiers[:2],
	})
	s := Subject{Level: 2, Policies: []*Policy{p, p}}
	tool := Tool{Server: "git", Name: "get_issue", Exposed: "git__get_issue", Exec: "github-mcp-server stdio", Class: config.ClassExecute, ReadTools: patterns("", "get_*")}
	if d := Decide(s, tool); d.Verdict != Allow {
		t.Fatalf("%+v", d)
	}
	if n := testing.AllocsPerRun(200, func() { Decide(s, tool) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkDecide(b *testing.B) {
	p := compile(b, &config.Policy{
		At: "f:1", Servers: patterns("", "git"), Deny: patterns("f:3", "git/merge_*", "exec:*--privileged*"),
		Ask: patterns("f:4", "git__create_*"), Allow: allTiers[:1],
	})
	s := Subject{Level: 2, Policies: []*Policy{p}}
	tool := Tool{Server: "git", Name: "get_issue", Exposed: "git__get_issue", Exec: "github-mcp-server stdio", Class: config.ClassRead}
	for b.Loop() {
		Decide(s, tool)
	}
}

// The gateway's own tools pass line 5 whatever servers and tools say; patterns,
// tiers and levels hold for them as for others (R50, R52).
func TestGatewayTools(t *testing.T) {
	own := Tool{Server: Gateway, Name: "search_tools", Exposed: "search_tools", Class: config.ClassRead}
	read := func(p config.Policy) config.Policy { p.Allow = []config.Tier{config.TierRead}; return p }
	for _, c := range []struct {
		name     string
		level    int
		policies []config.Policy
		want     Verdict
	}{
		{"no policy, level 1", 1, nil, Allow},
		{"no policy, level 0", 0, nil, Deny},
		{"a policy without servers", 1, []config.Policy{read(config.Policy{})}, Allow},
		{"tools that miss it", 2, []config.Policy{read(config.Policy{Tools: patterns("f:1", "github/*")})}, Allow},
		{"level 0", 0, []config.Policy{read(config.Policy{Servers: patterns("f:1", "*")})}, Deny},
		{"no read tier", 2, []config.Policy{{Allow: []config.Tier{config.TierWrite}}}, Deny},
		{"denied as gateway/NAME", 2, []config.Policy{read(config.Policy{Deny: patterns("f:1", "gateway/search_*")})}, Deny},
		{"denied by the exposed name", 2, []config.Policy{read(config.Policy{Deny: patterns("f:1", "search_tools")})}, Deny},
		{"denied by the joined name", 2, []config.Policy{read(config.Policy{Deny: patterns("f:1", "gateway__*")})}, Deny},
		{"asked for", 2, []config.Policy{read(config.Policy{Ask: patterns("f:1", "gateway/*")})}, Ask},
		{"exec patterns are for what is run", 2, []config.Policy{read(config.Policy{Deny: patterns("f:1", "exec:*")})}, Allow},
		{"the narrower policy denies", 2, []config.Policy{read(config.Policy{}), read(config.Policy{Deny: patterns("f:1", "gateway/*")})}, Deny},
	} {
		s := Subject{Level: c.level}
		for i := range c.policies {
			p, err := Compile(&c.policies[i])
			if err != nil {
				t.Fatal(err)
			}
			s.Policies = append(s.Policies, p)
		}
		if d := Decide(s, own); d.Verdict != c.want || d.Rule == "" && c.level == 0 {
			t.Errorf("%s: %+v", c.name, d)
		}
		other := own
		other.Server = "gateways"
		if d := Decide(s, other); len(c.policies) == 0 && d.Verdict != Deny {
			t.Errorf("%s: another server: %+v", c.name, d)
		}
	}
}
