package wire

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

// readAll reads to the end and returns lines, with "!" for a refused one.
func readAll(t *testing.T, r *Reader) (lines []string, end error) {
	t.Helper()
	for {
		line, err := r.Next()
		var long *TooLongError
		switch {
		case err == nil:
			lines = append(lines, string(line))
		case errors.As(err, &long):
			lines = append(lines, "!"+string(long.Head))
		default:
			if _, again := r.Next(); again != err {
				t.Errorf("after %v the reader says %v", err, again)
			}
			return lines, err
		}
	}
}

func TestReader(t *testing.T) { // R1
	tests := []struct{ name, in, want string }{
		{"lines", "a\nbc\n", "a|bc"},
		{"CR, spaces and blank lines", "\n  \r\na \t\r\n\t\n b\n", "a| b"},
		{"byte order mark", "\ufeffa\n\ufeffb\n", "a|\ufeffb"},
		{"mark before a blank line", "\ufeff\r\na\n", "a"},
		{"half a line at the end", "a\nhalf", "a|half"},
		{"only half a line", "\ufeffhalf ", "half"},
		{"nothing", "", ""},
		{"MB-073: only LF ends a line", "a\u2028b\u2029c\u0085d\re\vf\n", "a\u2028b\u2029c\u0085d\re\vf"},
		{"at the cap", "0123456789abcdef0123456789abcdef\nx\n", "0123456789abcdef0123456789abcdef|x"},
		{"over the cap", "0123456789abcdef0123456789abcdefg\nx\n", "!0123456789abcdef0123456789abcdefg|x"},
		{"far over the cap", strings.Repeat("a", 1000) + "\nx\n", "!"},
		{"over the cap at the end", strings.Repeat("a", 1000), "!"},
	}
	for _, tt := range tests {
		for how, r := range map[string]io.Reader{
			"at once":          strings.NewReader(tt.in),
			"byte by byte":     iotest.OneByteReader(strings.NewReader(tt.in)),
			"end with content": iotest.DataErrReader(strings.NewReader(tt.in)),
		} {
			lines, err := readAll(t, NewReader(r, 32))
			got := strings.Join(lines, "|")
			if strings.HasPrefix(tt.name, "far") || strings.HasSuffix(tt.name, "cap at the end") {
				got = strings.ReplaceAll(got, "a", "")
				got = strings.TrimSuffix(got, "|x")
			}
			if err != io.EOF || got != tt.want {
				t.Errorf("%s, %s: %q %v", tt.name, how, got, err)
			}
		}
	}
}

// MB-069: every length up to the cap passes, and the line after one over it.
func TestReaderLongLines(t *testing.T) {
	const limit = 4 << 20
	sizes := []int{65535, 65536, 65537, 1 << 20, limit - 1, limit, limit + 1, 8 << 20, 1}
	var in strings.Builder
	for i, n := range sizes {
		in.WriteString(strings.Repeat(string(rune('a'+i)), n) + "\n")
	}
	r := NewReader(strings.NewReader(in.String()), limit)
	for i, n := range sizes {
		line, err := r.Next()
		var long *TooLongError
		if n > limit {
			if !errors.As(err, &long) || long.Max != limit || len(long.Head) != 64<<10 || long.Head[0] != byte('a'+i) {
				t.Fatalf("%d: %v", n, err)
			}
			continue
		}
		if err != nil || len(line) != n || strings.Trim(string(line), string(rune('a'+i))) != "" {
			t.Fatalf("%d: %d bytes, %v", n, len(line), err)
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Fatal(err)
	}
}

// R1: a line is refused when its bytes exceed the cap, although no newline came
// and nothing more will.
func TestReaderRefusesAtOnce(t *testing.T) {
	pr, pw := io.Pipe()
	defer pw.Close()
	go func() { // ends when the reader below has read the bytes
		_, _ = pw.Write([]byte(`{"jsonrpc":"2.0","id":7,"result":"` + strings.Repeat("x", 100)))
	}()
	_, err := NewReader(pr, 100).Next()
	var long *TooLongError
	if !errors.As(err, &long) {
		t.Fatal(err)
	}
	if id, ok := HeadID(long.Head); !ok || string(id) != "7" {
		t.Errorf("id %s %v", id, ok)
	}
}

// endless yields n bytes without a newline.
type endless struct{ n int }

func (e *endless) Read(p []byte) (int, error) {
	if e.n <= 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.n)
	e.n -= n
	for i := range p[:n] {
		p[i] = 'a'
	}
	return n, nil
}

// MB-071: whatever comes, memory stays in proportion to the cap.
func TestReaderMemoryIsBounded(t *testing.T) {
	const limit = 1 << 20
	r := NewReader(&endless{64 << 20}, limit)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := r.Next()
	var long *TooLongError
	if !errors.As(err, &long) {
		t.Fatal(err)
	}
	if _, err := r.Next(); err != io.EOF {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if total := after.TotalAlloc - before.TotalAlloc; total > 4*limit {
		t.Errorf("a line of 64 MiB allocated %d bytes under a cap of %d", total, limit)
	}
}

func TestReaderLineIsTheCallers(t *testing.T) {
	r := NewReader(strings.NewReader("first\nsecond\n"), 100)
	first, _ := r.Next()
	_ = append(first, "XXXXXXXXXXXX"...)
	second, err := r.Next()
	if string(first) != "first" || string(second) != "second" || err != nil {
		t.Errorf("%q %q %v", first, second, err)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestReaderErrors(t *testing.T) {
	broken := errors.New("broken")
	lines, err := readAll(t, NewReader(io.MultiReader(strings.NewReader("a\nhalf"), iotest.ErrReader(broken)), 100))
	if err != broken || strings.Join(lines, "|") != "a" {
		t.Errorf("%q %v: half a line is no line when the stream broke", lines, err)
	}
	if _, err := NewReader(stuck{}, 10).Next(); err != io.ErrNoProgress {
		t.Error(err)
	}
}
