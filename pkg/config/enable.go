package config

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v4"
)

// SetEnabled returns one of the user's files with the server id enabled or
// disabled: the value of its `enabled` changes, or a line is added, and nothing
// else. A file that says so already comes back as it is. Its error is a
// *NoServerError, or a Diagnostic when file does not parse or when an entry
// that is to be enabled would be refused.
func SetEnabled(file []byte, id string, enabled bool) ([]byte, error) {
	e, err := openEdit(file, false)
	if err != nil {
		return nil, err
	}
	key, entry := e.entry(id)
	if key == nil {
		return nil, &NoServerError{ID: id}
	}
	if entry.Kind != yaml.MappingNode {
		return nil, Diagnostic{File: "mcp.yaml", Line: key.Line, Column: key.Column, Server: id, Problem: "the entry is no mapping; remove it first"}
	}
	word := "false"
	if enabled {
		word = "true"
	}
	text := file
	_, old := pair(entry, "enabled")
	switch {
	case old == nil && enabled, old != nil && old.ShortTag() == "!!bool" && strings.EqualFold(old.Value, word):
	case old == nil:
		text = e.addLine(key, entry, "enabled: "+word)
		entry.Content = append(entry.Content, scalar("enabled"), boolean(word))
	default:
		text = e.overwrite(old, word)
		setField(entry, "enabled", boolean(word))
	}
	if !e.means(text) {
		text, err = e.settle(e.replace(key, entry))
	}
	if err != nil || !enabled {
		return text, err
	}
	return text, declares(text, id)
}

func boolean(word string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: word}
}

// addLine is the text with a line behind the fields of an entry; nil when they
// do not stand on lines of their own.
func (e *edit) addLine(key, entry *yaml.Node, line string) []byte {
	from, to := e.region(key)
	if from < 0 || entry.Style&yaml.FlowStyle != 0 || len(entry.Content) == 0 || entry.Content[0].Line == key.Line {
		return nil
	}
	return e.with(to, to, []byte(strings.Repeat(" ", entry.Content[0].Column-1)+line+"\n"))
}

// overwrite is the text with another word in place of a plain scalar.
func (e *edit) overwrite(old *yaml.Node, word string) []byte {
	if old.Kind != yaml.ScalarNode || old.Style != 0 || old.Line < 1 || old.Line > len(e.lines) {
		return nil
	}
	line, at := e.lines[old.Line-1], 0
	for range old.Column - 1 { // columns count characters
		_, size := utf8.DecodeRune(line[at:])
		at += size
	}
	if !bytes.HasPrefix(line[at:], []byte(old.Value)) {
		return nil
	}
	changed := slices.Concat(line[:at], []byte(word), line[at+len(old.Value):])
	return e.with(old.Line-1, old.Line, changed)
}
