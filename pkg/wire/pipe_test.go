package wire

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// fidelity are messages in which a decoder and encoder would change something.
var fidelity = []string{
	`{"jsonrpc":"2.0","id":1,"result":{"id":9007199254740993,"n":12345678901234567890,"f":1.0,"e":1e400,"z":-0,"d":0.1}}`,        // MB-137
	`{"jsonrpc":"2.0","id":"","method":"tools/call","params":{"name":"t","arguments":{"a":1,"b":null}}}`,                         // MB-080
	`{"jsonrpc":"2.0","id":"1","result":{"content":[{"type":"text","text":"","annotations":null,"_meta":null}],"isError":null}}`, // MB-081
	`{"z":1,"jsonrpc":"2.0","params":{"b":1,"a":2,"a":3},"method":"x/y","id":1.50,"z":{"Z":[]}}`,
	"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":\"a\u2028b\u2029c\u0085d<>&\\u003c\\/\\ud800\"}", // MB-073
	` {	"jsonrpc" : "2.0" , "method" : "n" , "params" : { } }`,
}

// What one connection writes the other reads, byte for byte, with ids changed
// under way and changed back (R4), many senders at once.
func TestThroughRealPipes(t *testing.T) {
	pr, pw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pr.Close()
	w := NewWriter(pw, WriterOptions{MaxMessage: 1 << 20, MaxQueue: 64 << 20, WriteTimeout: 10 * time.Second})
	const senders, rounds = 8, 50
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() { // ends after its rounds: Send never blocks
			for n := range rounds {
				for k, text := range fidelity {
					m, err := Parse([]byte(text))
					if err != nil {
						t.Errorf("%s: %v", text, err)
						return
					}
					if err := w.Send(m.WithID(fmt.Appendf(nil, "%d", s<<20|n<<8|k)), nil); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	closed := make(chan error, 1)
	go func() { // ends when all is written, which the reader below sees to
		wg.Wait()
		err := w.Close(10 * time.Second)
		pw.Close()
		closed <- err
	}()
	count := checkReturns(t, NewReader(pr, 1<<20))
	if err := <-closed; err != nil || count != senders*rounds*len(fidelity) {
		t.Errorf("%d messages came, %v", count, err)
	}
}

// checkReturns reads messages of TestThroughRealPipes, puts the ids back and
// compares; those of one sender must come in order.
func checkReturns(t *testing.T, r *Reader) (count int) {
	last := map[int]int{}
	for {
		line, err := r.Next()
		if err == io.EOF {
			return count
		}
		if err != nil {
			t.Fatal(err)
		}
		m, err := Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		count++
		if m.Kind == Notification {
			if string(line) != fidelity[len(fidelity)-1] {
				t.Fatalf("came as %s", line)
			}
			continue
		}
		var id int
		if _, err := fmt.Sscan(string(m.IDBytes()), &id); err != nil {
			t.Fatal(err)
		}
		sender, place := id>>20, id&(1<<20-1)
		if prev, ok := last[sender]; ok && place <= prev {
			t.Fatalf("%d of sender %d came after %d", place, sender, prev)
		}
		last[sender] = place
		want := fidelity[id&0xff]
		original, err := Parse([]byte(want))
		if err != nil {
			t.Fatal(err)
		}
		if back := string(m.WithID(original.IDBytes())); back != want {
			t.Fatalf("came back as %s\n      it was %s", back, want)
		}
	}
}

// A pretty-printed value becomes part of one line without another change.
func TestOneLine(t *testing.T) {
	in := []byte("{\r\n\t\"a\": [1.0,\n\"x\\n\"]\n}")
	if got := string(OneLine(in)); got != "{\t\"a\": [1.0,\"x\\n\"]}" {
		t.Errorf("%q", got)
	}
	same := []byte(`{"a":"\n"}`)
	if got := OneLine(same); &got[0] != &same[0] || strings.Contains(string(got), "\n") {
		t.Error("a line was copied")
	}
}
