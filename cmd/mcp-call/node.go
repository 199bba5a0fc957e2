package main

import (
	"postern/pkg/cmdmain"
	"postern/pkg/wire"
)

// node is a value of the arguments under construction: a leaf with one raw
// value or several, or an object whose members keep their order.
type node struct {
	values  [][]byte
	list    bool // an array also with a single value
	names   []string
	members map[string]*node
}

func (n *node) add(path []string, value []byte, key string) error {
	return n.addTyped(path, value, key, false)
}

// addTyped puts value at path. A path that is both a value and an object is a
// usage error that names key.
func (n *node) addTyped(path []string, value []byte, key string, list bool) error {
	if len(path) == 0 {
		if n.members != nil {
			return cmdmain.Usagef("%s is given as a value and as an object", key)
		}
		if list && len(value) > 0 && value[0] == '[' {
			list = false // a whole array was written out
		}
		n.values, n.list = append(n.values, value), n.list || list
		return nil
	}
	if len(n.values) > 0 {
		return cmdmain.Usagef("%s is given as a value and as an object", key)
	}
	if path[0] == "" {
		return cmdmain.Usagef("%s has an empty part", key)
	}
	child := n.members[path[0]]
	if child == nil {
		child = &node{}
		if n.members == nil {
			n.members = map[string]*node{}
		}
		n.members[path[0]] = child
		n.names = append(n.names, path[0])
	}
	return child.addTyped(path[1:], value, key, list)
}

// object writes the members in the order they were first named.
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
	case len(n.values) == 1 && !n.list:
		return n.values[0]
	}
	out := []byte{'['}
	for i, v := range n.values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return append(out, ']')
}
