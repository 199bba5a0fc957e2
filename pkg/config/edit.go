package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v4"
)

// Declaration is what SetServer writes: the part of a server that an import or
// a command line can say.
type Declaration struct {
	Command string
	Args    []string
	Env     []EnvVar
	KeepEnv bool // leave the env of an existing entry as it is; Env is ignored
}

// NoServerError is an id that the file does not declare.
type NoServerError struct{ ID string }

func (e *NoServerError) Error() string { return fmt.Sprintf("mcp.yaml declares no server %q", e.ID) }

// SetServer returns the user's file with the server id declared as d: a new
// entry at the end, or the command, args and env of the existing one replaced
// and its other fields kept. All other entries, their order and every comment
// stay; outside the entry every byte stays where the form of the file allows
// it. An empty file counts as StarterFile. When the result would not declare
// the server, or file does not parse, the error is a Diagnostic.
func SetServer(file []byte, id string, d Declaration) ([]byte, error) {
	if err := checkID(id); err != nil {
		return nil, Diagnostic{File: "mcp.yaml", Server: id, Field: join("servers", id), Problem: err.Error()}
	}
	if field := d.unwritable(); field != "" {
		return nil, Diagnostic{File: "mcp.yaml", Server: id, Field: join("servers", id), Problem: field + " is no valid UTF-8, which the file must be"}
	}
	if len(bytes.TrimSpace(file)) == 0 {
		file = StarterFile()
	}
	e, err := openEdit(file, true)
	if err != nil {
		return nil, err
	}
	key, value := e.entry(id)
	fresh := key == nil
	if fresh {
		key, value = scalar(id), &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	}
	if value.Kind != yaml.MappingNode {
		return nil, Diagnostic{File: "mcp.yaml", Line: key.Line, Column: key.Column, Server: id, Problem: "the entry is no mapping; remove it first"}
	}
	d.apply(value)
	var text []byte
	if fresh {
		text = e.insert(key, value)
		e.servers.Content = append(e.servers.Content, key, value)
	} else {
		text = e.replace(key, value)
	}
	out, err := e.settle(text)
	if err != nil {
		return nil, err
	}
	return out, declares(out, id)
}

// unwritable names the part of a declaration that YAML would not keep as text;
// "" when there is none.
func (d *Declaration) unwritable() string {
	if !utf8.ValidString(d.Command) {
		return "its command"
	}
	for _, a := range d.Args {
		if !utf8.ValidString(a) {
			return "one of its arguments"
		}
	}
	for _, e := range d.Env {
		if !utf8.ValidString(e.Name) || !utf8.ValidString(e.Value) {
			return "one of its variables"
		}
	}
	return ""
}

// RemoveServer returns the user's file without the server id. Comments above
// and below the entry stay. Its error is a *NoServerError, or a Diagnostic when
// file does not parse.
func RemoveServer(file []byte, id string) ([]byte, error) {
	e, err := openEdit(file, false)
	if err != nil {
		return nil, err
	}
	key, _ := e.entry(id)
	if key == nil {
		return nil, &NoServerError{ID: id}
	}
	text := e.delete(key)
	content := e.servers.Content
	for i := 0; i+1 < len(content); i += 2 {
		if content[i] == key {
			e.servers.Content = append(content[:i:i], content[i+2:]...)
			break
		}
	}
	if len(e.servers.Content) == 0 {
		*e.servers = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	}
	return e.settle(text)
}

// apply writes the declaration into the mapping of an entry.
func (d Declaration) apply(entry *yaml.Node) {
	setField(entry, "command", quoted(d.Command))
	args := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
	for _, a := range d.Args {
		args.Content = append(args.Content, quoted(a))
	}
	setField(entry, "args", args)
	if d.KeepEnv {
		return
	}
	env := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, v := range d.Env {
		env.Content = append(env.Content, scalar(v.Name), quoted(v.Value))
	}
	setField(entry, "env", env)
}

func scalar(s string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
}

