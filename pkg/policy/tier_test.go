package policy

import (
	"slices"
	"testing"

	"postern/pkg/config"
)

// R51: all sixteen combinations of what the operator and the server say, for
// each class.
func TestTierOf(t *testing.T) {
	match := []config.Pattern{{Text: "x*"}}
	other := []config.Pattern{{Text: "y*"}}
	pick := func(on bool) []config.Pattern {
		if on {
			return match
		}
		return other
	}
	for _, class := range []config.Class{config.ClassRead, config.ClassExecute, config.ClassUnknown, ""} {
		for bits := range 16 {
			execute, write, read, hint := bits&1 > 0, bits&2 > 0, bits&4 > 0, bits&8 > 0
			tool := Tool{
				Name: "x1", Class: class, ReadOnly: hint,
				ExecuteTools: pick(execute), WriteTools: pick(write), ReadTools: pick(read),
			}
			want := config.TierWrite
			if class == config.ClassRead || class == config.ClassExecute && hint {
				want = config.TierRead
			}
			if read {
				want = config.TierRead
			}
			if write {
				want = config.TierWrite
			}
			if execute {
				want = config.TierExecute
			}
			if got := TierOf(tool); got != want {
				t.Errorf("class %q, %04b: tier %s, want %s", class, bits, got, want)
			}
		}
	}
}

// R51: a tool list of the operator is a pattern on the whole original name.
func TestTierWholeName(t *testing.T) {
	tool := Tool{Name: "get", Class: config.ClassExecute, ReadTools: []config.Pattern{{Text: "ge"}, {Text: "et"}, {Text: "GET"}}}
	if got := TierOf(tool); got != config.TierWrite {
		t.Errorf("tier %s from patterns that do not fit", got)
	}
	tool.ReadTools = []config.Pattern{{Text: "g?t"}}
	if got := TierOf(tool); got != config.TierRead {
		t.Errorf("tier %s", got)
	}
}

// R51: the table of levels; numbers outside it allow nothing.
func TestLevel(t *testing.T) {
	r, w, x, a := config.TierRead, config.TierWrite, config.TierExecute, config.TierAdmin
	want := map[int][]config.Tier{-1: {}, 0: {}, 1: {r}, 2: {r, w, x}, 3: {r, w, x, a}, 4: {}, 255: {}}
	for n, tiers := range want {
		set, word := level(n)
		if !slices.Equal(set.list(), tiers) {
			t.Errorf("level %d: %v, want %v", n, set.list(), tiers)
		}
		if word == "" {
			t.Errorf("level %d has no word", n)
		}
	}
}

func TestUnknownTierIsInNoSet(t *testing.T) {
	all := setOf([]config.Tier{config.TierRead, config.TierWrite, config.TierExecute, config.TierAdmin})
	if all.has("root") || all.has("") || setOf([]config.Tier{"root"}) != 0 || setOf(nil) != 0 {
		t.Error("a tier that does not exist is in a set")
	}
}
