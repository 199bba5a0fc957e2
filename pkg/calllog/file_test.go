//go:build unix

package calllog

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// clock is a time that a test moves, between rows only.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func TestClockJumps(t *testing.T) { // C80, C83, faults: clock jumps
	dir := logOf(t, map[string]string{"2026-08-30.jsonl": "", "2026-08-31.jsonl": "", "2026-09-01.jsonl": "", "2026-09-02.jsonl": ""})
	c := &clock{noon}
	w := open(t, dir, Options{Days: 30, Now: c.now})
	for i, jump := range []time.Duration{
		0, -30 * time.Second, // steps of a clock that is kept in time
		time.Hour, -2 * time.Hour, // the rows of each file stay in order
		100 * 24 * time.Hour, 24 * time.Hour, // far ahead: no day is removed
		-101 * 24 * time.Hour, -1000 * 24 * time.Hour,
	} {
		c.at = c.at.Add(jump)
		put(t, w, Row{Outcome: OK, Tool: fmt.Sprint(i)})
	}
	const want = "[2023-12-08.jsonl 2026-08-30.jsonl 2026-08-31.jsonl 2026-09-01.jsonl 2026-09-02.jsonl 2026-09-03.1.jsonl 2026-09-03.jsonl 2026-12-12.jsonl 2026-12-13.jsonl]"
	if got := names(t, dir); got != want {
		t.Errorf("files %s\nwant  %s", got, want)
	}
	for name, rows := range map[string]int{"2026-09-03.jsonl": 3, "2026-09-03.1.jsonl": 2, "2026-12-12.jsonl": 1} {
		if n := strings.Count(file(t, dir, name), "\n"); n != rows {
			t.Errorf("%s has %d rows, want %d", name, n, rows)
		}
	}
	// A process that starts after the clock went back sees it by the last row.
	c.at = noon.Add(-3 * time.Hour)
	put(t, open(t, dir, Options{Now: c.now}), Row{Outcome: OK})
	if got := file(t, dir, "2026-09-03.2.jsonl"); strings.Count(got, "\n") != 1 {
		t.Errorf("%q", got)
	}
}

// TestOneWriterSeesTheOthersClock: also one that was idle when it went back.
func TestOneWriterSeesTheOthersClock(t *testing.T) {
	dir := logDir(t)
	ahead, behind := &clock{noon.Add(time.Hour)}, &clock{noon}
	idle := open(t, dir, Options{Now: behind.now})
	put(t, open(t, dir, Options{Now: ahead.now}), Row{Outcome: OK})
	put(t, idle, Row{Outcome: OK})
	if got := names(t, dir); got != "[2026-09-03.1.jsonl 2026-09-03.jsonl]" {
		t.Error(got)
	}
}

func TestOwnFilesOnANetwork(t *testing.T) { // C82
	dir := logDir(t)
	network := func(string) bool { return true }
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	stem := "2026-09-03." + ownerOf(host, os.Getpid())
	w := open(t, dir, Options{Network: network, MaxFile: 1 << 10})
	put(t, w, Row{Outcome: OK})
	// The same number on the same host is not the same writer: a container, or
	// a number that is given again.
	w2 := open(t, dir, Options{Network: network})
	put(t, w2, Row{Outcome: OK})
	for range 8 {
		put(t, w, Row{Outcome: OK}) // goes on in a next file by size
	}
	unused, err := Open(dir, Options{Network: network, Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	if err := unused.Close(patience); err != nil {
		t.Error(err)
	}
	writers := map[string]string{}
	for _, r := range rows(t, dir) {
		writers[r.Writer] += "."
	}
	if len(writers) != 2 || len(rows(t, dir)) != 10 {
		t.Errorf("%v", writers)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < 3 {
		t.Fatalf("%d files, %v", len(entries), err)
	}
	for _, e := range entries {
		mixed := 0
		for writer := range writers {
			if strings.Contains(file(t, dir, e.Name()), writer) {
				mixed++
			}
		}
		if !strings.HasPrefix(e.Name(), stem) || mixed != 1 {
			t.Errorf("%s has %d writers", e.Name(), mixed)
		}
	}
	if got := problems(t, dir); got != "" {
		t.Error(got)
	}
}

// TestOwnFilesAreReadAsOne: rows of several writers' files come in the order in
// which the calls ended, forwards, backwards and with a limit.
func TestOwnFilesAreReadAsOne(t *testing.T) { // C82
	dir := logOf(t, map[string]string{
		"2026-09-01.jsonl":         row("a", "01T10:00:00"),
		"2026-09-02.jsonl":         row("b", "02T10:00:00") + row("g", "02T15:00:00"),
		"2026-09-02.1.jsonl":       row("i", "02T17:00:00"),
		"2026-09-02.h-1.jsonl":     row("c", "02T11:00:00") + row("f", "02T14:00:00"),
		"2026-09-02.h-1.1.jsonl":   row("h", "02T16:00:00"),
		"2026-09-02.other-2.jsonl": row("d", "02T12:00:00") + "torn\n" + row("e", "02T13:00:00") + row("j", "02T18:00:00"),
		"2026-09-02.x-9.jsonl":     "",
		"2026-09-03.h-1.jsonl":     row("k", "03T10:00:00"),
	})
	for _, tt := range []struct {
		q    Query
		want string
	}{
		{Query{}, "a b c d e f g h i j k"},
		{Query{Newest: true}, "k j i h g f e d c b a"},
		{Query{Limit: 4}, "h i j k"},
		{Query{Limit: 8}, "d e f g h i j k"},
		{Query{Limit: 4, Newest: true}, "k j i h"},
		{Query{Limit: 100}, "a b c d e f g h i j k"},
		{Query{Since: at("02T13:00:00"), Until: at("02T17:00:00")}, "e f g h"},
		{Query{Filters: []Filter{mustFilter(t, "id=c,i,k")}, Limit: 2}, "i k"},
	} {
		if got, stats := scan(t, dir, tt.q); got != tt.want || stats.Skipped > 1 {
			t.Errorf("%+v: %q, want %q, %+v", tt.q, got, tt.want, stats)
		}
	}
}

// TestThousandFilesAreReadWithFewDescriptors: most writers on a network are
// short, and their files are opened one after the other.
func TestThousandFilesAreReadWithFewDescriptors(t *testing.T) {
	dir := logDir(t)
	for i := range 1500 {
		ts := at("02T10:00:00").Add(time.Duration(i) * 10 * time.Second)
		content := row(fmt.Sprint(i), ts.Format("02T15:04:05"))
		path := filepath.Join(dir, fmt.Sprintf("2026-09-02.h-%d.jsonl", i))
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, ts, ts); err != nil {
			t.Fatal(err)
		}
	}
	for _, newest := range []bool{false, true} {
		most := 0
		_, err := Scan(t.Context(), dir, Query{Newest: newest}, func([]byte) error {
			if open, err := os.ReadDir("/dev/fd"); err == nil {
				most = max(most, len(open))
			}
			return nil
		})
		if err != nil || most > 100 {
			t.Errorf("newest first %v: %d descriptors, %v", newest, most, err)
		}
	}
}
