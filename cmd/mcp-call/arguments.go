package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/urfave/cli/v2"

	"postern/pkg/cmdmain"
	"postern/pkg/config"
	"postern/pkg/wire"
)

// arguments are what the call is made with: --args as it is, else the words.
func (m *caller) arguments(c *cli.Context, words []string, schema []byte) ([]byte, error) {
	if !c.IsSet("args") {
		return buildArguments(words, schema, readFile)
	}
	raw, err := m.readArgs(c.String("args"))
	if err != nil {
		return nil, err
	}
	if !json.Valid(raw) || !wire.IsObject(raw) {
		return nil, cmdmain.Usagef("--args is not a JSON object")
	}
	return oneLine(raw)
}

func (m *caller) readArgs(arg string) ([]byte, error) {
	switch {
	case arg == "-":
		return readAll(m.env.Stdin, "standard input")
	case strings.HasPrefix(arg, "@"):
		return readFile(arg[1:])
	default:
		return []byte(arg), nil
	}
}

// readFile reads a file given with @, at most as large as a message may be.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &cmdmain.Error{Err: err, Exit: cmdmain.Usage}
	}
	defer f.Close()
	return readAll(f, path)
}

func readAll(r io.Reader, name string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, config.MaxMessageBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > config.MaxMessageBytes {
		return nil, cmdmain.Usagef("%s is larger than %d bytes", name, config.MaxMessageBytes)
	}
	return data, nil
}

// oneLine takes insignificant line breaks out of JSON that came as a file:
// a message is one line. Every other byte stays.
func oneLine(raw []byte) ([]byte, error) {
	out := raw[:0:0]
	for _, b := range raw {
		if b != '\n' && b != '\r' { // inside a string they would be invalid JSON
			out = append(out, b)
		}
	}
	return out, nil
}

// buildArguments makes the arguments object of words like key=value. read
// gives the content of the file in key=@file.
func buildArguments(words []string, schema []byte, read func(string) ([]byte, error)) ([]byte, error) {
	root := &node{}
	for _, word := range words {
		if err := addWord(root, word, schema, read); err != nil {
			return nil, err
		}
	}
	return root.object(), nil
}

func addWord(root *node, word string, schema []byte, read func(string) ([]byte, error)) error {
	key, value, found := strings.Cut(word, "=")
	raw := strings.HasSuffix(key, ":")
	key = strings.TrimSuffix(key, ":")
	if !found || key == "" {
		return cmdmain.Usagef("%q is not key=value, key:=json or key=@file", word)
	}
	path := strings.Split(key, ".")
	if hasProperty(schema, key) {
		path = []string{key} // a name with a dot in it, as the schema spells it
	}
	if file, ok := strings.CutPrefix(value, "@"); ok && !raw {
		data, err := read(file)
		if err != nil {
			return err
		}
		return root.add(path, wire.Quote(strings.ToValidUTF8(string(data), "\ufffd")), key)
	}
	if raw {
		if !json.Valid([]byte(value)) {
			return cmdmain.Usagef("the value of %s:= is not JSON", key)
		}
		one, err := oneLine([]byte(value))
		if err != nil {
			return err
		}
		return root.add(path, one, key)
	}
	typed, err := typeValue(value, propertyOf(schema, path), key)
	if err != nil {
		return err
	}
	list := typesOf(propertyOf(schema, path))["array"]
	return root.addTyped(path, typed, key, list)
}

func hasProperty(schema []byte, name string) bool {
	return gjson.GetBytes(schema, "properties").Map()[name].Exists()
}

// propertyOf is the schema of a nested property, nil when it is not described.
func propertyOf(schema []byte, path []string) []byte {
	for _, name := range path {
		p := gjson.GetBytes(schema, "properties").Map()[name]
		if !p.Exists() {
			return nil
		}
		schema = []byte(p.Raw)
	}
	return schema
}

// typesOf are the types a schema names, its own and those of its alternatives.
func typesOf(schema []byte) map[string]bool {
	types := map[string]bool{}
	if len(schema) == 0 {
		return types
	}
	addTypes(types, gjson.GetBytes(schema, "type"))
	for _, keyword := range []string{"anyOf", "oneOf"} {
		for _, alternative := range gjson.GetBytes(schema, keyword).Array() {
			addTypes(types, alternative.Get("type"))
		}
	}
	return types
}

func addTypes(types map[string]bool, t gjson.Result) {
	for _, one := range t.Array() {
		types[one.String()] = true
	}
}

// typeValue writes one word as the JSON that the schema wants: numbers keep
// their literal, whatever their size; what the schema does not describe, or
// describes as a string, is a string.
func typeValue(value string, schema []byte, key string) ([]byte, error) {
	types := typesOf(schema)
	if types["array"] {
		if strings.HasPrefix(strings.TrimSpace(value), "[") && json.Valid([]byte(value)) {
			return []byte(value), nil
		}
		return typeValue(value, []byte(gjson.GetBytes(schema, "items").Raw), key)
	}
	switch {
	case (types["integer"] || types["number"]) && isNumber(value):
		return []byte(value), nil
	case types["boolean"] && (value == "true" || value == "false"):
		return []byte(value), nil
	case types["null"] && value == "null":
		return []byte(value), nil
	case types["object"] && json.Valid([]byte(value)) && wire.IsObject([]byte(value)):
		return []byte(value), nil
	case types["string"] || len(types) == 0:
		return wire.Quote(value), nil
	}
	return nil, cmdmain.Usagef("%s wants %s, not %q", key, words(types), value)
}

// isNumber reports whether the word is a JSON number literal.
func isNumber(s string) bool {
	return s != "" && (s[0] == '-' || (s[0] >= '0' && s[0] <= '9')) && json.Valid([]byte(s))
}

func words(types map[string]bool) string {
	var list []string
	for _, t := range []string{"integer", "number", "boolean", "object", "null"} {
		if types[t] {
			list = append(list, t)
		}
	}
	return fmt.Sprintf("a value of type %s", strings.Join(list, " or "))
}
