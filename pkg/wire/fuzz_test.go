package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

var fuzzLines = []string{
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"n":9007199254740993}}}`,
	`{"jsonrpc":"2.0","id":"\u0031","result":{"content":[{"type":"text","text":"é\u2028\ud83d\ude00"}],"f":1e400}}`,
	`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`,
	` {"jsonrpc" : "2.0","method":"n","params":[ -0.5e-7,true,false,null ] } `,
	`{"jsonrpc":"2.0","id":1,"Id":2,"method":"x"}`,
	`[{"jsonrpc":"2.0","id":1,"method":"x"},2]`,
	`{"a":{"b":[{},[],""]},"c":"\\\"\/"}`, `{not json`, `123`, `"str"`, "{\"a\":\"\xff\"}", `{"id":1,`,
}

func seed(f *testing.F) {
	for _, l := range fuzzLines {
		f.Add([]byte(l))
	}
	f.Add([]byte(strings.Repeat("[", 1001) + strings.Repeat("]", 1001)))
}

// depthOf counts the nesting of valid JSON.
func depthOf(line []byte) (deepest int) {
	depth := 0
	for d := json.NewDecoder(bytes.NewReader(line)); ; {
		tok, err := d.Token()
		if err != nil {
			return deepest
		}
		if delim, ok := tok.(json.Delim); ok && (delim == '{' || delim == '[') {
			depth++
			deepest = max(deepest, depth)
		} else if ok {
			depth--
		}
	}
}

// FuzzParse holds the checks of R2 against encoding/json.
func FuzzParse(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, line []byte) {
		kept := bytes.Clone(line)
		m, err := Parse(line)
		if !bytes.Equal(line, kept) {
			t.Fatal("Parse changed the line")
		}
		if err != nil {
			checkRefusal(t, line, err)
			return
		}
		if !json.Valid(line) || !utf8.Valid(line) || depthOf(line) > MaxDepth || !bytes.Equal(m.Raw, line) {
			t.Fatalf("accepted %q", line)
		}
		var std map[string]json.RawMessage
		if err := json.Unmarshal(line, &std); err != nil {
			t.Fatal(err)
		}
		for name, got := range map[string][]byte{"id": m.IDBytes(), "params": m.ParamsBytes(), "result": m.ResultBytes(), "error": m.ErrorBytes()} {
			if !bytes.Equal(std[name], got) {
				t.Fatalf("%s is %q, encoding/json has %q", name, got, std[name])
			}
		}
		if m.ID.Ok() {
			back, err := Parse(m.WithID([]byte("77")))
			if err != nil || string(back.IDBytes()) != "77" || !bytes.Equal(back.WithID(m.IDBytes()), line) {
				t.Fatalf("the id did not come back: %v", err)
			}
		}
	})
}

func checkRefusal(t *testing.T, line []byte, err error) {
	var pe *ParseError
	if !errors.As(err, &pe) || pe.Reason == "" {
		t.Fatalf("untyped error %v", err)
	}
	valid := json.Valid(line)
	if pe.Code == CodeParse && valid && utf8.Valid(line) {
		t.Fatalf("%q is JSON: %v", line, err)
	}
	if pe.Code == CodeInvalidRequest && !valid && pe.Reason != whyDepth {
		t.Fatalf("%q is not JSON: %v", line, err)
	}
	if pe.ID != nil && !json.Valid(pe.ID) {
		t.Fatalf("id %q", pe.ID)
	}
}

// FuzzReader compares the Reader with a plain split, in chunks of any size.
func FuzzReader(f *testing.F) {
	f.Add([]byte("a\n\r\nbb \r\n\xef\xbb\xbfc"), 3, 2)
	f.Add([]byte("\xef\xbb\xbfaaaaaaaaaa\nb"), 4, 1)
	f.Fuzz(func(t *testing.T, in []byte, limit, chunk int) {
		if limit < 0 || limit > 1<<16 || chunk < 1 || len(in) > 1<<16 {
			return
		}
		var want []string
		for i, l := range bytes.Split(in, []byte("\n")) {
			if len(l) > limit {
				want = append(want, "!")
				continue
			}
			if i == 0 {
				l = bytes.TrimPrefix(l, []byte("\xef\xbb\xbf"))
			}
			if l = bytes.TrimRight(l, " \t\r"); len(l) > 0 {
				want = append(want, string(l))
			}
		}
		r := NewReader(chunks{bytes.NewReader(in), chunk}, limit)
		for i := 0; ; i++ {
			line, err := r.Next()
			var long *TooLongError
			if errors.As(err, &long) {
				line = []byte("!")
				if len(long.Head) <= limit {
					t.Fatalf("refused at %d bytes", len(long.Head))
				}
			} else if err == io.EOF && i == len(want) {
				return
			}
			if i >= len(want) || string(line) != want[i] {
				t.Fatalf("line %d is %q %v, want %q", i, line, err, want)
			}
		}
	})
}

type chunks struct {
	r io.Reader
	n int
}

func (c chunks) Read(p []byte) (int, error) { return c.r.Read(p[:min(len(p), c.n)]) }

// FuzzCanonical: the form is stable, valid, and of the same value (C40).
func FuzzCanonical(f *testing.F) {
	seed(f)
	f.Add([]byte(`[1.0,1E5,-0,1e400,0.10,1e-7,123456789012345678901234567890]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		out, err := Canonical(raw)
		if err != nil {
			return
		}
		if again, err := Canonical(out); err != nil || !bytes.Equal(again, out) {
			t.Fatalf("%q, then %q, %v", out, again, err)
		}
		if !sameValue(t, raw, out) {
			t.Fatalf("%q became %q", raw, out)
		}
	})
}

