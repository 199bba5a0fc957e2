package wire

import (
	"errors"
	"strings"
	"testing"
)

func TestLookup(t *testing.T) { // R2
	tests := []struct{ obj, a, name, fault string }{
		{obj: `{}`},
		{obj: ` { } `},
		{obj: `{"a": 1 ,"name":"x","b":{"a":3,"Name":4}}`, a: "1", name: `"x"`},
		{obj: `{"n\u0061me":[1, 2]}`, name: "[1, 2]"},
		{obj: `{"names":1,"nam":2,"n\u0061mes":3,"\ud800":4,"ä":5}`},
		{obj: `{"a":null}`, a: "null"},
		{obj: `{"name":"safe","Name":"evil"}`, fault: "another case"},
		{obj: `{"NAME":"evil"}`, fault: "another case"},
		{obj: `{"name":1,"\u006eame":2}`, fault: "twice"},
		{obj: `{"n\u0041me":2}`, fault: "another case"},
		{obj: `[]`, fault: "no JSON object"},
		{obj: ``, fault: "no JSON object"},
		{obj: `{"a":1`, fault: "closing bracket"},
		{obj: `{"a":1,}`, fault: "no string"},
		{obj: `{"a" 1}`, fault: "no :"},
		{obj: `{"a":tru}`, fault: "no JSON value"},
		{obj: `{"a":1}}`, fault: "text after"},
		{obj: "{\"x\":\"\xc0\"}", fault: "invalid UTF-8 at byte 6"},
	}
	for _, tt := range tests {
		var at [2]Span
		err := Lookup([]byte(tt.obj), []string{"a", "name"}, at[:])
		if tt.fault != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fault) {
				t.Errorf("%s: %v", tt.obj, err)
			}
			var me *MemberError
			if isMember := errors.As(err, &me); isMember != (tt.fault == "twice" || tt.fault == "another case") || isMember && me.Name != "name" {
				t.Errorf("%s: %#v", tt.obj, err)
			}
			continue
		}
		if a, name := string(at[0].Of([]byte(tt.obj))), string(at[1].Of([]byte(tt.obj))); err != nil || a != tt.a || name != tt.name {
			t.Errorf("%s: a %q, name %q, %v", tt.obj, a, name, err)
		}
	}
}

