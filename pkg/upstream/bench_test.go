package upstream

import (
	"strings"
	"testing"
	"time"

	"postern/pkg/wire"
)

// BenchmarkDo is one call against a peer in this process: two pipes, one
// scheduler hand-over each way.
func BenchmarkDo(b *testing.B) {
	p := newPeer(b, Options{})
	go p.parrot() // ends when the client closes stdin
	params := []byte(`{"name":"echo","arguments":{"text":"hello"},"_meta":{"progressToken":"abc"}}`)
	at := strings.Index(string(params), `"abc"`)
	call := Call{Method: "tools/call", Params: params, Token: wire.Span{Start: at, End: at + len(`"abc"`)}, Timeout: time.Minute}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.c.Do(b.Context(), call); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDoParallel is the same with many callers on one connection.
func BenchmarkDoParallel(b *testing.B) {
	p := newPeer(b, Options{})
	go p.parrot() // ends when the client closes stdin
	call := Call{Method: "tools/call", Params: []byte(`{"name":"echo"}`), Timeout: time.Minute}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := p.c.Do(b.Context(), call); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// parrot answers with as little work as possible.
func (p *peer) parrot() {
	var out []byte
	for {
		line, err := p.in.ReadSlice('\n')
		if err != nil {
			return
		}
		m, err := wire.Parse(line[:len(line)-1])
		if err != nil {
			return
		}
		out = append(append(append(out[:0], `{"jsonrpc":"2.0","id":`...), m.IDBytes()...), `,"result":{"content":[]}}`+"\n"...)
		if _, err := p.out.Write(out); err != nil {
			return
		}
	}
}
