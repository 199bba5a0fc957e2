package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"postern/pkg/wire"
)

// typed has a parameter of every kind that real schemas use; pydantic writes
// references and anyOf, zod closes objects.
const typed = `{"type":"object","properties":{
"s":{"type":"string"}, "n":{"type":"number"}, "i":{"type":"integer"}, "b":{"type":"boolean"}, "z":{"type":"null"},
"o":{"type":"object","properties":{"k":{"type":"integer"},"deep":{"$ref":"#/$defs/Deep"}}},
"a":{"type":"array","items":{"type":"integer"}}, "as":{"type":"array","items":{"type":"string"}},
"aa":{"type":"array","items":{"type":"array","items":{"type":"integer"}}}, "free":{"type":"array"},
"u":{"type":["string","null"]}, "ui":{"type":["integer","null"]}, "many":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]},
"x":{}, "yes":true, "any":{"anyOf":[{"type":"integer"},{}]},
"int_or_text":{"anyOf":[{"type":"integer"},{"type":"string"}]}, "narrow":{"allOf":[{"type":"number"},{"type":"integer"}]},
"e":{"enum":[1,"2",null,true,"word",[1]]}, "const":{"const":5}, "color":{"$ref":"#/$defs/Color"},
"maybe":{"anyOf":[{"$ref":"#/$defs/Deep"},{"type":"null"}],"default":null}, "map":{"type":"object","additionalProperties":{"type":"integer"}},
"shut":{"properties":{"known":{"type":"string"}},"additionalProperties":false},
"x.y":{"type":"integer"}, "loop":{"$ref":"#/$defs/Loop"}, "list":{"$ref":"#/$defs/List"}, "far":{"$ref":"http://example.com/schema"},
"nums":{"enum":[1.5,2.5]}, "odd/~name":{"$ref":"#/properties/n"}, "indexed":{"$ref":"#/properties/ui/type/0"}, "alias":{"$ref":"#/properties/odd~1~0name"}},
"$defs":{"Color":{"enum":["red","green"]}, "Deep":{"type":"object","properties":{"v":{"type":"number"},"a.b":{"type":"boolean"}}},
"Loop":{"anyOf":[{"$ref":"#/$defs/Loop"},{"$ref":"#/$defs/Loop"}]}, "List":{"type":"array","items":{"$ref":"#/$defs/List"}}}}`

// arguments builds as the command does. A file's content is its name, and one
// called bin is no text.
func arguments(schemaText string, words ...string) (string, error) {
	read := func(path string) ([]byte, error) {
		if path == "bin" {
			return []byte("\xff\x00"), nil
		}
		return []byte(path), nil
	}
	parsed := make([]word, len(words))
	for i, w := range words {
		var err error
		if parsed[i], err = parseWord(w, read); err != nil {
			return "", err
		}
	}
	out, err := buildObject(parsed, schemaOf([]byte(schemaText)))
	return string(out), err
}

