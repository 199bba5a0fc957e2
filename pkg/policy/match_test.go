package policy

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// R53: * any run, ? one character, nothing else special, case counts, the whole
// string has to fit.
func TestMatch(t *testing.T) {
	tests := []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true},
		{"", "a", false},
		{"a", "", false},
		{"*", "", true},
		{"*", "anything / at all", true},
		{"**", "x", true},
		{"?", "", false},
		{"?", "é", true},
		{"??", "é", false},
		{"*??", "é", false},
		{"*??", "日本", true},
		{"get_*", "get_issue", true},
		{"get_*", "get_", true},
		{"get_*", "forget_it", false},
		{"*_issue", "get_issue", true},
		{"*_issue", "get_issues", false},
		{"*issue*", "the_issue_list", true},
		{"a*b*c", "a-b-b-c", true},
		{"a*b*c", "a-c-b", false},
		{"a?c", "abc", true},
		{"a?c", "ac", false},
		{"Get_*", "get_x", false},
		{"[ab]", "a", false},
		{"[ab]", "[ab]", true},
		{`\*`, `\anything`, true},
		{`\*`, `*`, false},
		{"a.c", "abc", false},
		{"*", "a\nb", true},
		{"*ab", "aab", true},
		{"*aab", "aaab", true},
		{"db", "db_prod", false}, // MB-132
		{"db*", "db_prod", true},
	}
	for _, tt := range tests {
		if got := Match(tt.pattern, tt.s); got != tt.want {
			t.Errorf("Match(%q, %q) = %v", tt.pattern, tt.s, got)
		}
		if got := match(tt.pattern, []byte(tt.s)); got != tt.want {
			t.Errorf("match(%q, []byte(%q)) = %v", tt.pattern, tt.s, got)
		}
	}
}

// A matcher that tries all ways to share out the stars would not end here.
func TestMatchManyStars(t *testing.T) {
	s := strings.Repeat("a", 4096)
	if Match(strings.Repeat("*a", 100)+"*b", s) {
		t.Error("matched without the last letter")
	}
	if !Match(strings.Repeat("*a", 100)+"*", s) {
		t.Error("did not match")
	}
}

func TestMatchJoined(t *testing.T) {
	tests := []struct {
		glob, server, name string
		want               bool
	}{
		{"github__get_*", "github", "get_issue", true},
		{"github__*", "github", "", true},
		{"github_*", "github", "x", true},
		{"github__get", "git", "hub__get", false},
		{"*", "a", "b", true},
		{"a__" + strings.Repeat("?", 2000), "a", strings.Repeat("x", 2000), true},
	}
	for _, tt := range tests {
		if got := matchJoined(tt.glob, tt.server, tt.name); got != tt.want {
			t.Errorf("matchJoined(%q, %q, %q) = %v", tt.glob, tt.server, tt.name, got)
		}
	}
}

// slowMatch is the definition, written down without thought for time.
func slowMatch(p, s []rune) bool {
	fits := make([]bool, len(s)+1)
	fits[0] = true
	for _, c := range p {
		next := make([]bool, len(s)+1)
		for i := range next {
			switch {
			case c == '*':
				next[i] = fits[i] || i > 0 && next[i-1]
			case i > 0:
				next[i] = fits[i-1] && (c == '?' || c == s[i-1])
			}
		}
		fits = next
	}
	return fits[len(s)]
}

func FuzzMatch(f *testing.F) {
	for _, seed := range [][2]string{
		{"*", ""}, {"a*b?c", "aXbYc"}, {"*?*", "é"}, {"**a**b", "xaab"}, {"?*?", "ab"}, {"*aab", "aaaaab"}, {"\xff*", "\xff\x80"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, s string) {
		if len(pattern) > 200 || len(s) > 2000 {
			return
		}
		got := Match(pattern, s)
		if got != match(pattern, []byte(s)) {
			t.Fatalf("%q and %q: string and bytes differ", pattern, s)
		}
		if utf8.ValidString(pattern) && utf8.ValidString(s) {
			if want := slowMatch([]rune(pattern), []rune(s)); got != want {
				t.Fatalf("Match(%q, %q) = %v", pattern, s, got)
			}
		}
		if !strings.ContainsAny(pattern, "*?") && got != (pattern == s) {
			t.Fatalf("Match(%q, %q) = %v without stars", pattern, s, got)
		}
	})
}
