package main

import (
	"math/bits"
	"net/url"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// maxSchemaSteps bounds one look at a schema: its references may go in circles
// or fan out.
const maxSchemaSteps = 300

// maxChoices is how many values of an enumeration are shown.
const maxChoices = 8

// schema is a place in a tool's input schema. What stands there has to fit one
// of its nodes; where there are none nothing is known.
type schema struct {
	root  gjson.Result
	nodes []gjson.Result
}

func schemaOf(raw []byte) schema {
	root := gjson.ParseBytes(raw)
	return schema{root, []gjson.Result{root}}
}

// kinds is a set of JSON types. A number is an integer or a fraction.
type kinds uint8

const (
	kindString kinds = 1 << iota
	kindInteger
	kindFraction
	kindBoolean
	kindNull
	kindObject
	kindArray
	kindAny // nothing is said; text is then a string

	kindNumber = kindInteger | kindFraction
)

func (k kinds) has(any kinds) bool { return k&any != 0 }

func kindNamed(name string) kinds {
	switch name {
	case "string":
		return kindString
	case "integer":
		return kindInteger
	case "number":
		return kindNumber
	case "boolean":
		return kindBoolean
	case "null":
		return kindNull
	case "object":
		return kindObject
	case "array":
		return kindArray
	}
	return 0
}

// kindOfValue is what a value is; of a number that it is whole where it is.
func kindOfValue(v gjson.Result) kinds {
	switch {
	case v.Type == gjson.String:
		return kindString
	case v.Type == gjson.Number && isWhole(v.Raw):
		return kindInteger
	case v.Type == gjson.Number:
		return kindFraction
	case v.IsBool():
		return kindBoolean
	case v.Type == gjson.Null:
		return kindNull
	case v.IsArray():
		return kindArray
	}
	return kindObject
}

// and is what fits both sets.
func (k kinds) and(other kinds) kinds {
	switch {
	case k.has(kindAny) && other.has(kindAny):
		return k | other
	case k.has(kindAny):
		return other
	case other.has(kindAny) || bits.OnesCount8(uint8(k&other)) == 0: // a contradiction teaches nothing
		return k
	}
	return k & other
}

// kinds are the types that are taken here.
func (s schema) kinds() (all kinds) {
	steps := maxSchemaSteps
	for _, n := range s.nodes {
		all |= s.kindsOf(n, &steps)
	}
	if all == 0 {
		return kindAny
	}
	return all
}

func (s schema) kindsOf(n gjson.Result, steps *int) kinds {
	if *steps--; *steps < 0 || !n.IsObject() {
		return kindAny
	}
	var own kinds
	for _, name := range member(n, "type").Array() {
		own |= kindNamed(name.String())
	}
	if own != 0 {
		return own
	}
	all := implied(n)
	if ref := member(n, "$ref"); ref.Type == gjson.String {
		all = all.and(s.kindsOf(s.target(ref.Str), steps))
	}
	for _, one := range member(n, "allOf").Array() {
		all = all.and(s.kindsOf(one, steps))
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		var union kinds
		for _, one := range member(n, keyword).Array() {
			union |= s.kindsOf(one, steps)
		}
		if union != 0 {
			all = all.and(union)
		}
	}
	return all
}

// implied is the type of a node that does not name it.
func implied(n gjson.Result) (all kinds) {
	for _, v := range enumerated(n) {
		all |= kindOfValue(v)
	}
	switch {
	case all != 0:
		return all
	case member(n, "properties").IsObject():
		return kindObject
	case member(n, "items").IsObject() || member(n, "prefixItems").IsArray():
		return kindArray
	}
	return kindAny
}

// enumerated are the values that enum or const allow.
func enumerated(n gjson.Result) []gjson.Result {
	values := member(n, "enum")
	if one := member(n, "const"); one.Exists() {
		return []gjson.Result{one}
	}
	if !values.IsArray() {
		return nil
	}
	return values.Array()
}

// flat are the nodes with all that they refer to or are put together of.
func (s schema) flat() (out []gjson.Result) {
	seen := map[string]bool{}
	var walk func(n gjson.Result)
	walk = func(n gjson.Result) {
		if !n.IsObject() || len(out) >= maxSchemaSteps {
			return
		}
		out = append(out, n)
		if ref := member(n, "$ref"); ref.Type == gjson.String && !seen[ref.Str] {
			seen[ref.Str] = true
			walk(s.target(ref.Str))
		}
		for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
			for _, one := range member(n, keyword).Array() {
				walk(one)
			}
		}
	}
	for _, n := range s.nodes {
		walk(n)
	}
	return out
}