// MB-210: a value is typed by the schema, and refused where it cannot be; a
// number's literal is the one that was typed. MB-139: so is a text that looks like
// one.
func TestTyping(t *testing.T) {
	for _, tc := range []struct{ word, want string }{
		{"s=007", `"007"`}, {"s=1e3", `"1e3"`}, {"s=1.0", `"1.0"`}, {"s=true", `"true"`}, {"s=null", `"null"`}, {"s=", `""`}, {"s=[1,2]", `"[1,2]"`},
		{"s=a=b=c", `"a=b=c"`}, {"s=-5", `"-5"`}, {"s=9007199254740993", `"9007199254740993"`}, {`s="q"\`, `"\"q\"\\"`}, {"s=<ä\n>", `"<ä\n>"`},
		{"n=1.0", "1.0"}, {"n=1e3", "1e3"}, {"n=1e400", "1e400"}, {"n=-5", "-5"}, {"n=-0", "-0"}, {"n=9007199254740993", "9007199254740993"},
		{"n=007", ""}, {"n=", ""}, {"n=5 ", ""}, {"n= 5", ""}, {"n=+5", ""}, {"n=.5", ""}, {"n=NaN", ""}, {"n=0x10", ""}, {"n=1_000", ""}, {"n=-", ""},
		{"i=123456789012345678901234567890", "123456789012345678901234567890"}, {"i=1.0", "1.0"}, {"i=1e400", "1e400"}, {"i=-5", "-5"},
		{"i=1.5", ""}, {"i=15e-1", ""}, {"i=150e-1", "150e-1"}, {"i=abc", ""}, {"i=true", ""}, {"i=1e-99999999999999999999", ""}, {"i=10e99999999999999999999", "10e99999999999999999999"},
		{"b=true", "true"}, {"b=false", "false"}, {"b=True", ""}, {"b=1", ""}, {"b=", ""},
		{"z=null", "null"}, {"z=0", ""},
		{"u=null", "null"}, {"u=nul", `"nul"`}, {"u=", `""`}, {"ui=null", "null"}, {"ui=5", "5"}, {"ui=x", ""},
		{"x=5", `"5"`}, {"x=true", `"true"`}, {"x={}", `"{}"`}, {"yes=5", `"5"`}, {"unknown=5", `"5"`}, {"any=5", "5"}, {"any=five", `"five"`},
		{"int_or_text=5", "5"}, {"int_or_text=1.5", `"1.5"`}, {"int_or_text=05", `"05"`}, {"narrow=5", "5"}, {"narrow=5.5", ""},
		{"o={\"k\": 1.0}", `{"k": 1.0}`}, {"o={}", "{}"}, {"o={\n\"k\":1}", `{"k":1}`}, {"o=[]", ""}, {"o={", ""}, {"o=", ""},
		{"a=1", "[1]"}, {"a=[1,2]", "[1,2]"}, {"a=[]", "[]"}, {"a= [1,\n2]", " [1,2]"}, {"a=x", ""}, {"a=[1,\"x\"]", ""}, {"a=[1,2", ""}, {"a=", ""},
		{"as=x", `["x"]`}, {"as=1", `["1"]`}, {`as=["x"]`, `["x"]`}, {"as=[1]", `["[1]"]`}, {"as=[x]", `["[x]"]`}, {"as=", `[""]`},
		{"aa=[1,2]", "[[1,2]]"}, {"aa=[[1],[2]]", "[[1],[2]]"}, {"aa=5", "[[5]]"}, {"aa=x", ""},
		{"free=x", `["x"]`}, {"free=[1,\"x\"]", `[1,"x"]`}, {"many=x", `"x"`}, {`many=["x"]`, `["x"]`}, {"many=[1]", `"[1]"`},
		{"e=1", "1"}, {"e=2", `"2"`}, {"e=null", "null"}, {"e=true", "true"}, {"e=word", `"word"`}, {"e=[1]", "[1]"}, {"e=other", `"other"`}, {"e=3", "3"},
		{"const=5", "5"}, {"const=x", ""}, {"color=red", `"red"`}, {"color=blue", `"blue"`}, {"nums=1.5", "1.5"}, {"nums=x", ""},
		{"maybe=null", "null"}, {`maybe={"v":1}`, `{"v":1}`}, {"maybe=x", ""}, {"x.y=3", "3"}, {"x.y=z", ""},
		{"loop=5", `"5"`}, {"list=x", ""}, {"list=[[],[[]]]", "[[],[[]]]"}, {"far=5", `"5"`}, {"odd/~name=5", "5"}, {"alias=5", "5"}, {"indexed=5", `"5"`},
	} {
		t.Run(tc.word, func(t *testing.T) {
			got, err := arguments(typed, tc.word)
			key, _, _ := strings.Cut(tc.word, "=")
			want := "{" + string(wire.Quote(key)) + ":" + tc.want + "}"
			if tc.want == "" {
				if err == nil || !strings.HasPrefix(err.Error(), key+" takes ") {
					t.Errorf("%s, %v; it must be refused", got, err)
				}
			} else if err != nil || got != want {
				t.Errorf("%s, %v; want %s", got, err, want)
			}
		})
	}
}

// A whole number is known without computing it.
func TestWhole(t *testing.T) {
	for literal, want := range map[string]bool{
		"0": true, "-0": true, "0.0": true, "0e-99": true, "1": true, "1.0": true, "1.50e1": true, "1.55e1": false, "1.5": false, "100e-2": true,
		"100e-3": false, "1E+400": true, "1e-1": false, "1e2147483648": true, "0.001e2147483648": true, "1e-2147483649": false, "12345678901234567890.000": true,
	} {
		if got := isWhole(literal); got != want {
			t.Errorf("isWhole(%s) = %v", literal, got)
		}
	}
}

// What a schema takes is named in messages and in the help.
func TestSchemaNames(t *testing.T) {
	for name, want := range map[string]string{
		"s": "string", "n": "number", "i": "integer", "u": "string|null", "ui": "integer|null", "o": "object", "a": "array of integer",
		"aa": "array of array of integer", "free": "array", "x": "any", "yes": "any", "any": "any", "many": "string|array of string", "narrow": "integer",
		"e": `1|"2"|null|true|"word"|[1]`, "const": "5", "color": `"red"|"green"`, "maybe": "object|null", "map": "object", "shut": "object", "loop": "any",
		"list": "array of array of array of array", "nums": "1.5|2.5", "z": "null", "int_or_text": "string|integer",
	} {
		s, _ := schemaOf([]byte(typed)).property(name)
		if got := s.String(); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	for text, want := range map[string]string{
		`{"anyOf":[{"enum":["auto"]},{"type":"integer"}]}`:             "string|integer", // not only "auto"
		`{"anyOf":[{"enum":["auto",null]},{"type":"null"}]}`:           `"auto"|null`,
		`{"anyOf":[{"type":"string"},{"type":"null"}]}`:                "string|null",
		`{"enum":[1,2,3,4,5,6,7,8,9]}`:                                 "integer",
		`{"type":"string","enum":["a"]}`:                               `"a"`,
		`{"type":"array","items":{"enum":["a","b"]}}`:                  `array of "a"|"b"`,
		`{"properties":{}}`:                                            "object",
		`{"items":{"type":"string"}}`:                                  "array of string",
		`{"allOf":[{"type":"string"},{"type":"integer"}]}`:             "string",
		`{"allOf":[{"$ref":"#/x"},{"description":"d"}],"x":{}}`:        "any",
		`{"type":"strange"}`:                                           "any",
		`{"anyOf":[{"$ref":"#/e"},{"$ref":"#/e"}],"e":{"enum":["a"]}}`: `"a"`,
		`{"$ref":"#"}`: "any",
		`[]`:           "any",
		``:             "any",
		`{"oneOf":[{"type":"integer"},{"type":"number"}]}`:         "number",
		`{"$ref":"#/$defs/a%20b","$defs":{"a b":{"type":"null"}}}`: "null",
	} {
		if got := schemaOf([]byte(text)).String(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// A schema that refers to itself a thousand ways is looked at for a moment only.
func TestHostileSchema(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"properties":{"a":{"$ref":"#/d/0"}},"d":[`)
	for range 300 {
		b.WriteString(`{"anyOf":[{"$ref":"#/d/0"},{"$ref":"#/d/1"},{"allOf":[{"$ref":"#/d/2"}]}],"items":{"$ref":"#/d/3"},"properties":{"a":{"$ref":"#/d/4"}}},`)
	}
	b.WriteString(`{}]}`)
	if got, err := arguments(b.String(), "a=1", "a=2"); err == nil && !json.Valid([]byte(got)) {
		t.Errorf("%s", got)
	}
	if _, err := arguments(b.String(), "a.a.a.a.a=1"); err != nil {
		t.Error(err)
	}
}

// FuzzArguments: whatever the words and the schema are, what comes out is one
// line of valid JSON, an object in which each number that was typed stands as it
// was typed, and nothing of it depends on a run before.
func FuzzArguments(f *testing.F) {
	for _, words := range []string{
		"s=007\na=1\na=2\no.k=1\nn=1e400", "x.y=3\no.deep.a.b=true\nmap.k=5", "s:=[1, 2]\nas=@file\nb=@true", "a.b.c=1\na.b=2",
		"maybe.v=1\nshut.known=x\ne=2\nfree=[1]\nfree=2", "=x\n.=\n:=\na:==\na=@\n\xff=1\nlist=[[[]]]", "i=9007199254740993\naa=[1]\naa=[[2]]",
	} {
		f.Add(typed, words)
	}
	f.Add(`{"properties":{"a":{"$ref":"#/properties/a"}}}`, "a=1\na=2")
	f.Add(`{"anyOf":[{"properties":{"a":{"type":"array","items":{"$ref":"#"}}}}]}`, "a.b=1")
	f.Fuzz(func(t *testing.T, schemaText, joined string) {
		words := strings.Split(joined, "\n")
		got, err := arguments(schemaText, words...)
		if err != nil {
			return
		}
		if !json.Valid([]byte(got)) || !wire.IsObject([]byte(got)) || strings.ContainsAny(got, "\n\r") {
			t.Fatalf("%q with %s made %q", words, schemaText, got)
		}
		if again, err := arguments(schemaText, words...); err != nil || again != got {
			t.Fatalf("%q, then %q, %v", got, again, err)
		}
		seen := map[string]bool{}
		for _, w := range words {
			key, text, _ := strings.Cut(w, "=")
			if seen[key] || !isNumber(text) || strings.ContainsAny(key, `.:"\`) || strings.Count(joined, key+"=") > 1 || strings.Contains(joined, key+":=") {
				continue
			}
			seen[key] = true
			v := member(gjson.Parse(got), key)
			for v.IsArray() && len(v.Array()) == 1 {
				v = v.Array()[0]
			}
			if v.Raw != text && v.Str != text {
				t.Fatalf("%s arrived as %s", w, v.Raw)
			}
		}
	})
}
