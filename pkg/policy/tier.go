package policy

import "postern/pkg/config"

// TierOf is the tier of a tool (R51), or of what t.Kind says, which no list
// changes. Of a tool the operator's lists come first, the
// strictest of them strongest; then the word of whoever approved the server;
// and the server's own hint only where it may be believed. What nobody vouches
// for is write.
func TierOf(t Tool) config.Tier { return tierOf(&t) }

func tierOf(t *Tool) config.Tier {
	if tier, ok := tierOfKind(t.Kind); ok {
		return tier
	}
	switch {
	case listed(t.ExecuteTools, t.Name):
		return config.TierExecute
	case listed(t.WriteTools, t.Name):
		return config.TierWrite
	case listed(t.ReadTools, t.Name):
		return config.TierRead
	case t.Class == config.ClassRead:
		return config.TierRead
	case t.Class == config.ClassExecute && t.ReadOnly:
		return config.TierRead
	}
	return config.TierWrite
}

func listed(list []config.Pattern, name string) bool {
	for i := range list {
		if Match(list[i].Text, name) {
			return true
		}
	}
	return false
}

// tierSet is a set of tiers; a tier it does not know is in no set.
type tierSet uint8

func bitOf(t config.Tier) tierSet {
	switch t {
	case config.TierRead:
		return 1
	case config.TierWrite:
		return 2
	case config.TierExecute:
		return 4
	case config.TierAdmin:
		return 8
	}
	return 0
}

func setOf(list []config.Tier) tierSet {
	var set tierSet
	for _, t := range list {
		set |= bitOf(t)
	}
	return set
}

func (s tierSet) has(t config.Tier) bool { return s&bitOf(t) != 0 }

func (s tierSet) list() []config.Tier {
	out := []config.Tier{}
	for _, t := range [...]config.Tier{config.TierRead, config.TierWrite, config.TierExecute, config.TierAdmin} {
		if s.has(t) {
			out = append(out, t)
		}
	}
	return out
}

// level is one row of the table of trust levels, with the word that names it as
// a rule.
func level(n int) (tierSet, string) {
	switch n {
	case 0:
		return 0, "level 0"
	case 1:
		return 1, "level 1"
	case 2:
		return 1 | 2 | 4, "level 2"
	case 3:
		return 1 | 2 | 4 | 8, "level 3"
	}
	return 0, "unknown level"
}
