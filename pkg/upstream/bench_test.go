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

// A plain call costs no more than it did before there were questions, clocks that
// stand still and two eras: what those need is paid by those who use them.
func TestDoAllocations(t *testing.T) {
	p := newPeer(t, Options{})
	go p.parrot() // ends when the client closes stdin
	params := []byte(`{"name":"echo","_meta":{"progressToken":"abc"}}`)
	call := Call{Method: "tools/call", Params: params, Token: wire.Span{Start: 40, End: 45}, Timeout: time.Minute}
	n := testing.AllocsPerRun(1000, func() {
		if _, err := p.c.Do(t.Context(), call); err != nil {
			t.Error(err)
		}
	})
	if n > 5 {
		t.Errorf("%v allocations, both sides of the pipes together", n)
	}
}

// BenchmarkDoModern is a modern agent's call to a modern server, and the same to
// a legacy one.
func BenchmarkDoModern(b *testing.B) {
	params := []byte(`{"name":"echo","arguments":{"text":"hello"},"_meta":{"progressToken":"abc","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"agent"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}`)
	at := strings.Index(string(params), `"abc"`)
	for _, era := range []string{EraModern, EraLegacy} {
		b.Run("to "+era, func(b *testing.B) {
			p := newPeer(b, Options{})
			if era == EraModern {
				p.c.meta = reservedMeta(`{"name":"postern","version":"1"}`)
			}
			go p.parrot() // ends when the client closes stdin
			call := Call{
				Method: "tools/call", Params: params, Token: wire.Span{Start: at, End: at + len(`"abc"`)}, Timeout: time.Minute,
				Modern: true, Capabilities: []byte(`{"elicitation":{}}`), Standstill: &Standstill{},
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.c.Do(b.Context(), call); err != nil {
					b.Fatal(err)
				}
			}
		})
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
