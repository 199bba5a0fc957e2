package wire

import (
	"strings"
	"testing"
)

// R4: members go with their names and commas, and every other byte stays.
func TestRemovals(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{`{"x":1}`, `{}`},
		{`{"x":1,"y":{"x":2}}`, `{}`},
		{` { "x" : 1 } `, ` {  } `},
		{`{"x":1,"a":1e400}`, `{"a":1e400}`},
		{`{"a":-0,"x":1}`, `{"a":-0}`},
		{`{"a":1 , "x":1 }`, `{"a":1  }`},
		{`{"a":1,"x":[1,2],"b":"x"}`, `{"a":1,"b":"x"}`},
		{`{"a":1,"x":1,"y":1}`, `{"a":1}`},
		{`{"x":1, "y":1, "a":1}`, `{"a":1}`},
		{"{\"a\":1,\n \"x\":1,\n \"b\":2,\n \"y\":3\n}", "{\"a\":1,\n \"b\":2\n}"},
		{`{"y":1,"a":1,"x":1}`, `{"a":1}`},
		{`{"\u0078":"}","a":1}`, `{"a":1}`},
		{`{"a":"\"x\":1,","x":"\",\""}`, `{"a":"\"x\":1,"}`},
		{`{"a":1}`, `{"a":1}`},
		{`{}`, `{}`},
	} {
		var at [2]Span
		if err := Lookup([]byte(tc.in), []string{"x", "y"}, at[:]); err != nil {
			t.Fatalf("%s: %v", tc.in, err)
		}
		if at[1].Ok() && at[1].Start < at[0].Start {
			at[0], at[1] = at[1], at[0]
		}
		if got := Splice([]byte(tc.in), Removals([]byte(tc.in), at[:]...)...); string(got) != tc.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tc.in, got, tc.want)
		}
	}
}

// Whatever members are taken out, what is left is an object with the others, as
// they were and in their order.
func FuzzRemovals(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1}`, ` { "a" : [ ] , "b":{"a":1}, "c" :"\"" } `, "{\"a\":1\n,\t\"\\u0061\":2}"} {
		f.Add([]byte(s), uint(5))
	}
	f.Fuzz(func(t *testing.T, in []byte, which uint) {
		var out []Span
		var left strings.Builder
		n := 0
		err := EachMember(in, func(key []byte, v Span) bool {
			name, err := Unquote(key)
			if which>>(n%32)&1 == 1 && err == nil && !strings.Contains(name, `"`) {
				out = append(out, v)
			} else {
				left.Write(key)
				left.Write(v.Of(in))
			}
			n++
			return true
		})
		if err != nil {
			return
		}
		got := Splice(in, Removals(in, out...)...)
		var kept strings.Builder
		if err := EachMember(got, func(key []byte, v Span) bool {
			kept.Write(key)
			kept.Write(v.Of(got))
			return true
		}); err != nil || kept.String() != left.String() {
			t.Fatalf("%q became %q: %v", in, got, err)
		}
	})
}