func sameValue(t *testing.T, a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil { // a number beyond float64
		return json.Valid(a) && json.Valid(b)
	}
	if err := json.Unmarshal(b, &y); err != nil {
		t.Fatal(err)
	}
	ja, _ := json.Marshal(x)
	jb, _ := json.Marshal(y)
	return bytes.Equal(bytes.ReplaceAll(ja, []byte("-0"), []byte("0")), bytes.ReplaceAll(jb, []byte("-0"), []byte("0")))
}

// FuzzText covers the readers of single values and pieces of messages.
func FuzzText(f *testing.F) {
	seed(f)
	f.Add([]byte(`"\ud83d\ude00\u00e9\n"`))
	f.Add([]byte(`{"code":1,"message":"m"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if s, err := Unquote(raw); err == nil {
			var std string
			if json.Unmarshal(raw, &std) != nil || std != s {
				t.Fatalf("Unquote(%q) = %q, encoding/json has %q", raw, s, std)
			}
			if back, err := Unquote(Quote(s)); err != nil || back != s {
				t.Fatalf("%q does not come back: %q %v", s, back, err)
			}
			if IDKey(raw) != IDKey(Quote(s)) {
				t.Fatalf("%q and %q have two keys", raw, Quote(s))
			}
		}
		checkObject(t, raw)
		if id, ok := HeadID(raw); ok {
			if !json.Valid(id) || id[0] != '"' && id[0] != '-' && !isDigit(id[0]) {
				t.Fatalf("HeadID(%q) = %q", raw, id)
			}
			if m, err := Parse(raw); err == nil && !bytes.Equal(m.IDBytes(), id) {
				t.Fatalf("HeadID(%q) = %q, Parse has %q", raw, id, m.IDBytes())
			}
		}
		_, _ = SplitBatch(raw, 3)
		_, _ = ParseRPCError(raw)
	})
}

func checkObject(t *testing.T, raw []byte) {
	var at [1]Span
	err := Lookup(raw, []string{"id"}, at[:])
	if err != nil {
		return
	}
	var std map[string]json.RawMessage
	if e := json.Unmarshal(raw, &std); e != nil || !bytes.Equal(std["id"], at[0].Of(raw)) {
		t.Fatalf("Lookup(%q) = %q, encoding/json has %q, %v", raw, at[0].Of(raw), std["id"], e)
	}
	more := InsertMember(raw, "__first", []byte(`[1]`))
	var spans [2]Span
	if e := Lookup(more, []string{"__first", "id"}, spans[:]); e != nil && !bytes.Contains(raw, []byte("__")) {
		t.Fatalf("InsertMember(%q) = %q: %v", raw, more, e)
	}
}
