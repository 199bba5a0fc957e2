package calllog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"postern/pkg/config"
	"postern/pkg/state"
)

// scan returns the ids of the rows found, as "a b c".
func scan(t *testing.T, dir string, q Query) (string, Stats) {
	t.Helper()
	var ids []string
	m := newMatcher(&Query{Filters: []Filter{{member: "id"}}})
	stats, err := Scan(context.Background(), dir, q, func(row []byte) error {
		m.judge(row)
		id, _ := plainText(m.spans[2].Of(row))
		ids = append(ids, id)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if stats.Rows != len(ids) {
		t.Errorf("%d rows counted, %d given", stats.Rows, len(ids))
	}
	return strings.Join(ids, " "), stats
}

func row(id, ts string) string {
	return fmt.Sprintf(`{"v":1,"id":%q,"ts":"2026-09-%sZ","outcome":"ok"}`+"\n", id, ts)
}

func logOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "calls")
	if err := state.EnsureDir(dir); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, "2026-09-"+text+"Z")
	if err != nil {
		panic(err)
	}
	return t
}

func TestScan(t *testing.T) {
	dir := logOf(t, map[string]string{
		"2026-09-01.jsonl":    row("a", "01T10:00:00") + row("b", "01T23:59:59.9"),
		"2026-09-02.jsonl":    row("c", "01T23:59:58") + row("d", "02T08:00:00"), // c ended the next day
		"2026-09-02.1.jsonl":  row("e", "02T09:00:00") + row("f", "02T10:00:00"),
		"2026-09-02.2.jsonl":  row("g", "02T11:00:00"),
		"2026-09-02.10.jsonl": row("h", "02T12:00:00"),
		"2026-09-04.jsonl":    strings.TrimSuffix(row("i", "04T00:00:00"), "\n"),
		"other.jsonl":         row("x", "02T00:00:00"),
	})
	for _, tt := range []struct {
		name string
		q    Query
		want string
	}{
		{"all", Query{}, "a b c d e f g h i"},
		{"newest first", Query{Newest: true}, "i h g f e d c b a"},
		{"the newest three, in order", Query{Limit: 3}, "g h i"},
		{"the newest three, newest first", Query{Limit: 3, Newest: true}, "i h g"},
		{"a limit above all", Query{Limit: 1 << 40}, "a b c d e f g h i"},
		{"from a bound on", Query{Since: at("02T09:00:00")}, "e f g h i"},
		{"up to a bound", Query{Until: at("02T09:00:00")}, "a b c d"},
		{"half open", Query{Since: at("02T09:00:00"), Until: at("02T10:00:00")}, "e"},
		{"a call that ended the next day", Query{Since: at("01T23:59:00"), Until: at("02T00:00:00")}, "b c"},
		{"with a limit", Query{Until: at("02T09:30:00"), Limit: 2}, "d e"},
		{"nothing", Query{Since: at("05T00:00:00")}, ""},
		{"nothing with a limit", Query{Since: at("05T00:00:00"), Limit: 3}, ""},
	} {
		if got, _ := scan(t, dir, tt.q); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if got, stats := scan(t, filepath.Join(dir, "none"), Query{}); got != "" || stats != (Stats{}) {
		t.Errorf("no log: %q %+v", got, stats)
	}
}

// TestScanReadsOnlyItsDays: a file of a day that cannot matter is not even opened.
func TestScanReadsOnlyItsDays(t *testing.T) {
	dir := logOf(t, map[string]string{
		"2026-09-01.jsonl": "no row\n", "2026-09-02.jsonl": row("a", "02T10:00:00"),
		"2026-09-03.jsonl": row("b", "02T23:59:59"), "2026-09-04.jsonl": "no row\n",
	})
	for _, newest := range []bool{false, true} {
		_, stats := scan(t, dir, Query{Since: at("02T00:00:00"), Until: at("02T23:59:59.5"), Newest: newest})
		if stats != (Stats{Rows: 2}) {
			t.Errorf("%+v", stats)
		}
	}
}

func TestScanSkipsWhatIsNoRow(t *testing.T) { // C83, MB-070, MB-075, MB-224, MB-234
	long := row("l", "01T00:00:00")
	long = strings.Replace(long, "{", `{"x":"`+strings.Repeat("y", config.LogLineBytes)+`",`, 1)
	dir := logOf(t, map[string]string{"2026-09-01.jsonl": row("a", "01T01:00:00") +
		`{"v":1,"id":"t","ts":"2026-09-01T01:` + "\n" + // torn
		"\n   \r\n" + // blank: no damage
		strings.Repeat("\x00", 4096) + row("b", "01T02:00:00") +
		"[1]\n" + "null\n" + "\x00\x00\x00\n" + "{}\n" +
		`{"v":1,"id":"no start"}` + "\n" +
		`{"id":"no version","ts":"2026-09-01T01:00:00Z"}` + "\n" +
		`{"v":1,"id":"twice","ts":"2026-09-01T01:00:00Z","ts":"2026-09-01T01:00:00Z"}` + "\n" +
		`{"v":1,"id":"` + "\xff" + `","ts":"2026-09-01T01:00:00Z"}` + "\n" +
		long +
		strings.Repeat("z", 3*config.LogLineBytes) + "\n" +
		`{"v":2,"id":"c","ts":"2026-09-01T03:00:00Z","new":{}}` + "\n" + // of a later version
		`{"v":1,"id":"d","ts":"2026-09-01T04:00:00Z"}`, // no newline, but whole
		"2026-09-02.jsonl": row("e", "02T00:00:00") + `{"v":1,"id":"torn at the e`,
	})
	const want = "a b c d e"
	for _, q := range []Query{{}, {Newest: true}, {Limit: 9}} {
		got, stats := scan(t, dir, q)
		if q.Newest {
			ids := strings.Fields(got)
			slices.Reverse(ids)
			got = strings.Join(ids, " ")
		}
		if got != want || stats.Skipped != 13 {
			t.Errorf("%+v: %q, %d skipped", q, got, stats.Skipped)
		}
	}
	if _, stats := scan(t, dir, Query{Filters: []Filter{mustFilter(t, "id=b")}}); stats != (Stats{Rows: 1, Skipped: 13}) {
		t.Errorf("with a filter: %+v", stats)
	}
	if got, stats := scan(t, dir, Query{Limit: 1}); got != "e" || stats.Skipped != 1 {
		t.Errorf("only what had to be read counts: %q %+v", got, stats)
	}
}

// TestFixtureV1 keeps rows of version 1 readable.
func TestFixtureV1(t *testing.T) {
	b, err := os.ReadFile("testdata/v1.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	dir := logOf(t, map[string]string{"2026-09-03.jsonl": string(b)})
	var got bytes.Buffer
	stats, err := Scan(context.Background(), dir, Query{}, func(row []byte) error {
		got.Write(append(row, '\n'))
		return nil
	})
	if err != nil || stats != (Stats{Rows: 3}) || got.String() != string(b) {
		t.Errorf("%+v, %v, the bytes differ: %v", stats, err, got.String() != string(b))
	}
	for filter, want := range map[string]string{
		"outcome=denied": "01k47c5x0800000000000000ab", "level=1": "01k47c5x0800000000000000ab", "latency=1m..": "01k47c5x0800000000000000ac",
		"tier=read": "01k47c5x0800000000000000aa", "scope=project": "01k47c5x0800000000000000ab", "word=timeout": "01k47c5x0800000000000000ac",
	} {
		if ids, _ := scan(t, dir, Query{Filters: []Filter{mustFilter(t, filter)}}); ids != want {
			t.Errorf("%s: %q", filter, ids)
		}
	}
}

func TestScanStops(t *testing.T) {
	dir := logOf(t, map[string]string{"2026-09-01.jsonl": strings.Repeat(row("a", "01T01:00:00"), 10)})
	no := errors.New("no")
	for _, q := range []Query{{}, {Newest: true}, {Limit: 5}} {
		if _, err := Scan(context.Background(), dir, q, func([]byte) error { return no }); !errors.Is(err, no) {
			t.Errorf("%+v: %v", q, err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		n := 0
		_, err := Scan(ctx, dir, q, func([]byte) error { n++; cancel(); return nil })
		if !errors.Is(err, context.Canceled) || n != 1 {
			t.Errorf("%+v: %v after %d rows", q, err, n)
		}
		if _, err := Scan(ctx, dir, q, func([]byte) error { n++; return nil }); !errors.Is(err, context.Canceled) || n != 1 {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

func TestScanRefusesALogOthersCanWrite(t *testing.T) { // C5
	dir := logOf(t, map[string]string{"2026-09-01.jsonl": row("a", "01T01:00:00")})
	if err := os.Chmod(filepath.Join(dir, "2026-09-01.jsonl"), 0o622); err != nil {
		t.Fatal(err)
	}
	_, err := Scan(context.Background(), dir, Query{}, func([]byte) error { return nil })
	var unsafe *state.UnsafeError
	if runtime.GOOS != "windows" && !errors.As(err, &unsafe) {
		t.Errorf("got %v", err)
	}
}

// TestScanMemoryIsFlat (MB-228): a large log, with a hole that reads as one line
// of zeros, costs no more than its buffers.
func TestScanMemoryIsFlat(t *testing.T) {
	dir := logOf(t, map[string]string{"2026-09-01.jsonl": strings.Repeat(row("a", "01T01:00:00"), 200_000)})
	f, err := os.Create(filepath.Join(dir, "2026-09-02.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := errors.Join(f.Chmod(0o600), f.Truncate(64<<20)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("\n"+row("z", "02T01:00:00")), 64<<20); err != nil {
		t.Fatal(err)
	}
	for _, q := range []Query{{}, {Newest: true}, {Limit: 150_000}} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		stats, err := Scan(context.Background(), dir, q, func([]byte) error { return nil })
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; err != nil || grown > 16<<20 {
			t.Errorf("%+v: %d bytes, %+v, %v", q, grown, stats, err)
		}
	}
}

// FuzzPieces: however a file is divided into pieces, read forwards or backwards,
// it has the lines that splitting it at its newlines gives.
func FuzzPieces(f *testing.F) {
	a := row("a", "01T01:00:00")
	f.Add([]byte(a+a), 0, 10)
	f.Add([]byte("\n\n"+a), config.LogLineBytes-1, 1000)
	f.Add([]byte(a+"\x00b\r\n"+a), config.LogLineBytes, 1)
	f.Add([]byte(a+"\x00\x00\x00"+a+"\x00\n"), 0, 1)
	f.Add([]byte("x\n"+a+strings.TrimSuffix(a, "\n")), 3*config.LogLineBytes, 4096)
	f.Fuzz(func(t *testing.T, data []byte, pad, length int) {
		if pad > 0 { // long lines are where pieces could go wrong
			data = append(bytes.Repeat([]byte("p"), pad%(4*config.LogLineBytes)), data...)
		}
		m, want := newMatcher(&Query{}), []string(nil)
		skipped := 0
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			isRow, wanted := false, false
			if len(line) <= config.LogLineBytes {
				if blank(line) {
					continue
				}
				whole := line
				line = bytes.TrimLeft(line, "\x00")
				if isRow, wanted = m.judge(line); isRow && len(line) < len(whole) {
					skipped++ // what was left of something else
				}
			}
			switch {
			case wanted:
				want = append(want, string(line))
			case !isRow:
				skipped++
			}
		}
		dir := logOf(t, map[string]string{"2026-09-01.jsonl": string(data)})
		for _, reverse := range []bool{false, true} {
			var got []string
			s := &scanner{ctx: context.Background(), dir: dir, query: &Query{}, files: []dayFile{{day: at("01T00:00:00")}}}
			size := int64(len(data))/200 + 1 + int64(uint16(length)) // a few hundred pieces at most
			err := s.stream([]int{0}, reverse, 2, size, func(p place, line []byte) error {
				if !bytes.HasPrefix(data[p.offset:], line) {
					t.Fatalf("the line is not at %d", p.offset)
				}
				got = append(got, string(line))
				return nil
			})
			if reverse {
				slices.Reverse(got)
			}
			if err != nil || !slices.Equal(got, want) || s.stats.Skipped != skipped {
				t.Errorf("reverse %v: %d rows of %d, %d skipped of %d, %v", reverse, len(got), len(want), s.stats.Skipped, skipped, err)
			}
		}
	})
}

func BenchmarkScan(b *testing.B) { // F11
	dir := filepath.Join(b.TempDir(), "calls")
	w, err := Open(dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	for i := range 4000 {
		w.Append(Row{Outcome: OK, Upstream: "github", Tool: fmt.Sprint("get_issue", i), Session: NewID(time.Now()), ConfigHash: strings.Repeat("c", 71), Launch: strings.Repeat("l", 71)})
	}
	if err := w.Close(time.Minute); err != nil {
		b.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	fi, err := os.Stat(files[0])
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(fi.Size())
	filter, _ := ParseFilter("tool=*e77")
	for b.Loop() {
		if _, err := Scan(context.Background(), dir, Query{Filters: []Filter{filter}}, func([]byte) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