// property is the schema of a member. declared is whether it is named, rather
// than covered by additionalProperties or not at all.
func (s schema) property(name string) (p schema, declared bool) {
	var other []gjson.Result
	p.root = s.root
	for _, n := range s.flat() {
		if one := member(member(n, "properties"), name); one.Exists() {
			p.nodes = append(p.nodes, one)
		}
		if rest := member(n, "additionalProperties"); rest.IsObject() {
			other = append(other, rest)
		}
	}
	if declared = len(p.nodes) > 0; !declared {
		p.nodes = other
	}
	return p, declared
}

// closed tells whether no member is allowed but those named.
func (s schema) closed() (names []string, closed bool) {
	for _, n := range s.flat() {
		properties := member(n, "properties")
		if !properties.IsObject() {
			continue
		}
		if closed || member(n, "additionalProperties").Type != gjson.False || member(n, "patternProperties").Exists() {
			return nil, false // of several nodes it is not known which holds
		}
		closed = true
		properties.ForEach(func(key, _ gjson.Result) bool {
			names = append(names, key.String())
			return true
		})
	}
	return names, closed
}

// items is the schema of an array's elements.
func (s schema) items() schema {
	out := schema{root: s.root}
	for _, n := range s.flat() {
		if one := member(n, "items"); one.IsObject() {
			out.nodes = append(out.nodes, one)
		}
	}
	return out
}

// target is what a reference within the schema names.
func (s schema) target(ref string) gjson.Result {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return gjson.Result{}
	}
	at := s.root
	if pointer == "" {
		return at
	}
	if plain, err := url.PathUnescape(pointer); err == nil {
		pointer = plain
	}
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		if !at.IsArray() {
			at = member(at, token)
			continue
		}
		i, err := strconv.Atoi(token)
		elements := at.Array()
		if err != nil || i < 0 || i >= len(elements) {
			return gjson.Result{}
		}
		at = elements[i]
	}
	return at
}

// member is a member by its very name; gjson's own paths give dots and stars a
// meaning.
func member(object gjson.Result, name string) (value gjson.Result) {
	if !object.IsObject() {
		return value
	}
	object.ForEach(func(key, v gjson.Result) bool {
		if key.String() != name {
			return true
		}
		value = v
		return false
	})
	return value
}

// String names what is taken, for people.
func (s schema) String() string { return s.describe(0) }

func (s schema) describe(depth int) string {
	if values := s.choices(); values != "" {
		return values
	}
	k := s.kinds()
	if k.has(kindAny) {
		return "any"
	}
	var names []string
	for _, name := range []string{"string", "integer", "number", "boolean", "object", "array", "null"} {
		switch {
		case !k.has(kindNamed(name)), name == "integer" && k.has(kindFraction), name == "number" && !k.has(kindFraction):
			continue
		case name == "array" && depth < 3 && len(s.items().nodes) > 0:
			name += " of " + s.items().describe(depth+1)
		}
		names = append(names, name)
	}
	return strings.Join(names, "|")
}

// choices are the values of an enumeration with few of them, "" where other
// values are taken too.
func (s schema) choices() string {
	var names []string
	null := false
	for _, n := range s.flat() {
		values := enumerated(n)
		for _, v := range values {
			names = append(names, v.Raw)
			null = null || v.Type == gjson.Null
		}
		if kind := member(n, "type"); len(values) == 0 && kind.Exists() {
			if kind.String() != "null" {
				return ""
			}
			if !null {
				names, null = append(names, "null"), true
			}
		}
	}
	if len(names) > maxChoices || len(names) == 1 && null {
		return ""
	}
	return strings.Join(names, "|")
}
