package config

import (
	"bytes"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v4"
)

// The library writes a whole document anew, which loses blank lines and the
// way people align things. So an edit is made twice: on the nodes, which say
// what the result must mean, and on the lines of the text. settle takes the
// text if it means the same, and the library's writing if not.

// settle decides between the two forms of an edit.
func (e *edit) settle(text []byte) ([]byte, error) {
	if e.means(text) {
		return text, nil
	}
	return yaml.Dump(e.doc, yaml.WithIndent(2), yaml.WithLineWidth(-1))
}

// means reports whether a text says what the nodes do. It must be asked before
// any of them is written, which changes them. A nil text is one that could not
// be edited.
func (e *edit) means(text []byte) bool {
	if text == nil {
		return false
	}
	doc, err := yamlDocument(text)
	return err == nil && doc != nil && sameMeaning(doc.Content[0], e.top) && keepsComments(doc, e.doc)
}

func sameMeaning(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.ShortTag() != b.ShortTag() || len(a.Content) != len(b.Content) {
		return false
	}
	if a.Kind == yaml.ScalarNode && a.ShortTag() != "!!null" && a.Value != b.Value || a.Kind == yaml.AliasNode && a.Value != b.Value {
		return false
	}
	for i := range a.Content {
		if !sameMeaning(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return a.Anchor == b.Anchor
}

// keepsComments reports whether no comment of want is missing in got, and none
// occurs there twice that did not in the nodes or the text before.
func keepsComments(got, want *yaml.Node) bool {
	have := map[string]int{}
	for _, c := range comments(got, nil) {
		have[c]++
	}
	for _, c := range comments(want, nil) {
		if have[c]--; have[c] < 0 {
			return false
		}
	}
	return true
}

func comments(n *yaml.Node, out []string) []string {
	for _, block := range []string{n.HeadComment, n.LineComment, n.FootComment} {
		for line := range strings.SplitSeq(block, "\n") {
			if line = strings.TrimSpace(line); line != "" {
				out = append(out, line)
			}
		}
	}
	for _, c := range n.Content {
		out = comments(c, out)
	}
	return out
}

// replace writes an entry anew over its lines.
func (e *edit) replace(key, value *yaml.Node) []byte {
	from, to := e.region(key)
	if from < 0 {
		return nil
	}
	text := e.write(key, value, key.Column-1)
	return e.with(from, to, text)
}

// delete takes the lines of an entry away.
func (e *edit) delete(key *yaml.Node) []byte {
	from, to := e.region(key)
	if from < 0 {
		return nil
	}
	return e.with(from, to, nil)
}

// insert writes a new entry behind the last one, or the first one behind the
// line of `servers:`, where an empty value has to go.
func (e *edit) insert(key, value *yaml.Node) []byte {
	heading, _ := pair(e.top, "servers")
	if n := len(e.servers.Content); n > 0 {
		last := e.servers.Content[n-2]
		_, to := e.region(last)
		if to < 0 {
			return nil
		}
		return e.with(to, to, e.write(key, value, last.Column-1))
	}
	entry := e.write(key, value, 2)
	if heading.Line == 0 {
		return e.with(len(e.lines), len(e.lines), append([]byte("\nservers:\n"), entry...))
	}
	at := heading.Line - 1
	if at >= len(e.lines) {
		return nil
	}
	line := string(e.lines[at])
	before, after, _ := strings.Cut(line, ":")
	for _, empty := range []string{"{}", "~", "null"} {
		if rest, ok := strings.CutPrefix(strings.TrimLeft(after, " "), empty); ok {
			after = rest
			break
		}
	}
	return e.with(at, at+1, append([]byte(strings.TrimRight(before+":"+after, " \r\n")+"\n"), entry...))
}

// with is the text with the lines from..to replaced.
func (e *edit) with(from, to int, text []byte) []byte {
	head := bytes.Join(e.lines[:from], nil)
	if len(head) > 0 && len(text) > 0 && !bytes.HasSuffix(head, []byte("\n")) {
		head = append(head, '\n')
	}
	return slices.Concat(head, text, bytes.Join(e.lines[to:], nil))
}

// region is the half-open range of lines of an entry: from its key to the next
// key that is no deeper, without the blank lines and the comments before that;
// -1, -1 when entries do not stand on lines of their own.
func (e *edit) region(key *yaml.Node) (from, to int) {
	from, indent := key.Line-1, key.Column-1
	if e.servers.Style&yaml.FlowStyle != 0 || from < 0 || from >= len(e.lines) || indentOf(e.lines[from]) != indent {
		return -1, -1
	}
	to = len(e.lines)
	for _, mapping := range []*yaml.Node{e.servers, e.top} {
		for i := 0; i < len(mapping.Content); i += 2 {
			if at := mapping.Content[i].Line - 1; at > from && at < to {
				to = at
			}
		}
	}
	for to > from+1 && outside(e.lines[to-1], indent) {
		to--
	}
	return from, to
}

// outside reports whether a line is blank, a comment no deeper than indent, or
// the mark of a document's end.
func outside(line []byte, indent int) bool {
	text := bytes.TrimSpace(line)
	return len(text) == 0 || text[0] == '#' && indentOf(line) <= indent || bytes.Equal(text, []byte("..."))
}

func indentOf(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " ")) }

// write is the text of an entry at an indentation, without the comments around
// it, which stay in the text.
func (e *edit) write(key, value *yaml.Node, indent int) []byte {
	name := *key
	name.HeadComment, name.FootComment = "", ""
	entry := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{&name, value}}
	text, err := yaml.Dump(entry, yaml.WithIndent(2), yaml.WithLineWidth(-1))
	if err != nil {
		return nil
	}
	var b bytes.Buffer
	for line := range bytes.SplitAfterSeq(text, []byte("\n")) {
		if len(bytes.TrimSpace(line)) > 0 {
			b.WriteString(strings.Repeat(" ", indent))
		}
		b.Write(line)
	}
	return b.Bytes()
}
