package call

import (
	"sort"
	"strings"
)

// mostNear is how many names a refusal offers.
const mostNear = 3

// mostApart is the distance from which names are never alike, however long.
const mostApart = 8

// nearest returns up to three visible names that are close to name, the likely
// ones first. name is exposed, or a tool's own with the server left away.
func (v *View) nearest(name string) []string {
	var found nearby
	server, own, whole := strings.Cut(name, "__")
	if !whole {
		own = server
	}
	most := max(2, min(len(own)/3, mostApart)) // the server's part is mostly right and would excuse too much
	for _, t := range v.VisibleTools() {
		cost := distance(name, t.Exposed)
		if !whole {
			cost = min(cost, distance(own, t.Def.Name))
		}
		found.add(t.Exposed, cost, most)
	}
	return found.names()
}

// nearby collects names by how far they are from another one.
type nearby []struct {
	name string
	cost int
}

// add takes a name in unless it is further away than most.
func (n *nearby) add(name string, cost, most int) {
	if cost <= most {
		*n = append(*n, struct {
			name string
			cost int
		}{name, cost})
	}
}

// names is the first of them, the likely ones first.
func (n nearby) names() (names []string) {
	sort.SliceStable(n, func(i, j int) bool { return n[i].cost < n[j].cost })
	for _, near := range n[:min(mostNear, len(n))] {
		names = append(names, near.name)
	}
	return names
}

// distance is the Levenshtein distance of two names, which are short (R60).
func distance(a, b string) int {
	a, b = a[:min(len(a), 128)], b[:min(len(b), 128)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
