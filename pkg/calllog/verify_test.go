package calllog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"postern/pkg/config"
)

// problems verifies a log of noon's time and returns what was found, as "order
// missing".
func problems(t *testing.T, dir string) string {
	t.Helper()
	return problemsAt(t, dir, noon)
}

func problemsAt(t *testing.T, dir string, now time.Time) string {
	t.Helper()
	var found []string
	v, err := Verify(context.Background(), dir, now, false, func(f Finding) error {
		found = append(found, string(f.Problem))
		return nil
	})
	if err != nil || v.Problems != len(found) {
		t.Errorf("%+v, %v", v, err)
	}
	slices.Sort(found)
	return strings.Join(found, " ")
}

// numbered is row as one of a writer's.
func numbered(id, writer string, seq, dropped int, ts string) string {
	text := strings.Replace(row(id, ts), `"outcome"`, fmt.Sprintf(`"latency_ms":0,"writer":%q,"seq":%d,"outcome"`, writer, seq), 1)
	if dropped > 0 {
		text = strings.Replace(text, "}", fmt.Sprintf(`,"dropped":%d}`, dropped), 1)
	}
	return text
}

func TestVerify(t *testing.T) {
	old, young := NewID(at("01T00:00:00").AddDate(0, -1, 0)), NewID(at("02T00:00:00"))
	a, b, c := numbered("a", "w", 1, 0, "01T10:00:00"), numbered("b", "w", 2, 0, "01T10:00:01"), numbered("c", "w", 3, 0, "01T10:00:02")
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"nothing", nil, ""},
		{"whole", map[string]string{"2026-09-01.jsonl": a + "\n" + b + c}, ""},
		{"by size", map[string]string{"2026-09-01.jsonl": a, "2026-09-01.1.jsonl": b, "2026-09-01.2.jsonl": c}, ""},
		{"a row between", map[string]string{"2026-09-01.jsonl": a + c}, "missing"},
		{"the first row", map[string]string{"2026-09-01.jsonl": b + c}, ""}, // nobody knows when w began
		{"of one who began in this time", map[string]string{"2026-09-01.jsonl": a, "2026-09-02.jsonl": numbered("d", young, 2, 0, "02T10:00:00")}, "missing"},
		{"removed days", map[string]string{"2026-09-01.jsonl": numbered("d", old, 700, 0, "01T10:00:00") + numbered("e", old, 701, 0, "01T10:00:00")}, ""},
		{"dropped", map[string]string{"2026-09-01.jsonl": a + numbered("d", "w", 5, 3, "01T10:00:00")}, "dropped"},
		{"dropped and missing", map[string]string{"2026-09-01.jsonl": a + numbered("d", "w", 5, 1, "01T10:00:00")}, "missing"},
		{"dropped before the first", map[string]string{"2026-09-01.jsonl": numbered("d", young, 4, 3, "01T10:00:00")}, "dropped"},
		{"exchanged", map[string]string{"2026-09-01.jsonl": a + c + b}, "missing order"},
		{"twice", map[string]string{"2026-09-01.jsonl": a + b + b + c}, "order repeated"},
		{"twice over midnight", map[string]string{"2026-09-01.jsonl": a, "2026-09-02.jsonl": numbered("a", "v", 1, 0, "02T10:00:00")}, "repeated"},
		{"in time enough", map[string]string{"2026-09-01.jsonl": numbered("a", "w", 1, 0, "01T10:00:50") + b + c}, ""},
		{"out of time", map[string]string{"2026-09-01.jsonl": numbered("a", "w", 1, 0, "01T10:05:00") + b + c}, "order order"},
		{"another day", map[string]string{"2026-09-01.jsonl": a + numbered("d", "w", 2, 0, "02T10:00:00") + numbered("c", "w", 3, 0, "01T10:00:03")}, "date"},
		{"written after midnight", map[string]string{"2026-09-02.jsonl": numbered("d", "w", 1, 0, "01T23:59:30")}, ""},
		{"a future day", map[string]string{"2026-09-05.jsonl": numbered("d", "w", 1, 0, "05T23:59:30")}, "future"},
		{"damage", map[string]string{"2026-09-01.jsonl": a + "\x00\x00\n" + b + `{"v":1` + "\n" + c}, "damaged damaged"},
		{"torn", map[string]string{"2026-09-01.jsonl": a + b + `{"v":1,`, "2026-09-01.1.jsonl": strings.TrimSuffix(c, "\n")}, "torn torn"},
		{"of nobody", map[string]string{"2026-09-01.jsonl": row("d", "01T10:00:00")}, "missing"},
		{"long", map[string]string{"2026-09-01.jsonl": a + strings.Repeat("x", 2*config.LogLineBytes) + "\n" + b}, "damaged"},
	} {
		if got := problems(t, logOf(t, tt.files)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestRepair: only what a last line lacks is added, and no byte is lost.
func TestRepair(t *testing.T) { // C82, MB-223
	whole := numbered("a", "w", 1, 0, "01T10:00:00")
	files := map[string]string{
		"2026-09-01.jsonl":     whole + "no row\n" + strings.TrimSuffix(numbered("b", "w", 2, 0, "01T10:00:00"), "\n"),
		"2026-09-01.h-1.jsonl": `{"v":1,"id":"` + "é"[:1],
		"2026-09-02.jsonl":     "",
	}
	dir := logOf(t, files)
	repaired := 0
	v, err := Verify(context.Background(), dir, noon, true, func(f Finding) error {
		if f.Repaired {
			repaired++
		}
		return nil
	})
	if err != nil || repaired != 2 || v != (Verdict{Files: 3, Rows: 2, Problems: 1}) {
		t.Errorf("%d repaired, %+v, %v", repaired, v, err)
	}
	for name, before := range files {
		after, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || before != "" && string(after) != before+"\n" || before == "" && len(after) > 0 {
			t.Errorf("%s is %q, %v", name, after, err)
		}
	}
	if got := problems(t, dir); got != "damaged damaged" {
		t.Errorf("afterwards: %s", got)
	}
}

func TestVerifyStops(t *testing.T) {
	dir := logOf(t, map[string]string{"2026-09-01.jsonl": "x\n" + row("a", "01T10:00:00"), "2026-12-01.jsonl": "y"})
	no := errors.New("no")
	for n := range 4 {
		_, err := Verify(context.Background(), dir, noon, false, func(Finding) error {
			if n--; n < 0 {
				return no
			}
			return nil
		})
		if !errors.Is(err, no) {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Verify(ctx, dir, noon, false, func(Finding) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// FuzzVerify: any content is judged, nothing is changed, and what is found lies
// in the file.
func FuzzVerify(f *testing.F) {
	f.Add([]byte(numbered("a", "w", 1, 0, "01T10:00:00") + "x\n\n"))
	f.Add([]byte(`{"v":1,"id":1,"ts":"2026-09-01T00:00:00Z","writer":"w","seq":-1,"dropped":1e9,"latency_ms":1e400}`))
	f.Add([]byte(`{"v":1,"ts":"2026-09-01T00:00:00Z","writer":"w","seq":18446744073709551615,"dropped":18446744073709551615}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := logOf(t, map[string]string{"2026-09-01.jsonl": string(data)})
		_, err := Verify(context.Background(), dir, time.Now(), false, func(f Finding) error {
			if f.Offset < 0 || f.Offset > int64(len(data)) {
				t.Errorf("%+v of %d bytes", f, len(data))
			}
			return nil
		})
		after, readErr := os.ReadFile(filepath.Join(dir, "2026-09-01.jsonl"))
		if err != nil || readErr != nil || string(after) != string(data) {
			t.Errorf("%v, %v", err, readErr)
		}
	})
}
