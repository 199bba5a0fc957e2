package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v4"
)

// parseYAML reads one YAML document. A file of nothing but comments is nil. Its
// error is always a *parseError.
func parseYAML(data []byte) (*node, error) {
	doc, err := yamlDocument(data)
	if doc == nil || err != nil {
		return nil, err
	}
	return fromYAML(doc.Content[0], 0), nil
}

// yamlDocument returns the only document of data, nil when there is none.
func yamlDocument(data []byte) (*yaml.Node, error) {
	if at := invalidUTF8(data); at >= 0 {
		return nil, &parseError{pos: posOf(data, at), problem: "the file is not valid UTF-8 here"}
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		return nil, &parseError{problem: err.Error()}
	}
	var doc, second yaml.Node
	switch err := loader.Load(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, yamlError(err)
	}
	switch err := loader.Load(&second); {
	case err == nil:
		return nil, &parseError{pos: pos{second.Line, second.Column}, problem: "a second document begins; there must be one"}
	case !errors.Is(err, io.EOF):
		return nil, yamlError(err)
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	return &doc, nil
}

func yamlError(err error) error {
	var load *yaml.LoadError
	if !errors.As(err, &load) {
		return &parseError{problem: "not valid YAML: " + err.Error()}
	}
	problem := "not valid YAML: " + load.Message
	if load.ContextMsg != "" {
		problem += " " + load.ContextMsg
		if load.ContextMark.Line > 0 {
			problem += fmt.Sprintf(" that begins in line %d", load.ContextMark.Line)
		}
	}
	return &parseError{pos: pos{load.Mark.Line, load.Mark.Column}, problem: problem}
}

// fromYAML turns a node of the library into ours. What we refuse (C10) becomes
// kindBad in its place, so that it costs one server and not the file.
func fromYAML(y *yaml.Node, depth int) *node {
	n := &node{pos: pos{y.Line, y.Column}, text: y.Value}
	switch {
	case depth > MaxDepth:
		return n.refuse(fmt.Sprintf("nested more than %d deep", MaxDepth))
	case y.Kind == yaml.AliasNode:
		return n.refuse("aliases are not read; write the value out")
	case y.Anchor != "":
		return n.refuse("anchors are not read; take away &" + y.Anchor)
	}
	switch y.Kind {
	case yaml.SequenceNode:
		n.kind = kindList
		for _, item := range y.Content {
			n.items = append(n.items, fromYAML(item, depth+1))
		}
		if y.ShortTag() != "!!seq" {
			return n.refuse("the tag " + y.Tag + " is not read")
		}
	case yaml.MappingNode:
		return mappingFromYAML(n, y, depth)
	default:
		return scalarFromYAML(n, y)
	}
	return n
}

func mappingFromYAML(n *node, y *yaml.Node, depth int) *node {
	n.kind = kindMapping
	if y.ShortTag() != "!!map" {
		return n.refuse("the tag " + y.Tag + " is not read")
	}
	for i := 0; i+1 < len(y.Content); i += 2 {
		key := y.Content[i]
		m := member{name: key.Value, pos: pos{key.Line, key.Column}}
		switch tag := key.ShortTag(); {
		case tag == "!!merge":
			n.pos = m.pos
			return n.refuse("merge keys are not read; write the fields out")
		case key.Kind != yaml.ScalarNode || key.Anchor != "":
			n.pos = m.pos
			return n.refuse("a field name must be plain text")
		}
		m.value = fromYAML(y.Content[i+1], depth+1)
		n.members = append(n.members, m)
	}
	return n
}

func scalarFromYAML(n *node, y *yaml.Node) *node {
	switch y.ShortTag() {
	case "!!str", "!!timestamp":
		n.kind = kindString
	case "!!null":
		n.kind = kindNull
	case "!!bool":
		n.kind = kindBool
	case "!!int", "!!float":
		n.kind = kindNumber
	default:
		return n.refuse("the tag " + y.Tag + " is not read")
	}
	return n
}

func (n *node) refuse(why string) *node {
	n.kind, n.text, n.items, n.members = kindBad, why, nil, nil
	return n
}

// invalidUTF8 is the offset of the first byte that is no UTF-8, -1 without one.
func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for i := 0; ; {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
}

// posOf is the position of the byte at offset.
func posOf(data []byte, offset int) pos {
	before := data[:offset]
	line := bytes.LastIndexByte(before, '\n') + 1
	return pos{line: 1 + bytes.Count(before, []byte("\n")), column: 1 + utf8.RuneCount(before[line:])}
}
