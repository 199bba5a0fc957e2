package catalog

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"postern/pkg/config"
)

var exposable = regexp.MustCompile(`^[A-Za-z0-9_-]{1,50}$`)

// R60, with the hashes written down: a name that changes between two builds
// breaks every agent that learnt it.
func TestExposed(t *testing.T) {
	tests := []struct{ server, tool, want string }{
		{"github", "get_issue", "github__get_issue"},
		{"git-lab", "a-B_9", "git-lab__a-B_9"},
		{"a_b", "c", "a_b__c"},
		{"a", "b__c", "a__b__c"},
		{"a", strings.Repeat("x", 47), "a__" + strings.Repeat("x", 47)},
		{"a", strings.Repeat("x", 48), "a__" + strings.Repeat("x", 38) + "_b7b7d334"},
		{"agentic-qe", "test.run", "agentic-qe__test_run_b700aabf"},
		{"a", "é日", "a_____b44cce05"},
		{"a", "with space", "a__with_space_bdc51efb"},
		{"a", "\xff\xfe", ""},
		{"a", "_b", "a___b_ee647d3b"},
		{"a_", "b", "a___b_a00766a3"},
		{"a__b", "c", "a__b__c_a92700ce"},
		{"", "", "__"},
	}
	for _, tt := range tests {
		got := Exposed(tt.server, tt.tool, config.DefaultNameMax)
		if tt.want != "" && got != tt.want {
			t.Errorf("%s, %s: %s, want %s", tt.server, tt.tool, got, tt.want)
		}
		if !exposable.MatchString(got) {
			t.Errorf("%s, %s: %q cannot be exposed", tt.server, tt.tool, got)
		}
	}
}

// MB-128: names that are equal for their first 64 bytes stay apart, at every
// length that may be configured.
func TestExposedLong(t *testing.T) {
	const server = "enterprise-database-management"
	for limit := config.MinNameMax; limit <= config.MaxNameMax; limit++ {
		north := Exposed(server, "synchronize_all_customer_records_for_region_north", limit)
		south := Exposed(server, "synchronize_all_customer_records_for_region_south", limit)
		if north == south || len(north) != limit || len(south) != limit {
			t.Errorf("limit %d: %s and %s", limit, north, south)
		}
	}
}

// A limit outside what may be configured is moved inside.
func TestExposedLimit(t *testing.T) {
	long := strings.Repeat("x", 100)
	for limit, want := range map[int]int{-1: 32, 0: 32, 9: 32, 32: 32, 64: 64, 65: 64, 1 << 30: 64} {
		if got := Exposed("a", long, limit); len(got) != want {
			t.Errorf("limit %d: %d bytes", limit, len(got))
		}
	}
}

// MB-130: pairs that a joining by itself would make equal.
func TestExposedAmbiguousPairs(t *testing.T) {
	for _, pair := range [][4]string{
		{"acme", "__status", "acme__", "status"},
		{"a_", "b", "a", "_b"},
		{"a", "b__c", "a__b", "c"},
		{"a", "x.y", "a", "x_y"},
		{"a", "x.y", "a", "x y"},
		{"a-b", "c", "a_b", "c"},
		{"a", "B", "a", "b"},
	} {
		x, y := Exposed(pair[0], pair[1], 50), Exposed(pair[2], pair[3], 50)
		if x == y {
			t.Errorf("%v are both %s", pair, x)
		}
	}
}

// A server can name a tool after the hash of another's. That is the one way to
// a collision, and the reason why routing needs its map.
func TestExposedCanBeSquatted(t *testing.T) {
	victim := Exposed("a__b", "c", 50)
	squatter := Exposed("a", strings.TrimPrefix(victim, "a__"), 50)
	if victim != squatter {
		t.Errorf("%s and %s differ: the comment at Exposed is out of date", victim, squatter)
	}
}

// Random pairs from an alphabet made to collide: equal names only for equal
// pairs.
func TestExposedTellsPairsApart(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	word := func(alphabet string, most int) string {
		b := make([]byte, 1+rnd.IntN(most))
		for i := range b {
			b[i] = alphabet[rnd.IntN(len(alphabet))]
		}
		return string(b)
	}
	owner := map[string][2]string{}
	for range 50000 {
		pair := [2]string{"a" + word("_ab", 4), word("_ab. /", 6)}
		name := Exposed(pair[0], pair[1], 50)
		if !exposable.MatchString(name) {
			t.Fatalf("%q cannot be exposed", name)
		}
		if was, ok := owner[name]; ok && was != pair {
			t.Fatalf("%q and %q are both %s", was, pair, name)
		}
		owner[name] = pair
	}
}

func FuzzExposed(f *testing.F) {
	f.Add("github", "get_issue", "a", "b", 50)
	f.Add("a_", "b", "a", "_b", 50)
	f.Add("a", "\xff", "a", "\xfe", 32)
	f.Add("enterprise-database-management", strings.Repeat("x", 300), "a", "é", 64)
	f.Fuzz(func(t *testing.T, s1, t1, s2, t2 string, limit int) {
		for _, n := range []int{limit, 50} {
			a, b := Exposed(s1, t1, n), Exposed(s2, t2, n)
			most := min(max(n, config.MinNameMax), config.MaxNameMax)
			if a == "" || len(a) > most || strings.Trim(a, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
				t.Fatalf("%q", a)
			}
			if n == 50 && !exposable.MatchString(a) {
				t.Fatalf("%q", a)
			}
			if a != Exposed(s1, t1, n) {
				t.Fatal("not a function of its arguments")
			}
			if a == b && (s1 != s2 || t1 != t2) && !hashed(a) {
				t.Fatalf("(%q, %q) and (%q, %q) are both %s", s1, t1, s2, t2, a)
			}
		}
	})
}

// hashed says that a name ends as one with a hash does; plain names that look
// so can be made to collide.
var hashEnd = regexp.MustCompile(`_[0-9a-f]{8}$`)

func hashed(name string) bool { return hashEnd.MatchString(name) }