func TestEachMemberAndElement(t *testing.T) {
	var got []string
	obj := []byte(`{ "b" : 1, "a":[ 2 ],"b":{"c":3} }`)
	if err := EachMember(obj, func(key []byte, v Span) bool {
		got = append(got, string(key)+"="+string(v.Of(obj)))
		return true
	}); err != nil || strings.Join(got, ";") != `"b"=1;"a"=[ 2 ];"b"={"c":3}` {
		t.Errorf("members %q %v", got, err)
	}
	got = nil
	arr := []byte(`[ 1 ,"x",{"a":[]}]`)
	if err := EachElement(arr, func(v Span) bool {
		got = append(got, string(v.Of(arr)))
		return len(got) < 2
	}); err != nil || strings.Join(got, ";") != `1;"x"` {
		t.Errorf("elements %q %v", got, err)
	}
	for _, bad := range []string{``, `{}`, `[1 2]`, `[1`, `[1]2`, `[,]`} {
		var se *SyntaxError
		if err := EachElement([]byte(bad), func(Span) bool { return true }); !errors.As(err, &se) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestSpliceAndInsert(t *testing.T) { // R4
	b := []byte("0123456789")
	got := Splice(b, Edit{Span{0, 0}, []byte("a")}, Edit{Span{2, 4}, nil}, Edit{Span{5, 6}, []byte("xyz")}, Edit{Span{10, 10}, []byte("e")})
	if string(got) != "a014xyz6789e" || string(b) != "0123456789" {
		t.Errorf("Splice: %s, b is %s", got, b)
	}
	for obj, want := range map[string]string{
		`{}`:          `{"_m\"":{"v":1}}`,
		` { } `:       ` {"_m\"":{"v":1} } `,
		`{"a":1.0 }`:  `{"_m\"":{"v":1},"a":1.0 }`,
		"{ \"a\" :1}": `{"_m\"":{"v":1}, "a" :1}`,
		`null`:        "",
		`[1]`:         "",
		``:            "",
	} {
		if got := InsertMember([]byte(obj), `_m"`, []byte(`{"v":1}`)); string(got) != want {
			t.Errorf("InsertMember(%s) = %s", obj, got)
		}
	}
	if !IsObject([]byte(" \t{")) || IsObject([]byte("[{")) || IsObject(nil) {
		t.Error("IsObject")
	}
}

func TestIDKey(t *testing.T) { // R4, MB-077
	same := [][]string{
		{`1`, `1.0`, `1e0`, `10e-1`, `0.1E+1`},
		{`"1"`, `"\u0031"`},
		{`0`, `-0`, `0.0`, `0e5`},
		{`100`, `1e2`, `1E+02`},
		{`9007199254740993`, `9007199254740993.0`},
		{`9007199254740992`},
		{`-1`, `-1.0`},
		{`""`}, {`"abc"`, `"\u0061bc"`}, {`"a\"b"`, `"a\u0022b"`},
		{`"\ud800"`}, {`"\ud801"`}, {`"1.0"`}, {`null`},
		{`1e400`}, {`1e401`}, {`0.5`, `5e-1`}, {`1e99999999999`}, {`"1e2"`},
	}
	owner := map[string]int{}
	for group, ids := range same {
		for _, id := range ids {
			key := IDKey([]byte(id))
			if prev, ok := owner[key]; ok && prev != group {
				t.Errorf("%s has the key of %s", id, same[prev][0])
			}
			owner[key] = group
			if key != IDKey([]byte(ids[0])) {
				t.Errorf("%s and %s have the keys %q and %q", id, ids[0], key, IDKey([]byte(ids[0])))
			}
		}
	}
}

func TestHeadID(t *testing.T) { // R1
	tests := []struct {
		head, id string
	}{
		{`{"jsonrpc":"2.0","id":12,"result":{"content":[{"te`, "12"},
		{` {"jsonrpc":"2.0", "id" : "a\"b" , "result":"x`, `"a\"b"`},
		{`{"x":{"id":1,"y":["}","\""]},"id":2,"res`, "2"},
		{`{"jsonrpc":"2.0","id":12`, ""},
		{`{"jsonrpc":"2.0","id":"12`, ""},
		{`{"result":{"id":1`, ""},
		{`{"result":"……………`, ""},
		{`{"id":1,"id":2,"result":"x`, ""},
		{`{"id":1,"Id":2,"result":"x`, ""},
		{`{"id":null,"result":"x`, ""},
		{`{"id":{},"result":"x`, ""},
		{`{"id":1x,"result":"x`, ""},
		{`{"id":1 2,"result":"x`, "1"},
		{`{"id":-,"result":"x`, ""},
		{`[{"id":1,`, ""},
		{`aaaaaaaa`, ""},
		{``, ""},
		{`{` + `"a":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `,"id":3,"r`, "3"},
	}
	for _, tt := range tests {
		id, ok := HeadID([]byte(tt.head))
		if string(id) != tt.id || ok != (tt.id != "") {
			t.Errorf("%.60s: %q %v", tt.head, id, ok)
		}
	}
}

func TestKeepElements(t *testing.T) {
	for _, c := range []struct {
		in, out string
		all     bool
	}{
		{`[]`, `[]`, true},
		{` [ 1 ,"b", {"c":1.0} ] `, `[1,"b",{"c":1.0}]`, true},
		{`[0]`, `[]`, false},
		{`[0,1,0,2]`, `[1,2]`, false},
		{`[1,0]`, `[1]`, false},
	} {
		out, all, err := KeepElements([]byte(c.in), func(e []byte) bool { return string(e) != "0" })
		if string(out) != c.out || all != c.all || err != nil {
			t.Errorf("%s: %s, %v, %v", c.in, out, all, err)
		}
	}
	if _, _, err := KeepElements([]byte(`{"a":1}`), func([]byte) bool { return true }); err == nil {
		t.Error("an object is an array")
	}
}
