package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

var (
	smallRequest = []byte(`{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"get_file_contents","arguments":{"owner":"postern","repo":"demo","path":"README.md","ref":"refs/heads/main"},"_meta":{"progressToken":17}}}`)
	smallResult  = []byte(`{"jsonrpc":"2.0","id":17,"result":{"content":[{"type":"text","text":"hello from the other side, with a \"quote\" and a line\nbreak"}],"isError":false}}`)
	bigResult    = []byte(`{"jsonrpc":"2.0","id":17,"result":{"content":[{"type":"text","text":"` + strings.Repeat(`some text, a \"quote\" and the end of the line\n`, 1<<20/48) + `"}]}}`)
)

// A small message costs at most one allocation, its method's name.
func TestAllocations(t *testing.T) {
	for name, line := range map[string][]byte{"request": smallRequest, "result": smallResult} {
		if n := testing.AllocsPerRun(100, func() { _, _ = Parse(line) }); n > 1 {
			t.Errorf("Parse of a %s: %v allocations", name, n)
		}
	}
	m, err := Parse(smallRequest)
	if err != nil {
		t.Fatal(err)
	}
	names, at := []string{"name", "arguments", "_meta"}, make([]Span, 3)
	if n := testing.AllocsPerRun(100, func() { _ = Lookup(m.ParamsBytes(), names, at) }); n > 0 {
		t.Errorf("Lookup: %v allocations", n)
	}
	if n := testing.AllocsPerRun(100, func() { m.WithID([]byte("1234")) }); n > 1 {
		t.Errorf("WithID: %v allocations", n)
	}
}

func BenchmarkParse(b *testing.B) {
	for _, bb := range []struct {
		name string
		line []byte
	}{{"request", smallRequest}, {"result", smallResult}, {"1MiB", bigResult}, {"1MiB-cyrillic", []byte(`{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("привет мир ", 1<<20/20) + `"}`)}} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(bb.line)))
			for b.Loop() {
				if _, err := Parse(bb.line); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkValid is what encoding/json takes for less: no spans, no UTF-8.
func BenchmarkValid(b *testing.B) {
	for _, line := range [][]byte{smallRequest, bigResult} {
		b.Run(itoa(len(line)), func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				if !json.Valid(line) {
					b.Fatal()
				}
			}
		})
	}
}

func BenchmarkLookup(b *testing.B) {
	m, err := Parse(smallRequest)
	if err != nil {
		b.Fatal(err)
	}
	params, names, at := m.ParamsBytes(), []string{"name", "arguments", "_meta"}, make([]Span, 3)
	b.ReportAllocs()
	for b.Loop() {
		if err := Lookup(params, names, at); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWithID(b *testing.B) {
	m, err := Parse(smallRequest)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		m.WithID([]byte("123456"))
	}
}

func BenchmarkReader(b *testing.B) {
	for _, line := range [][]byte{smallRequest, bigResult} {
		b.Run(itoa(len(line)), func(b *testing.B) {
			n := 64<<20/len(line) + 1
			in := bytes.Repeat(append(bytes.Clone(line), '\n'), n)
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				r := NewReader(bytes.NewReader(in), 4<<20)
				for {
					if _, err := r.Next(); err != nil {
						break
					}
				}
			}
		})
	}
}

func BenchmarkWriter(b *testing.B) {
	w := NewWriter(io.Discard, WriterOptions{MaxMessage: 4 << 20, MaxQueue: 16 << 20})
	written := make(chan struct{})
	begin := func() bool { written <- struct{}{}; return true }
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Send(smallRequest, begin); err != nil {
			b.Fatal(err)
		}
		<-written
	}
}

func BenchmarkCanonical(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Canonical(smallRequest); err != nil {
			b.Fatal(err)
		}
	}
}
