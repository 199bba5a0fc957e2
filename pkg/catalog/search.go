package catalog

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"postern/pkg/config"
)

// Part is one catalog in a search.
type Part struct {
	Index *Index
	Names []string // of each tool of the catalog as the caller sees it; "" = the caller does not see it
}

// Hit is one tool that a search found.
type Hit struct {
	Part, Tool int // where it stands in the parts
	Name       string
}

// prefixWeight is what the beginning of a word counts against the whole word.
const prefixWeight = 0.6

// Search orders the tools that parts show by how well they fit the query, best
// first, and leaves out those that have none of its words. A tool that is named
// exactly comes first; equals stand in order of their names. Tools that the
// caller does not see have no influence on the others. It is pure; its time is
// bounded by config.MaxQueryWords and the number of tools.
func Search(parts []Part, query string) []Hit {
	asked := queryWords(query)
	score := make([][]float64, len(parts))
	seen := 0
	for p, part := range parts {
		score[p] = make([]float64, len(part.Names))
		for _, name := range part.Names {
			if name != "" {
				seen++
			}
		}
	}
	for i, word := range asked {
		addWord(parts, score, word, i == len(asked)-1, seen)
	}
	var found []scored
	for p, part := range parts {
		for tool, name := range part.Names {
			points := score[p][tool]
			if name != "" && named(query, name, part.Index.naming[tool]) {
				points = math.Inf(1)
			}
			if name != "" && points > 0 {
				found = append(found, scored{Hit{p, tool, name}, points})
			}
		}
	}
	slices.SortFunc(found, func(a, b scored) int {
		if c := cmp.Compare(b.points, a.points); c != 0 {
			return c
		}
		return cmp.Compare(a.hit.Name, b.hit.Name)
	})
	hits := make([]Hit, len(found))
	for i, f := range found {
		hits[i] = f.hit
	}
	return hits
}

type scored struct {
	hit    Hit
	points float64
}

// queryWords are the distinct words of a query in their order.
func queryWords(query string) (out []string) {
	if len(query) > config.MaxQueryBytes {
		query = query[:config.MaxQueryBytes]
	}
	words(query, func(word string) bool {
		if !slices.Contains(out, word) {
			out = append(out, word)
		}
		return len(out) < config.MaxQueryWords
	})
	return out
}

// addWord gives each tool that has the word its points for it. A word counts
// the more the fewer of the visible tools have it, and never nothing (MB-115).
func addWord(parts []Part, score [][]float64, word string, last bool, seen int) {
	best := make([][]float32, len(parts))
	have := 0
	for p, part := range parts {
		best[p] = make([]float32, len(part.Names))
		note := func(place int, factor float32) {
			for _, at := range part.Index.found[place] {
				if part.Names[at.tool] == "" {
					continue
				}
				if best[p][at.tool] == 0 {
					have++
				}
				best[p][at.tool] = max(best[p][at.tool], at.weight*factor)
			}
		}
		if place := part.Index.exact(word); place >= 0 {
			note(place, 1)
		}
		if last && len(word) > 1 {
			for from, to := part.Index.beginning(word); from < to; from++ {
				note(from, prefixWeight)
			}
		}
	}
	rarity := math.Log(1 + float64(seen)/float64(max(have, 1)))
	for p := range best {
		for tool, weight := range best[p] {
			score[p][tool] += float64(weight) * rarity
		}
	}
}

// named reports whether the query is a tool's very name.
func named(query, exposed, own string) bool {
	query = strings.TrimSpace(query)
	return strings.EqualFold(query, exposed) || strings.EqualFold(query, own)
}
