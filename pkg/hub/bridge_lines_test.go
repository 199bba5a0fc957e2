package hub

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"postern/pkg/wire"
)

// pieces reads at most n bytes at a time.
type pieces struct {
	r io.Reader
	n int
}

func (p pieces) Read(b []byte) (int, error) { return p.r.Read(b[:min(len(b), p.n)]) }

// all reads every line; a line over the cap counts with a ! in front. The caller's
// room in front of each line is written to, as a bridge does.
func all(t testing.TB, l *lines) (got []string, end error) {
	t.Helper()
	for {
		framed, err := l.next()
		if err != nil && err != errLong {
			return got, err
		}
		for i := range l.room {
			framed[i] = '#'
		}
		line := string(framed[l.room:])
		if !strings.HasSuffix(line, "\n") || strings.Count(line, "\n") != 1 {
			t.Fatalf("%q is no line", line)
		}
		if line = strings.TrimSuffix(line, "\n"); err == errLong {
			if len(line) != l.max+1 {
				t.Fatalf("%d bytes of a line over %d", len(line), l.max)
			}
			line = "!" + line
		}
		got = append(got, line)
	}
}

// R1, MB-069, MB-071: whatever the pieces, the lines are the same; none is copied but into its
// place, and a long one is cut and does not hurt the next.
func TestLines(t *testing.T) {
	long := strings.Repeat("x", 3*lineBuffer)
	for _, tc := range []struct {
		text string
		max  int
		want string
	}{
		{"", 10, ""},
		{"a\nb\n", 10, "a|b"},
		{"a\n\nb", 10, "a||b"},
		{"\ufeffa\n\ufeffb\n", 10, "a|\ufeffb"},
		{"0123456789\n0123456789a\nb\n", 10, "0123456789|!0123456789a|b"},
		{"0123456789abcdefg", 10, "!0123456789a"},
		{long + "\nb\n" + long + "c", 4 * lineBuffer, long + "|b|" + long + "c"},
	} {
		for _, n := range []int{1, 7, 1 << 20} {
			if len(tc.text) > 1000 && n == 1 {
				continue
			}
			l := newLines(pieces{strings.NewReader(tc.text), n}, stampBytes, tc.max)
			got, end := all(t, l)
			if strings.Join(got, "|") != tc.want || end != io.EOF {
				t.Errorf("%.40q by %d: %.200q, %v", tc.text, n, got, end)
			}
			if len(l.buf) > tc.max+2*lineBuffer+stampBytes {
				t.Errorf("%d bytes of buffer", len(l.buf))
			}
		}
	}
	if _, err := newLines(iotest.ErrReader(io.ErrClosedPipe), 0, 10).next(); err != io.ErrClosedPipe {
		t.Error(err)
	}
}

// A buffer that one long line needed is given up again.
func TestLinesShrink(t *testing.T) {
	r, w := io.Pipe()
	l := newLines(r, 0, 1<<20)
	go func() { // ends with the pipe
		_, _ = io.WriteString(w, strings.Repeat("x", 1<<19)+"\n")
		for range keepLarge + 2 {
			_, _ = io.WriteString(w, "y\n")
		}
		w.Close()
	}()
	if _, err := all(t, l); err != io.EOF || len(l.buf) != lineBuffer {
		t.Errorf("%d bytes are kept, %v", len(l.buf), err)
	}
}

// A chunk is whole lines, and a broken line of a hub that died is none (MB-067).
func TestChunk(t *testing.T) {
	l := newLines(pieces{strings.NewReader("a\nbc\nd\nef"), 4}, 0, 10)
	var got []string
	for {
		chunk, err := l.chunk()
		if err != nil {
			if err != io.EOF || strings.Join(got, "|") != "a\n|bc\nd\n" {
				t.Errorf("%q, %v", got, err)
			}
			break
		}
		got = append(got, string(chunk))
	}
	if _, err := newLines(strings.NewReader(strings.Repeat("x", 20)), 0, 10).chunk(); err != errLong {
		t.Error(err)
	}
}

