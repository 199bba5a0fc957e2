package policy

// Match reports whether the whole of s fits pattern, where * stands for any run
// of characters, ? for exactly one, and every other byte for itself. Case
// counts. It needs no memory, and time in proportion to the two lengths
// multiplied at worst; no pattern makes it exponential.
func Match(pattern, s string) bool { return match(pattern, s) }

// match goes back to the last star only: an earlier star can never need to
// take more once a later one was reached.
func match[T string | []byte](p string, s T) bool {
	pi, si, star, mark := 0, 0, -1, 0
	for si < len(s) {
		switch {
		case pi < len(p) && p[pi] == '*':
			star, mark = pi, si
			pi++
		case pi < len(p) && p[pi] == '?':
			pi, si = pi+1, next(s, si)
		case pi < len(p) && p[pi] == s[si]:
			pi, si = pi+1, si+1
		case star >= 0:
			mark = next(s, mark)
			pi, si = star+1, mark
		default:
			return false
		}
	}
	for pi < len(p) && p[pi] == '*' {
		pi++
	}
	return pi == len(p)
}

// next is the index of the character after the one at i. Names are UTF-8, and a
// question mark that took half a letter would surprise its author.
func next[T string | []byte](s T, i int) int {
	i++
	for i < len(s) && s[i]&0xC0 == 0x80 {
		i++
	}
	return i
}
