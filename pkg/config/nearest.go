package config

import "strings"

// Nearest is the spelling help of diagnostics for other closed lists of words:
// the candidate that word was probably meant to be, "" when none is close.
func Nearest(word string, candidates []string) string { return nearest(word, candidates) }

// nearest returns the candidate that word was probably meant to be, "" when
// none is close: at most a third of the letters may differ, at most three, case
// and separators not counted.
func nearest(word string, candidates []string) string {
	best, bestAt := "", min(3, len(word)/3)+1
	if len(word) > 64 {
		return ""
	}
	folded := fold(word)
	for _, c := range candidates {
		if d := distance(folded, fold(c)); d < bestAt {
			best, bestAt = c, d
		}
	}
	return best
}

// fold makes spellings that differ only in case and separators equal, so that
// startTimeout finds start_timeout.
func fold(s string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(s))
}

// distance counts insertions, deletions, substitutions and swaps of neighbours.
func distance(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row := rows[0], rows[1], rows[2]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		rows[0], rows[1], rows[2] = last, row, before
	}
	return rows[1][len(b)]
}
