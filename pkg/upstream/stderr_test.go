package upstream

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"postern/pkg/config"
)

// MB-047: what stands in a message is UTF-8 without control characters.
func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain\nlines":                        "plain\nlines",
		"a\tb\r\nc\x00\x07d\x7fe":             "a b\ncde",
		"\x1b[1;31mred\x1b[0m \x1b[2Kx":       "red x",
		"\x1b]0;title\x07after\x1b]8;;\x1b\\": "after",
		"\x1b(Bcharset \x1bMup":               "charset up",
		"half \x1b[":                          "half ",
		"bad \xff\xfe utf8 \xc3":              "bad \uFFFD utf8 \uFFFD",
		"c1 \u009b31m":                        "c1 31m",
		"ünïcode ☃":                           "ünïcode ☃",
	} {
		if got := clean(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestLastLines(t *testing.T) {
	for _, tc := range []struct {
		in   string
		max  int
		want string
	}{
		{"a\nb\n\n", 10, "a\nb"},
		{"first\nsecond\nthird", 13, "second\nthird"},
		{"first\nsecond\nthird", 14, "second\nthird"},
		{"one long line", 4, "line"},
		{"ééé", 3, "é"},
		{"", 5, ""},
	} {
		if got := lastLines(tc.in, tc.max); got != tc.want {
			t.Errorf("%q at %d: got %q, want %q", tc.in, tc.max, got, tc.want)
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"a\x1b[31mb", "\x1b]x\x1b\\", "\xff\n\x1b", "\x1b\x1b[[mm"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := lastLines(clean(s), 64)
		if len(got) > 64 || !utf8.ValidString(got) {
			t.Errorf("%q gave %q", s, got)
		}
		for _, r := range got {
			if r != '\n' && unicode.IsControl(r) {
				t.Errorf("%q gave %q", s, got)
			}
		}
	})
}

// The log begins anew before it is too long, and one old file is kept.
func TestStderrLogRotates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own", "demo.log")
	l := newStderrLog(path)
	chunk := strings.Repeat("x", 99) + "\n"
	for range 3 * config.StderrLogBytes / 2 / len(chunk) {
		l.add([]byte(chunk), []byte(chunk))
	}
	close(l.ended)
	l.finish(Teardown{Complete: true, Exit: "exit status 0"})
	l.note("nothing is written after the end")
	old, err := os.ReadFile(path + ".1")
	now, err2 := os.ReadFile(path)
	if err != nil || err2 != nil || len(old) > config.StderrLogBytes || len(old) < config.StderrLogBytes-200 {
		t.Fatalf("%d and %d bytes, %v, %v", len(old), len(now), err, err2)
	}
	if !strings.HasSuffix(string(now), " ended: exit status 0\n") || !strings.HasPrefix(string(now), "xxx") {
		t.Errorf("log ends %q", now[max(0, len(now)-80):])
	}
	if got := l.tail(); len(got) > config.StderrTail || !strings.HasPrefix(got, "xxx") {
		t.Errorf("tail of %d bytes", len(got))
	}
}

// C6: a log that cannot be written keeps no server from running; the last lines
// are there all the same.
func TestStderrLogUnwritable(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l := newStderrLog(filepath.Join(dir, "file", "demo.log"))
	l.drain(strings.NewReader("last words\n"))
	l.finish(Teardown{Reason: GroupSurvived, PGID: 7})
	if l.file != nil || l.tail() != "last words" {
		t.Errorf("file %v, tail %q", l.file, l.tail())
	}
}

// Stderr, noise and the end come from several goroutines.
func TestStderrLogConcurrent(t *testing.T) {
	l := newStderrLog(filepath.Join(t.TempDir(), "own", "demo.log"))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				l.noise([]byte(strings.Repeat("n", 20<<10)))
				l.tail()
			}
		})
	}
	l.drain(strings.NewReader(strings.Repeat("e", 1<<20)))
	wg.Wait()
	l.finish(Teardown{Complete: true})
	if len(l.recent) > recentBytes {
		t.Errorf("%d bytes in memory", len(l.recent))
	}
}
