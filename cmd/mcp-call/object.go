package main

import (
	"fmt"
	"strings"

	"postern/pkg/cmdmain"
	"postern/pkg/wire"
)

// maxKeyParts is how deep a.b.c=1 nests at most; servers refuse more.
const maxKeyParts = 100

// buildObject makes the arguments of words, each typed by the schema. Members
// stand in the order in which they were first named.
func buildObject(words []word, s schema) ([]byte, error) {
	root := &node{}
	for _, w := range words {
		if err := root.add(w, s); err != nil {
			return nil, err
		}
	}
	return root.object(), nil
}

// node is a value under construction: a leaf with one value or several, or an
// object whose members keep their order.
type node struct {
	values  []value
	names   []string
	members map[string]*node
}

// add puts the word's value where its key says.
func (n *node) add(w word, s schema) error {
	if strings.Count(w.key, ".") >= maxKeyParts {
		return cmdmain.Usagef("%s has more than %d parts", shown(w.key), maxKeyParts)
	}
	for rest := w.key; rest != ""; {
		done := strings.TrimSuffix(w.key[:len(w.key)-len(rest)], ".")
		if done != "" && !s.kinds().has(kindObject|kindAny) {
			return cmdmain.Usagef("%s: %s takes %s, which has no members", w.key, done, s)
		}
		if len(n.values) > 0 {
			return cmdmain.Usagef("%s is given as a value and, by %s, as an object", done, w.key)
		}
		name, after := s.head(rest)
		if name == "" || after == "" && strings.HasSuffix(rest, ".") && name != rest {
			return cmdmain.Usagef("%s has an empty part", w.key)
		}
		property, declared := s.property(name)
		if names, closed := s.closed(); closed && !declared {
			return noParameter(strings.TrimPrefix(done+".", "."), name, names)
		}
		n, s, rest = n.child(name), property, after
	}
	return n.put(w, s)
}

// noParameter refuses a member that an object cannot have; prefix is the path to
// the object.
func noParameter(prefix, name string, names []string) error {
	for i := range names {
		names[i] = prefix + names[i]
	}
	return cmdmain.Usagef("there is no parameter %s%s", prefix+name, cmdmain.DidYouMean(prefix+name, names))
}

// head takes the first name off a key: the longest that the schema has, since
// names may have dots, else what stands before the first dot.
func (s schema) head(key string) (name, rest string) {
	for end := len(key); end > 0; end = strings.LastIndexByte(key[:end], '.') {
		if _, declared := s.property(key[:end]); declared {
			return key[:end], strings.TrimPrefix(key[end:], ".")
		}
	}
	name, rest, _ = strings.Cut(key, ".")
	return name, rest
}

func (n *node) child(name string) *node {
	child := n.members[name]
	if child == nil {
		child = &node{}
		if n.members == nil {
			n.members = map[string]*node{}
		}
		n.members[name] = child
		n.names = append(n.names, name)
	}
	return child
}

// put adds a value to a leaf. A second one makes an array where one is taken.
func (n *node) put(w word, s schema) error {
	if n.members != nil {
		return cmdmain.Usagef("%s is given as a value and as an object", w.key)
	}
	v, ok := value{raw: []byte(w.text)}, true
	switch w.form {
	case plain:
		v, ok = s.value(w.text)
	case file:
		v, ok = s.content(w.text)
	}
	if !ok {
		return cmdmain.Usagef("%s takes %s, not %s", w.key, s, shown(w.text))
	}
	if len(n.values) > 0 {
		if !s.kinds().has(kindArray | kindAny) {
			return cmdmain.Usagef("%s is given twice and takes %s", w.key, s)
		}
		if v.whole || n.values[0].whole {
			return cmdmain.Usagef("%s is given as a whole array and once more", w.key)
		}
	}
	n.values = append(n.values, v)
	return nil
}

// shown is a value in a message, long ones with their middle left out.
func shown(text string) string { return cmdmain.Cut(cmdmain.Printable(fmt.Sprintf("%q", text)), 60) }

func (n *node) object() []byte {
	out := []byte{'{'}
	for i, name := range n.names {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, wire.Quote(name)...), ':')
		out = append(out, n.members[name].json()...)
	}
	return append(out, '}')
}

func (n *node) json() []byte {
	switch {
	case n.members != nil:
		return n.object()
	case len(n.values) == 1 && !n.values[0].element:
		return n.values[0].raw
	}
	out := []byte{'['}
	for i, v := range n.values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v.raw...)
	}
	return append(out, ']')
}
