package gateway

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"postern/pkg/call"
	"postern/pkg/config"
	"postern/pkg/wire"
)

// The text of a JSON string is what encoding/json reads in it.
func FuzzText(f *testing.F) {
	for _, s := range []string{`""`, `"a\n\t\b\f\r\"\\\/"`, `"\u00e9é\ud83d\udc1b🐛"`, `"\ud83d"`, `"\ud83d\ud83d\udc1b"`, `"\udc1bx"`, `"\ud83dA"`, `"\u0000"`, `"\ud83d\u0041"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, quoted []byte) {
		quoted = bytes.TrimSpace(quoted) // a span is the value alone
		if _, err := wire.Parse(append(append([]byte(`{"jsonrpc":"2.0","method":`), quoted...), '}')); err != nil && !strings.Contains(err.Error(), "surrogate") || len(quoted) < 2 || quoted[0] != '"' {
			return
		}
		var want string
		if json.Unmarshal(quoted, &want) != nil {
			return
		}
		var got strings.Builder
		writeDecoded(&got, quoted)
		if got.String() != want {
			t.Fatalf("%s: %q, want %q", quoted, got.String(), want)
		}
		if n := decodedSize(quoted); n != len(want) {
			t.Fatalf("%s: %d bytes, want %d", quoted, n, len(want))
		}
		for room := range len(quoted) {
			taken, decoded := measure(quoted, room)
			if taken > room || decoded > len(want) || !strings.HasPrefix(want, want[:decoded]) {
				t.Fatalf("%s in %d: %d, %d", quoted, room, taken, decoded)
			}
			var part string
			if err := json.Unmarshal(append(append([]byte{}, quoted[:1+taken]...), '"'), &part); err != nil || part != want[:decoded] {
				t.Fatalf("%s in %d: %q, want %q (%v)", quoted, room, part, want[:decoded], err)
			}
		}
	})
}

// A cut result is a result, has what was no text, and its text is the beginning
// of the text that read_result reads on in.
func FuzzCut(f *testing.F) {
	long := strings.Repeat("é", 600)
	for _, s := range []string{
		`{"content":[{"type":"text","text":"` + long + `"}]}`,
		`{"structuredContent":{"a":"` + long + `"},"content":[{"type":"text","text":"` + long + `"}],"x":1}`,
		`{"content":[{"type":"text","text":"` + long + `"}] , "structuredContent" : {"a":"` + long + `"} }`,
		`{"a":1,"structuredContent":["` + long + `"],"isError":true,"content":[{"type":"image","data":"` + long + `"},{"type":"resource","resource":{"uri":"x","text":"` + long + `"}},{"type":"text","text":"\ud83d"}]}`,
		`{"content":[{"type":"text","text":"a"},{"type":"text","text":"` + long + `"},{"type":"text","text":"b"},{"type":"text"}]}`,
	} {
		f.Add([]byte(s), 1024, true)
		f.Add([]byte(s), 1100, false)
	}
	f.Fuzz(func(t *testing.T, raw []byte, limit int, whole bool) {
		line := append(append([]byte(`{"jsonrpc":"2.0","id":1,"result":`), raw...), '}')
		m, err := wire.Parse(line)
		if err != nil || !bytes.Equal(m.ResultBytes(), raw) || limit < 0 || limit > 1<<20 {
			return
		}
		p, problem := call.ReadResult(raw)
		if problem != "" || p.Partial {
			return
		}
		if full := twin(raw, p); full != nil {
			raw = full
			if p, problem = call.ReadResult(raw); problem != "" || len(blocksOf(raw, p)) != 1 {
				t.Fatalf("%s: %s", raw, problem)
			}
		}
		c := planCut(raw, p, limit, whole)
		if c == nil {
			return
		}
		checkCut(t, raw, c.result("", "NOTE"), p, c, whole)
	})
}

func blocksOf(raw []byte, p call.ResultParts) []block {
	list := proseOf(raw, p)
	return list.blocks(raw)
}

func checkCut(t *testing.T, raw, cut []byte, p call.ResultParts, c *cutting, whole bool) {
	t.Helper()
	after, problem := call.ReadResult(cut)
	if problem != "" {
		t.Fatalf("%s became %s: %s", raw, cut, problem)
	}
	list := blocksOf(cut, after)
	if note := list[len(list)-1]; string(note.raw) != `{"type":"text","text":"NOTE"}` {
		t.Fatalf("%s", cut)
	}
	text := resultText(raw, p)
	shown := ""
	for i, b := range list[:len(list)-1] {
		if b.text.Ok() {
			if i > 0 && shown != "" {
				shown += "\n"
			}
			var s strings.Builder
			writeDecoded(&s, b.text.Of(b.raw))
			shown += s.String()
		}
	}
	if c.shown > len(text) || c.total > len(text) && c.total > 0 && len(blocksOf(raw, p)) > 0 && c.shown > c.total {
		t.Fatalf("%d of %d, %d bytes of text", c.shown, c.total, len(text))
	}
	if c.shown > 0 && !strings.HasSuffix(strings.TrimLeft(text[:c.shown], "\n"), strings.TrimLeft(shown, "\n")) {
		t.Fatalf("shown %q of %q", shown, text[:c.shown])
	}
	if whole && !bytes.Equal(p.Structured.Of(raw), after.Structured.Of(cut)) {
		t.Fatalf("structured content changed: %s", cut)
	}
	if !whole && c.structured > 0 && after.Structured.Ok() {
		t.Fatalf("structured content is left: %s", cut)
	}
	if p.Failed != after.Failed {
		t.Fatalf("isError: %s", cut)
	}
	checkOthers(t, raw, cut)
}

// checkOthers wants every member but the two, and every block that is no text.
func checkOthers(t *testing.T, raw, cut []byte) {
	t.Helper()
	var was, is map[string]json.RawMessage
	if json.Unmarshal(raw, &was) != nil || json.Unmarshal(cut, &is) != nil {
		t.Fatalf("%s", cut)
	}
	for _, m := range []map[string]json.RawMessage{was, is} {
		delete(m, "content")
		delete(m, "structuredContent")
	}
	if !reflect.DeepEqual(was, is) {
		t.Fatalf("%s became %s", raw, cut)
	}
	others := func(raw []byte) (out []string) {
		p, _ := call.ReadResult(raw)
		for _, b := range blocksOf(raw, p) {
			if !b.text.Ok() {
				out = append(out, string(b.raw))
			}
		}
		return out
	}
	if !reflect.DeepEqual(others(raw), others(cut)) {
		t.Fatalf("%s became %s", raw, cut)
	}
}

// R69: a cut result is about as long as the policy says, whatever the block in
// which the text ends.
func TestCutLength(t *testing.T) {
	for _, n := range []int{1, 2, 7, 100, 3000} {
		var parts []string
		for range n {
			parts = append(parts, `{"type":"text","text":"`+strings.Repeat(`\u00e9é`, 30000/n)+`"}`)
		}
		raw := []byte(`{"content":[` + strings.Join(parts, ",") + `]}`)
		for _, limit := range []int{config.MinResultBytes, 16 << 10, 100_000} {
			p, _ := call.ReadResult(raw)
			c := planCut(raw, p, limit, false)
			if c == nil {
				t.Fatalf("%d blocks are not cut to %d", n, limit)
			}
			if got := len(c.result("", c.note(resultScheme+strings.Repeat("f", 32), "", true))); got > limit+config.ResultNoteBytes/2 || got < limit/4 {
				t.Errorf("%d blocks cut to %d have %d bytes", n, limit, got)
			}
		}
	}
}

// get takes paths that find, and no path that computes makes its way to gjson.
func FuzzPath(f *testing.F) {
	for _, p := range []string{"a.b", "items.#.name", `items.#(n>1)#.n`, `a\.b`, "..#", "@pretty", "{a,b}", "a|@this", `#(a.@reverse="x")`, `#(x=="a@b.c")`, "a.!b", "[a]", "content.0.text"} {
		f.Add(p)
	}
	raw := []byte(`{"content":[{"type":"text","text":"x"}],"structuredContent":{"items":[{"n":1,"name":"a@b.c"},{"n":2.0}],"a.b":null}}`)
	p, _ := call.ReadResult(raw)
	f.Fuzz(func(t *testing.T, path string) {
		if checkPath(path) != nil {
			return
		}
		text, found := valueAt(raw, path)
		if len(text) > 4*len(raw) {
			t.Fatalf("%q makes %d bytes of %d", path, len(text), len(raw))
		}
		out := getResult(raw, p, path)
		if _, problem := call.ReadResult(out); problem != "" || !gjson.ValidBytes(out) {
			t.Fatalf("%q: %s", path, out)
		}
		if found && utf8.ValidString(text) && gjson.GetBytes(out, "content.0.text").String() != text {
			t.Fatalf("%q: %s, want %q", path, out, text)
		}
	})
}

// Paths that compute are refused before anything is called.
func TestCheckPath(t *testing.T) {
	for path, ok := range map[string]bool{
		"": true, "a": true, "structuredContent.items.#.name": true, `#(name=="a@b")#`: true, `a\@b`: true, "a:b": true, "0": true,
		"@this": false, "a.@pretty": false, "a|@reverse": false, "{a,b}": false, "[a,b]": false, "a.{b}": false, "!\"x\"": false,
		`#(@this=="x")`: false, strings.Repeat("a", config.MaxPathBytes+1): false,
	} {
		if err := checkPath(path); (err == nil) != ok {
			t.Errorf("%q: %v", path, err)
		}
	}
}

// BenchmarkCut is a result of 1 MiB on its way to an agent that gets 16 KiB.
func BenchmarkCut(b *testing.B) {
	for name, text := range map[string]string{"plain": strings.Repeat("some text ", 1<<20/10), "lines": strings.Repeat(`a line of text\n`, 1<<20/16)} {
		raw := []byte(`{"content":[{"type":"text","text":"` + text + `"}]}`)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				p, _ := call.ReadResult(raw)
				planCut(raw, p, 16<<10, false).result("", "note")
			}
		})
	}
}