// A line in its place costs no allocation.
func TestLinesAllocate(t *testing.T) {
	text := bytes.Repeat([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"), 1000)
	src := bytes.NewReader(text)
	l := newLines(src, stampBytes, 1<<20)
	if n := testing.AllocsPerRun(900, func() {
		if _, err := l.next(); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a line", n)
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\n\nbc\r\n0123456789\n012345678901234567890\nx"), 3)
	f.Add([]byte("\ufeffa\n"), 1)
	f.Fuzz(func(t *testing.T, text []byte, n int) {
		const most = 12
		got, end := all(t, newLines(pieces{bytes.NewReader(text), 1 + (n&0xff+0x100)%0x100}, stampBytes, most))
		var want []string
		plain := strings.TrimPrefix(string(text), "\ufeff")
		for line := range strings.SplitSeq(plain, "\n") {
			if len(line) > most {
				line = "!" + line[:most+1]
			}
			want = append(want, line)
		}
		if want[len(want)-1] == "" {
			want = want[:len(want)-1]
		}
		if end != io.EOF || strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%q: %q, not %q, %v", text, got, want, end)
		}
	})
}

// What is read at a glance is what is read when all of it is.
func TestGlance(t *testing.T) {
	for line, want := range map[string]bool{
		`{"jsonrpc":"2.0","id":1,"result":{}}`:                                          true,
		`{"jsonrpc":"2.0","id":"a-1","result":{"id":2}}`:                                true,
		`{"jsonrpc":"2.0","id":-7,"error":{"code":1,"message":""}}`:                     true,
		`{"result":{"a":1},"jsonrpc":"2.0","id":12}`:                                    true,
		`{"result":{},"id":"x","jsonrpc":"2.0"}`:                                        true,
		`{"jsonrpc":"2.0","result":"\",\"id\":1","id":2}`:                               true,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`:               true,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`: false,
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`:                                      false,
		`{"jsonrpc":"2.0","id":"a\"b","result":{}}`:                                     false,
		`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}`:                   false,
		`{"jsonrpc":"2.0", "id":1,"result":{}}`:                                         false,
		`{"result":{},"jsonrpc":"2.0","id":1.0}`:                                        false,
		`{"result":{"id":1},"jsonrpc":"2.0","id" :12}`:                                  false,
		`[]`: false,
		``:   false,
	} {
		m, ok := glance([]byte(line))
		if ok != want {
			t.Errorf("%s: %v", line, ok)
		}
		sameGlance(t, []byte(line), m, ok)
	}
}

func sameGlance(t *testing.T, line []byte, m wire.Message, ok bool) {
	t.Helper()
	whole, err := wire.Parse(line)
	if !ok || err != nil {
		return // the hub sends messages
	}
	same := m.Kind == whole.Kind && bytes.Equal(m.IDBytes(), whole.IDBytes()) && m.Result.Ok() == whole.Result.Ok() && m.Error.Ok() == whole.Error.Ok()
	if !same || m.Kind == wire.Notification && (whole.Method == cancelledMethod || whole.Method == acknowledgedMethod) {
		t.Errorf("%s: at a glance %+v, in whole %+v", line, m, whole)
	}
}

func FuzzGlance(f *testing.F) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"result":{"id":3},"jsonrpc":"2.0","id":1}`, `{"result":"\",\"id\":7","id":"x","jsonrpc":"2.0"}`,
		`{"jsonrpc":"2.0","id":"é","error":{"code":1,"message":""}}`, `{"jsonrpc":"2.0","method":"notifications/message"}`,
		`{"jsonrpc":"2.0","result":1,"x":{"a":1,"id":5},"id":2}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, ok := glance(line)
		sameGlance(t, line, m, ok)
	})
}