// quoted is a scalar in quotes unless every reader of any YAML version takes
// the plain text for a string.
func quoted(s string) *yaml.Node {
	n := scalar(s)
	plain := s != "" && strings.ContainsAny(s[:1], "/-ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
	for _, c := range []byte(s) {
		plain = plain && (c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte("._/=+@-", c) >= 0)
	}
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		plain = false
	}
	if !plain || strings.Trim(s, "-.0123456789") == "" {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// setField gives a field its value, or takes it away when the value is empty.
// The comment beside the old value stays.
func setField(entry *yaml.Node, name string, value *yaml.Node) {
	empty := value.Kind != yaml.ScalarNode && len(value.Content) == 0
	for i := 0; i+1 < len(entry.Content); i += 2 {
		if entry.Content[i].Value != name {
			continue
		}
		if empty {
			keepAround(entry.Content, i)
			entry.Content = append(entry.Content[:i:i], entry.Content[i+2:]...)
			return
		}
		value.LineComment = entry.Content[i+1].LineComment
		entry.Content[i+1] = value
		return
	}
	if !empty {
		entry.Content = append(entry.Content, scalar(name), value)
	}
}

// keepAround hands the comments above and below the field at i, which is about
// to go, to the field before it or else behind it.
func keepAround(content []*yaml.Node, i int) {
	lost := joinComments(content[i].HeadComment, content[i].FootComment)
	switch {
	case i >= 2:
		content[i-2].FootComment = joinComments(content[i-2].FootComment, lost)
	case i+2 < len(content):
		content[i+2].HeadComment = joinComments(lost, content[i+2].HeadComment)
	}
}

func joinComments(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

// Server returns the server that d declares in no file, under an id of the
// caller's: it is the user's own, and what is wrong with it is a Diagnostic.
func (d Declaration) Server(id string) (*Server, error) {
	file, err := SetServer([]byte("version: 1\n"), id, d)
	if err != nil {
		return nil, err
	}
	return serverIn(file, id)
}

// declares returns what is wrong with the server id in file.
func declares(file []byte, id string) error {
	_, err := serverIn(file, id)
	return err
}

// serverIn returns the server id as file declares it, or what is wrong with it;
// nil when file does not declare it.
func serverIn(file []byte, id string) (*Server, error) {
	top, err := parseYAML(file)
	if err != nil {
		return nil, err
	}
	r := &reader{file: "mcp.yaml", source: "mcp.yaml", scope: User, claims: map[string]string{}}
	u := newUserFile()
	u.read(r, top)
	u.finish()
	for _, d := range r.diags {
		if d.Server == id && !d.Warning {
			return nil, d
		}
	}
	for _, s := range u.servers {
		if s.ID == id {
			return s, nil
		}
	}
	return nil, nil
}

// edit is a file that is being changed, as text and as nodes.
type edit struct {
	lines   [][]byte // with their line ends
	doc     *yaml.Node
	top     *yaml.Node // the mapping of the whole file
	servers *yaml.Node // the value of `servers:`
}

// openEdit parses a file; with create an absent or empty `servers:` becomes a
// mapping, which the text gets with its first entry.
func openEdit(file []byte, create bool) (*edit, error) {
	doc, err := yamlDocument(file)
	var bad *parseError
	if errors.As(err, &bad) {
		return nil, Diagnostic{File: "mcp.yaml", Line: bad.pos.line, Column: bad.pos.column, Problem: bad.problem}
	}
	if doc == nil { // nothing but comments
		return openEdit(slices.Concat(bytes.TrimRight(file, "\n"), []byte("\nversion: 1\n")), create)
	}
	e := &edit{lines: bytes.SplitAfter(file, []byte("\n")), doc: doc, top: doc.Content[0]}
	if e.top.Kind != yaml.MappingNode {
		return nil, Diagnostic{File: "mcp.yaml", Line: e.top.Line, Column: e.top.Column, Problem: "must be a mapping"}
	}
	_, e.servers = pair(e.top, "servers")
	for _, y := range []*yaml.Node{e.top, e.servers} { // what is not read as a whole is not written to either
		if y == nil {
			continue
		}
		if n := fromYAML(y, 0); n.kind == kindBad {
			return nil, Diagnostic{File: "mcp.yaml", Line: n.pos.line, Column: n.pos.column, Problem: n.text}
		}
	}
	switch {
	case e.servers == nil:
		e.servers = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		if create {
			e.top.Content = append(e.top.Content, scalar("servers"), e.servers)
		}
	case create && e.servers.Kind == yaml.ScalarNode && e.servers.ShortTag() == "!!null":
		e.servers.Kind, e.servers.Tag, e.servers.Value, e.servers.Style = yaml.MappingNode, "!!map", "", 0
	}
	if e.servers.Kind != yaml.MappingNode && e.servers.ShortTag() != "!!null" {
		return nil, Diagnostic{File: "mcp.yaml", Line: e.servers.Line, Column: e.servers.Column, Field: "servers", Problem: "must be a mapping"}
	}
	return e, nil
}

// entry returns the key and value nodes of a server.
func (e *edit) entry(id string) (key, value *yaml.Node) { return pair(e.servers, id) }

func pair(mapping *yaml.Node, name string) (key, value *yaml.Node) {
	if mapping.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i], mapping.Content[i+1]
		}
	}
	return nil, nil
}
