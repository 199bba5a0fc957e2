package upstream

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"
	"unicode"
	"unicode/utf8"

	"postern/pkg/config"
	"postern/pkg/secret"
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
		"bidi \u202eevil\u200b\ufeff":         "bidi evil",
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
	l := newStderrLog(path, nil)
	chunk := strings.Repeat("x", 99) + "\n"
	for range 3 * config.StderrLogBytes / 2 / len(chunk) {
		l.add(chunk[:99], chunk)
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
	l := newStderrLog(filepath.Join(dir, "file", "demo.log"), nil)
	l.drain(strings.NewReader("last words\n"))
	l.finish(Teardown{Reason: GroupSurvived, PGID: 7})
	if l.tail() != "last words" {
		t.Errorf("tail %q", l.tail())
	}
}

// Stderr, noise and the end come from several goroutines.
func TestStderrLogConcurrent(t *testing.T) {
	l := newStderrLog(filepath.Join(t.TempDir(), "own", "demo.log"), nil)
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

// MB-047, MB-218: neither the file nor the tail holds a secret, in whatever pieces
// it comes; the exit is told all the same.
func TestStderrWithoutSecrets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own", "demo.log")
	r := &secret.Redactor{}
	r.Add("key-0123456789", "first of two\nsecond of two")
	l := newStderrLog(path, r)
	text := "\x1b[31mAPI_KEY is key-0123456789\x1b[0m\n\xff base64 a2V5LTAxMjM0NTY3ODk= \nfirst of two\nsecond of two\n" +
		"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADAN\n-----END PRIVATE KEY-----\n" + `{"password":"hunter2"}` + "\nthe last line key-01234"
	l.drain(iotest.OneByteReader(strings.NewReader(text)))
	l.noise([]byte("noise key-0123456789 " + strings.Repeat("x", recentBytes-30) + "key-0123456789"))
	l.finish(Teardown{Complete: true, Exit: "exit status 7"})
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, kept := range []string{string(file), l.tail()} {
		for _, bad := range []string{"0123456789", "MDEyMzQ", "MIIE", "hunter2", "of two"} {
			if strings.Contains(kept, bad) {
				t.Errorf("%s is left in %q", bad, kept)
			}
		}
	}
	for _, want := range []string{"API_KEY is [redacted:value]", "base64 [redacted:value]= \n", "the last line key-01234\n", "noise [redacted:value] xxx", "ended: exit status 7\n"} {
		if !strings.Contains(string(file), want) {
			t.Errorf("no %q in %q", want, file)
		}
	}
}

// The line that has not ended is in the tail, and a value that may be about to
// come is not.
func TestOpenLine(t *testing.T) {
	r := &secret.Redactor{}
	r.Add("key-0123456789")
	l := newStderrLog("", r)
	now := time.Now()
	l.take([]byte("password for key-0123"), now)
	if got := l.tail(); got != "password for [redacted:value]" {
		t.Errorf("%q", got)
	}
	l.take([]byte("999 asked\n"), now)
	if got := l.tail(); got != "password for key-0123999 asked" {
		t.Errorf("%q", got)
	}
}

// Of a line that is too long, and of a flood, the first is kept, and no end of a
// value stands at the beginning of what comes after.
func TestStderrIsBounded(t *testing.T) {
	r := &secret.Redactor{}
	r.Add("key-0123456789")
	l := newStderrLog("", r)
	now := time.Now()
	l.take([]byte(strings.Repeat("x", config.StderrLine-5)+"key-0123456789 and more\nnext\n"), now)
	if got := string(l.recent); !strings.HasSuffix(got, "x[redacted:value][cut:18]\nnext\n") {
		t.Errorf("%.100q", got[max(0, len(got)-100):])
	}
	l.kept = config.StderrPerSecond - len("open key-01")
	l.take([]byte("open key-01"), now)
	l.take([]byte("23456789 lost\nlost too"), now)
	l.take([]byte("456789\nback\n"), now.Add(time.Second))
	if got := string(l.recent); !strings.Contains(got, "open [redacted:value]") || !strings.HasSuffix(got, "]\nback\n") || strings.Contains(got, "456789") || strings.Contains(got, "lost") {
		t.Errorf("%.200q", got)
	}
}

// R42: the last line is told as long as nobody's call was answered.
func TestExplained(t *testing.T) {
	for stderr, want := range map[string]string{
		"":                                   "server s: initialize: the server ended: exit status 7",
		"a\nlast words\n":                    "server s: initialize: the server ended: exit status 7; the last it wrote: last words",
		" \n ":                               "server s: initialize: the server ended: exit status 7",
		strings.Repeat("y", 500) + "é" + "z": "server s: initialize: the server ended: exit status 7; the last it wrote: …" + strings.Repeat("y", 297) + "éz",
	} {
		f := &Failure{Word: Closed, Server: "s", Phase: "initialize", Detail: "the server ended: exit status 7", Exit: "exit status 7", Stderr: strings.TrimRight(stderr, "\n")}
		if got := f.Explained(); got != want {
			t.Errorf("%q: %q", stderr, got)
		}
	}
}
