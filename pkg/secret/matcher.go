package secret

// span is a part of a text that has to go, by the rule it fell under.
type span struct {
	start, end int
	rule       rule
}

// spans are disjoint, do not touch, and are in order.
type spans []span

// add joins s with those it overlaps or touches. Ends must not fall.
func (all spans) add(s span) spans {
	for n := len(all); n > 0 && all[n-1].end >= s.start; n-- {
		last := all[n-1]
		s.start, s.end, s.rule = min(s.start, last.start), max(s.end, last.end), min(s.rule, last.rule)
		all = all[:n-1]
	}
	return append(all, s)
}

// matcher finds all of many values in one pass over a text, whatever text and
// values are (Aho and Corasick): the state after each byte is the longest end
// of the text so far that begins a value. It never changes after newMatcher.
type matcher struct {
	root  [256]int32 // state after one byte; 0 is none
	nodes []node     // by state; nodes[0] is the empty text
}

// node is one state. Its children form a list, since most have one.
type node struct {
	child, sibling int32 // first child, and next child of the parent; 0 is none
	fail           int32 // the longest shorter state that ends the same
	depth          int32 // bytes of this state
	longest        int32 // bytes of the longest value that ends here; 0 is none
	b              byte  // the last of them
}

func newMatcher(values map[string]bool) *matcher {
	m := &matcher{nodes: make([]node, 1)}
	for v := range values {
		at := int32(0)
		for i := range len(v) {
			at = m.grow(at, v[i])
		}
		m.nodes[at].longest = m.nodes[at].depth
	}
	for c := m.nodes[0].child; c != 0; c = m.nodes[c].sibling {
		m.root[m.nodes[c].b] = c
	}
	m.link()
	return m
}

func (m *matcher) grow(at int32, b byte) int32 {
	if c := m.find(at, b); c != 0 {
		return c
	}
	c := int32(len(m.nodes))
	m.nodes = append(m.nodes, node{sibling: m.nodes[at].child, depth: m.nodes[at].depth + 1, b: b})
	m.nodes[at].child = c
	return c
}

func (m *matcher) find(at int32, b byte) int32 {
	c := m.nodes[at].child
	for c != 0 && m.nodes[c].b != b {
		c = m.nodes[c].sibling
	}
	return c
}

// link sets the failures, shorter states first.
func (m *matcher) link() {
	queue := make([]int32, 0, len(m.nodes))
	for c := m.nodes[0].child; c != 0; c = m.nodes[c].sibling {
		queue = append(queue, c)
	}
	for n := 0; n < len(queue); n++ {
		at := queue[n]
		if m.nodes[at].longest == 0 {
			m.nodes[at].longest = m.nodes[m.nodes[at].fail].longest
		}
		for c := m.nodes[at].child; c != 0; c = m.nodes[c].sibling {
			m.nodes[c].fail = m.step(m.nodes[at].fail, m.nodes[c].b)
			queue = append(queue, c)
		}
	}
}

// step is the state after one more byte. Over a whole text the steps down are
// no more than the steps up, so that time is linear.
func (m *matcher) step(at int32, b byte) int32 {
	for at != 0 {
		if c := m.find(at, b); c != 0 {
			return c
		}
		at = m.nodes[at].fail
	}
	return m.root[b]
}

// search appends where values stand in text. open says that text was cut off at
// its end: the beginning of a value there counts as one.
func (m *matcher) search(out spans, text string, open bool) spans {
	at := int32(0)
	for i := 0; i < len(text); i++ {
		if at == 0 {
			for i < len(text) && m.root[text[i]] == 0 {
				i++
			}
			if i == len(text) {
				break
			}
		}
		at = m.step(at, text[i])
		if n := m.nodes[at].longest; n > 0 {
			out = out.add(span{i + 1 - int(n), i + 1, byValue})
		}
	}
	if depth := int(m.nodes[at].depth); open && depth > 0 {
		out = out.add(span{len(text) - depth, len(text), byValue})
	}
	return out
}
