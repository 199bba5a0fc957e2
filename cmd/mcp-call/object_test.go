package main

import (
	"strings"
	"testing"

	"postern/pkg/cmdmain"
)

// Several words make one object: repetition, nesting, names with dots, files,
// and JSON as it is.
func TestArguments(t *testing.T) {
	for _, tc := range []struct{ name, words, want string }{
		{"nothing", "", `{}`},
		{"order", "s=1 n=2 b=true", `{"s":"1","n":2,"b":true}`},
		{"repetition", "a=1 s=x a=2", `{"a":[1,2],"s":"x"}`},
		{"repetition of text", "as=1 as=[2] as=", `{"as":["1","[2]",""]}`},
		{"repetition of arrays", "aa=[1,2] aa=[3] aa=4", `{"aa":[[1,2],[3],[4]]}`},
		{"repetition where a single one is no array", "many=a many=b", `{"many":["a","b"]}`},
		{"repetition of what is not described", "x=1 x=2", `{"x":["1","2"]}`},
		{"nesting", "o.k=1 o.deep.v=1.0 o.other=5", `{"o":{"k":1,"deep":{"v":1.0},"other":"5"}}`},
		{"nesting through references and null", "maybe.v=5", `{"maybe":{"v":5}}`},
		{"nesting of what is not described", "p.q=1 p.r.s=2", `{"p":{"q":"1","r":{"s":"2"}}}`},
		{"nesting of a map", "map.a=1 map.b=2", `{"map":{"a":1,"b":2}}`},
		{"names with dots", "x.y=3 o.deep.a.b=true x.z=4", `{"x.y":3,"o":{"deep":{"a.b":true}},"x":{"z":"4"}}`},
		{"JSON as it is", `s:=1 i:="x" n:=[1.0,1e400] x:=null b:={"a":1}`, `{"s":1,"i":"x","n":[1.0,1e400],"x":null,"b":{"a":1}}`},
		{"JSON repeated", "a:=1 a=2 a:=null", `{"a":[1,2,null]}`},
		{"a colon within a key", "a:b=1", `{"a:b":"1"}`},
		{"a value that ends a key", "x==5 u=:=5", `{"x":"=5","u":":=5"}`},
		{"files", "s=@text x=@5 i=@5 b=@true a=@[1,2] as=@5 o=@{}", `{"s":"text","x":"5","i":5,"b":true,"a":[1,2],"as":["5"],"o":{}}`},
		{"files repeated", "as=@a as=@b a=@1 a=@2", `{"as":["a","b"],"a":[1,2]}`},
		{"an address is no file", "s=me@example.com", `{"s":"me@example.com"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := arguments(typed, strings.Fields(tc.words)...)
			if err != nil || got != tc.want {
				t.Errorf("%s, %v; want %s", got, err, tc.want)
			}
		})
	}
}

// A mistake is found before anything is sent, names the parameter, and ends
// with 2.
func TestArgumentMistakes(t *testing.T) {
	for _, tc := range []struct{ words, want string }{
		{"word", `"word" is not key=value, key:=json or key=@file`},
		{"=x", `"=x" is not key=value`},
		{":=5", `":=5" is not key=value`},
		{"s=\xff", `"s=\xff" is no UTF-8`},
		{"s:=x", `the value of s:= is not JSON; text is given by s=`},
		{"s:=@file", `the value of s:= is not JSON`},
		{"s:={\"a\":1", `the value of s:= is not JSON`},
		{"x=@bin", `bin is no UTF-8, and a tool is given text; encode it first`},
		{"i=abc", `i takes integer, not "abc"`},
		{"o.k=abc", `o.k takes integer, not "abc"`},
		{"a=1 a=x", `a takes array of integer, not "x"`},
		{"i=@abc", `i takes integer, not "abc"`},
		{"s=1 s=2", `s is given twice and takes string`},
		{"a=[1] a=2", `a is given as a whole array and once more`},
		{"a=2 a=[1]", `a is given as a whole array and once more`},
		{"o={} o.k=1", `o is given as a value and, by o.k, as an object`},
		{"o.k=1 o={}", `o is given as a value and as an object`},
		{"s.x=1", `s.x: s takes string, which has no members`},
		{"o.k.x=1", `o.k.x: o.k takes integer, which has no members`},
		{"a.0=1", `a.0: a takes array of integer, which has no members`},
		{"p..q=1", `p..q has an empty part`},
		{".p=1", `.p has an empty part`},
		{"p.=1", `p. has an empty part`},
		{"s.=1", `s. has an empty part`},
		{".=1", `. has an empty part`},
		{"shut.knwon=1", `there is no parameter shut.knwon; did you mean shut.known`},
		{strings.Repeat("a.", 100) + "a=1", `has more than 100 parts`},
		{"i=" + strings.Repeat("x", 1000), `…(942 more)…`},
	} {
		got, err := arguments(typed, strings.Fields(tc.words)...)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.100s: %s, %v; want %s", tc.words, got, err, tc.want)
			continue
		}
		if e, ok := err.(*cmdmain.Error); !ok || e.Exit != cmdmain.Usage {
			t.Errorf("%.100s: %#v is no usage error", tc.words, err)
		}
	}
}

// --args keep every byte but line breaks, and a file's byte order mark (MB-210:
// raw JSON is exact).
func TestParseObject(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{`{}`, `{}`},
		{` {"a" : 1.0,"b":9007199254740993, "a":2} `, ` {"a" : 1.0,"b":9007199254740993, "a":2} `},
		{"{\r\n\t\"a\": \"\\n\"\n}\n", "{\t\"a\": \"\\n\"}"},
		{"\ufeff{}", `{}`},
		{``, ""}, {`[]`, ""}, {`null`, ""}, {`{"a":1`, ""}, {`{} {}`, ""}, {"{\"a\":\"\xff\"}", ""}, {"{\"a\":\"\n\"}", ""},
	} {
		got, err := parseObject([]byte(tc.in))
		if string(got) != tc.want || (err != nil) != (tc.want == "") {
			t.Errorf("%q: %q, %v; want %q", tc.in, got, err, tc.want)
		}
	}
}
