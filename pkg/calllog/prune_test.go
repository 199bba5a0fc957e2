package calllog

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTooOld(t *testing.T) { // C83
	for _, tt := range []struct {
		name, files, today string
		days               int
		old                string
		held               int
	}{
		{"every day has rows", "08-30 08-31 09-01 09-02 09-03", "09-03", 2, "08-30 08-31", 0},
		{"several files a day count once", "08-01 08-02.1 09-02 09-02.1 09-02.h-7 09-03", "09-03", 7, "", 2},
		{"nothing is too old", "09-01 09-02", "09-03", 30, "", 0},
		{"one day is kept", "09-01 09-02 09-03", "09-03", 1, "09-01", 0},
		// The clock is far ahead: days are counted back from the newest before.
		{"a far future", "07-01 08-31 09-01 09-02", "12-24", 30, "07-01", 3},
		{"the second day there", "08-31 09-01 09-02 12-24", "12-25", 30, "", 3},
		{"the third day there", "08-31 09-01 09-02 12-24 12-25 12-26", "12-26", 30, "08-31 09-01 09-02", 0},
		{"after a long pause within a longer one", "01-01 01-02 06-01 06-02 06-03", "12-24", 30, "01-01 01-02", 3},
		{"two wrong clocks, each for a day", "01-01 01-02 06-01", "12-24", 30, "", 3},
		// The clock is behind, or was ahead once.
		{"the past", "08-31 09-01 09-02", "01-01", 30, "", 0},
		{"a day of the future stays and does not count", "07-01 09-02 12-24", "09-03", 30, "", 1},
		{"an empty log", "", "09-03", 30, "", 0},
	} {
		var files []dayFile
		for _, name := range strings.Fields(tt.files) {
			f, ok := parseDayFile("2026-" + name + ".jsonl")
			if !ok {
				t.Fatal(name)
			}
			files = append(files, f)
		}
		today, err := time.Parse(time.DateOnly, "2026-"+tt.today)
		if err != nil {
			t.Fatal(err)
		}
		old, held := tooOld(files, today, tt.days)
		var got []string
		for _, f := range old {
			got = append(got, strings.TrimSuffix(strings.TrimPrefix(f.name(), "2026-"), ".jsonl"))
		}
		if strings.Join(got, " ") != tt.old || held != tt.held {
			t.Errorf("%s: %v and %d held, want %s and %d", tt.name, got, held, tt.old, tt.held)
		}
	}
}

func TestPrune(t *testing.T) { // C83
	dir := logOf(t, map[string]string{"2026-08-01.jsonl": "x", "2026-08-01.host-3.1.jsonl": "", "2026-09-01.jsonl": "", "2026-09-02.jsonl": "", "2026-09-03.jsonl": ""})
	if err := os.MkdirAll(filepath.Join(dir, "2026-08-02.jsonl", "full"), 0o700); err != nil { // cannot be removed
		t.Fatal(err)
	}
	p, err := Prune(dir, noon, 30)
	if fmt.Sprint(p.Removed) != "[2026-08-01.jsonl 2026-08-01.host-3.1.jsonl]" || p.Held != 0 || err == nil {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := Prune(filepath.Join(dir, "none"), noon, 30); err != nil || len(p.Removed) != 0 {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := Prune(dir, noon, 0); err != nil || len(p.Removed) != 0 {
		t.Errorf("0 days keep all: %+v, %v", p, err)
	}
}

func TestFileNames(t *testing.T) { // C80, C82
	for name, ok := range map[string]bool{
		"2026-09-03.jsonl": true, "2026-09-03.12.jsonl": true, "2026-09-03.host-12.jsonl": true, "2026-09-03.ho-st_1-12.3.jsonl": true,
		"2026-09-03.0.jsonl": false, "2026-09-03.-1.jsonl": false, "2026-09-03.host-.jsonl": false, "2026-09-03.host-x.jsonl": false, "2026-09-03.3.host-1.jsonl": false,
		"2026-09-03.host.x-1.jsonl": false, "2026-02-30.jsonl": false, "2026-09-03.1.2.jsonl": false, "2026-09-03..jsonl": false, "2026-09-03.host-1.0.jsonl": false, "2026-09-03.é-1.jsonl": false,
	} {
		if f, got := parseDayFile(name); got != ok {
			t.Errorf("%s: %v %+v", name, got, f)
		}
	}
	for _, host := range []string{"", "a.b/c", "日本", strings.Repeat("x", 500), "-", "..", "Node-1"} {
		owner := ownerOf(host, 42)
		f := dayFile{day: at("03T00:00:00"), owner: owner, n: 1}
		if back, ok := parseDayFile(f.name()); !ok || back != f || len(f.name()) > 200 {
			t.Errorf("%q gives %s", host, f.name())
		}
	}
}

func FuzzFileNames(f *testing.F) {
	f.Add("2026-09-03.host-1.2.jsonl")
	f.Fuzz(func(t *testing.T, name string) {
		if d, ok := parseDayFile(name); ok && (d.name() != name || strings.ContainsAny(name, "/\\")) {
			t.Errorf("%q is read as %+v", name, d)
		}
	})
}