// FuzzCutReads: a resource or prompt that is cut is JSON with every member, every
// element that is no text, and a note behind them; what is shown begins the text.
func FuzzCutReads(f *testing.F) {
	long := strings.Repeat("é\\ud83d\\udc1b", 400)
	for _, s := range []string{
		`{"contents":[{"uri":"a:b","text":"` + long + `"},{"uri":"a:c","blob":"` + long + `"},{"uri":"a:d","text":""}],"_meta":{"x":1e400}}`,
		`{"z":1,"messages":[{"role":"user","content":{"type":"text","text":"a"}},{"role":"user","content":{"type":"resource","resource":{"uri":"x:y","text":"` + long + `"}}},{"content":{"type":"image","data":"` + long + `"}}]}`,
		`{"contents":[7,{"text":"` + long + `"},null]}`,
		`{"messages":[{"content":["` + long + `"]}]}`,
	} {
		f.Add([]byte(s), 1024)
	}
	f.Fuzz(func(t *testing.T, raw []byte, limit int) {
		m, err := wire.Parse(append(append([]byte(`{"jsonrpc":"2.0","id":1,"result":`), raw...), '}'))
		if err != nil || !bytes.Equal(m.ResultBytes(), raw) || limit < 0 || limit > 1<<20 {
			return
		}
		p, ok := partsOf("resources/read", raw, call.ResultParts{})
		if !ok || p.Partial {
			return
		}
		c := planCut(raw, p, limit, false)
		if c == nil {
			return
		}
		cut := c.result("postern://results/ID", "NOTE")
		before, after := proseOf(raw, p), proseOf(cut, p)
		was, is := before.blocks(raw), after.blocks(cut)
		if !json.Valid(cut) || !bytes.Contains(is[len(is)-1].raw, []byte(`"NOTE"`)) {
			t.Fatalf("%s became %s", raw, cut)
		}
		if others(was) != others(is) {
			t.Fatalf("%s became %s", raw, cut)
		}
		if text := resultText(raw, p); c.shown > len(text) || c.total != len(text) {
			t.Fatalf("%d of %d, %d bytes of text", c.shown, c.total, len(text))
		}
	})
}

// others joins the elements that are no text.
func others(list []block) (joined string) {
	for _, b := range list {
		if !b.text.Ok() {
			joined += string(b.raw) + "\n"
		}
	}
	return joined
}
