package main

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"postern/pkg/wire"
)

// maxItemDepth is how many arrays in arrays a single word makes at most.
const maxItemDepth = 8

// value is one argument as JSON on one line.
type value struct {
	raw     []byte
	element bool // of an array, also when it stays the only one
	whole   bool // an array that was written out
}

// value writes text as what the schema takes here; false when it is none of it.
// The first of these that the schema allows wins: one of the values it lists, a
// number, true or false, null, an object or array written out, a string, the
// element of an array. Numbers keep their literal.
func (s schema) value(text string) (value, bool) { return s.valueAt(text, 0) }

func (s schema) valueAt(text string, depth int) (value, bool) {
	if raw := s.listed(text); raw != nil {
		return value{raw: raw}, true
	}
	k := s.kinds()
	switch {
	case k.has(kindFraction) && isNumber(text),
		k.has(kindInteger) && isNumber(text) && isWhole(text),
		k.has(kindBoolean) && (text == "true" || text == "false"),
		k.has(kindNull) && text == "null":
		return value{raw: []byte(text)}, true
	case k.has(kindObject) && begins(text, '{') && json.Valid([]byte(text)):
		return value{raw: wire.OneLine([]byte(text))}, true
	case k.has(kindArray) && begins(text, '[') && json.Valid([]byte(text)) && s.fits(gjson.Parse(text), 0):
		return value{raw: wire.OneLine([]byte(text)), whole: true}, true
	case k.has(kindString | kindAny):
		return value{raw: wire.Quote(text)}, true
	case k.has(kindArray) && depth < maxItemDepth:
		v, ok := s.items().valueAt(text, depth+1)
		if v.element { // of an array within this one
			v.raw = append(append([]byte{'['}, v.raw...), ']')
		}
		return value{raw: v.raw, element: true}, ok
	}
	return value{}, false
}

// content writes a file's content. Where text is taken it is that text, to the
// last byte; else it is read like a word.
func (s schema) content(text string) (value, bool) {
	if s.kinds().has(kindString | kindAny) {
		return value{raw: wire.Quote(text)}, true
	}
	v, ok := s.value(strings.TrimSpace(text))
	if v.element && s.items().kinds().has(kindString|kindAny) {
		v.raw = wire.Quote(text)
	}
	return v, ok
}

// listed is the value of an enum or const that text spells, a string first.
func (s schema) listed(text string) []byte {
	var other []byte
	for _, n := range s.flat() {
		for _, v := range enumerated(n) {
			if v.Type == gjson.String && v.Str == text {
				return wire.Quote(text)
			}
			if v.Type != gjson.String && v.Raw == text {
				other = []byte(v.Raw)
			}
		}
	}
	return other
}

// fits tells whether a value is of a type that is taken here, and so are the
// elements of an array.
func (s schema) fits(v gjson.Result, depth int) bool {
	k := s.kinds()
	if k.has(kindAny) || depth > maxItemDepth {
		return true
	}
	if !k.has(kindOfValue(v)) {
		return false
	}
	items := s.items()
	if !v.IsArray() || len(items.nodes) == 0 {
		return true
	}
	for _, e := range v.Array() {
		if !items.fits(e, depth+1) {
			return false
		}
	}
	return true
}

func begins(text string, c byte) bool {
	text = strings.TrimLeft(text, " \t\r\n")
	return text != "" && text[0] == c
}

// isNumber reports whether the word is a JSON number and nothing else.
func isNumber(s string) bool {
	if s == "" || s[0] != '-' && (s[0] < '0' || s[0] > '9') {
		return false
	}
	last := s[len(s)-1] // json.Valid allows blanks there
	return last >= '0' && last <= '9' && json.Valid([]byte(s))
}

// isWhole tells whether a JSON number is an integer, as 1.0, 1e400 and 100e-2
// are. It is never computed: 1e400 has no float and 1e999999999 no room.
func isWhole(literal string) bool {
	digits, power, _ := strings.Cut(strings.ToLower(strings.TrimPrefix(literal, "-")), "e")
	whole, fraction, _ := strings.Cut(digits, ".")
	significant := strings.TrimRight(whole+fraction, "0")
	if significant == "" {
		return true
	}
	trailing := len(whole) + len(fraction) - len(significant)
	exponent, err := strconv.ParseInt(power, 10, 32)
	if power != "" && err != nil { // out of range; no literal is so long that its digits count then
		return power[0] != '-'
	}
	return int(exponent)+trailing-len(fraction) >= 0
}
