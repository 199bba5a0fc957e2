package catalog

import (
	"slices"

	"postern/pkg/config"
	"postern/pkg/wire"
)

// Index is the tools of one catalog prepared for Search. It is made once, never
// changed, and may be used concurrently.
type Index struct {
	words  []string // sorted, distinct
	found  [][]posting
	naming []string // per tool: server id and own name, for exact queries
}

// posting says that a tool has a word, and how much that counts.
type posting struct {
	tool   int32
	weight float32
}

// What a word counts by the field it stands in. A tool gets the weight of each
// field that has the word, once.
const (
	inName        = 4
	inWholeName   = 5
	inTitle       = 2
	inServerID    = 1.5
	inParameter   = 0.7
	inDescription = 1
)

// Index is the catalog's index. The first call makes it, which takes some
// milliseconds for hundreds of tools: whoever answers requests has it made
// beforehand.
func (c *Catalog) Index() *Index {
	c.indexed.Do(func() { c.index = newIndex(c.Identity.Server, c.parsed) })
	return c.index
}

func newIndex(server string, tools []Tool) *Index {
	x := &Index{naming: make([]string, len(tools))}
	all := map[string][]posting{}
	for i := range tools {
		t := &tools[i]
		x.naming[i] = t.Name
		weights := map[string]float32{}
		field(weights, t.Name, inName)
		once(weights, compound(t.Name), inWholeName-inName)
		field(weights, t.Title, inTitle)
		field(weights, server, inServerID)
		field(weights, t.Description, inDescription)
		for _, name := range parameters(t.InputSchema) {
			field(weights, name, inParameter)
		}
		for word, weight := range weights {
			all[word] = append(all[word], posting{int32(i), weight})
		}
	}
	x.words = make([]string, 0, len(all))
	for word := range all {
		x.words = append(x.words, word)
	}
	slices.Sort(x.words)
	x.found = make([][]posting, len(x.words))
	for i, word := range x.words {
		x.found[i] = all[word]
	}
	return x
}

// field adds the words of one field of one tool, each once.
func field(weights map[string]float32, text string, weight float32) {
	seen := make(map[string]bool, 8)
	words(text, func(word string) bool {
		if !seen[word] {
			seen[word] = true
			weights[word] += weight
		}
		return len(seen) < config.MaxFieldWords
	})
}

func once(weights map[string]float32, word string, weight float32) {
	if word != "" {
		weights[word] += weight
	}
}

// parameters are the names of the arguments at the root of an input schema.
func parameters(schema []byte) (names []string) {
	var at [1]wire.Span
	if wire.Lookup(schema, []string{"properties"}, at[:]) != nil {
		return nil
	}
	// A schema whose properties are no object has no names; it is shown all the same.
	_ = wire.EachMember(at[0].Of(schema), func(key []byte, _ wire.Span) bool {
		if name, err := wire.Unquote(key); err == nil {
			names = append(names, name)
		}
		return len(names) < config.MaxFieldWords
	})
	return names
}

// exact is where word stands, -1 when no tool has it.
func (x *Index) exact(word string) int {
	if i, ok := slices.BinarySearch(x.words, word); ok {
		return i
	}
	return -1
}

// beginning are the places of the words that begin with prefix.
func (x *Index) beginning(prefix string) (from, to int) {
	from, _ = slices.BinarySearch(x.words, prefix)
	to = from
	for to < len(x.words) && len(x.words[to]) >= len(prefix) && x.words[to][:len(prefix)] == prefix && to-from < config.MaxPrefixWords {
		to++
	}
	return from, to
}
