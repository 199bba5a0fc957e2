//go:build unix

package calllog

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"postern/pkg/config"
)

// lostRow is the row that a bridge writes.
func lostRow(id, ts string) string {
	return strings.Replace(row(id, ts), `"outcome":"ok"`, `"latency_ms":2000,"outcome":"upstream_error","word":"hub_lost"`, 1)
}

// C81: of two rows with one id the hub's is kept, whatever order and file they
// stand in and whatever is asked for.
func TestOfTwoRowsTheHubsIsKept(t *testing.T) {
	dir := logOf(t, map[string]string{
		"2026-09-01.jsonl": row("a", "01T10:00:00") + lostRow("b", "01T10:00:01") + row("b", "01T10:00:02") + lostRow("c", "01T10:00:01") +
			row("d", "01T12:00:00") + lostRow("d", "01T12:00:00") +
			strings.Replace(row("e", "01T12:01:00"), "ok", `ok","reason":"\"word\":\"hub_lost\"`, 1),
		"2026-09-01.1.jsonl": lostRow("f", "01T23:59:59"),
		"2026-09-02.jsonl":   row("f", "01T23:59:59.5") + lostRow("g", "02T00:00:00"),
		"2026-09-03.jsonl": lostRow("a", "03T00:00:00") + // another day: that is no twin
			row("h", "03T12:09:00") + strings.Replace(lostRow("h", "03T12:00:00"), "2000", "600000", 1), // the hub stood still for a while
	})
	lost, err := ParseFilter("word=hub_lost")
	if err != nil {
		t.Fatal(err)
	}
	failed, _ := ParseFilter("outcome=upstream_error")
	for _, tt := range []struct {
		name string
		q    Query
		want string
	}{
		{"all", Query{}, "a b c d e f g a h"},
		{"newest first", Query{Newest: true}, "h a g f e d c b a"},
		{"the newest four", Query{Limit: 4}, "f g a h"},
		{"lost ones", Query{Filters: []Filter{lost}}, "c g a"},
		{"failed ones, the newest two", Query{Filters: []Filter{failed}, Limit: 2}, "g a"},
		{"of an hour in which the hub's did not begin", Query{Since: at("01T10:00:01"), Until: at("01T10:00:02")}, "c"},
	} {
		if got, _ := scan(t, dir, tt.q); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Writers with files of their own, as on a network file system (C82).
func TestOfTwoRowsInTwoStreams(t *testing.T) {
	dir := logOf(t, map[string]string{
		"2026-09-01.host-1.jsonl": row("a", "01T10:00:00") + row("b", "01T10:00:03"),
		"2026-09-01.host-2.jsonl": lostRow("a", "01T10:00:00") + lostRow("c", "01T10:00:01"),
	})
	if got, _ := scan(t, dir, Query{}); got != "a b c" {
		t.Errorf("%q", got)
	}
}

// What comes later is looked at anew.
func TestFollowKeepsTheHubsRow(t *testing.T) {
	dir := logOf(t, map[string]string{"2026-09-01.jsonl": row("a", "01T10:00:00") + lostRow("a", "01T10:00:00") + lostRow("b", "01T10:00:01")})
	var got []string
	enough := errors.New("enough")
	added := false
	_, err := follow(context.Background(), dir, Query{}, func(row []byte) error {
		id, _ := idOfLost(row, strings.Contains(string(row), "hub_lost"))
		if got = append(got, id); id == "e" {
			return enough
		}
		return nil
	}, func() error {
		if !added {
			added = true
			appendTo(t, dir+"/2026-09-01.jsonl", row("c", "01T10:00:02")+lostRow("c", "01T10:00:02")+lostRow("d", "01T10:00:02")+row("e", "01T10:00:03"))
		}
		return nil
	}, time.Millisecond)
	if all := strings.Join(got, " "); err != enough || all != "a b c d e" {
		t.Errorf("%q, %v", all, err)
	}
}

// A log with such rows is whole; two rows of hubs, or of bridges, are not.
func TestVerifyOfTwoRows(t *testing.T) {
	bridge := func(id string, seq int, ts string) string {
		return strings.Replace(numbered(id, "bridge", seq, 0, ts), `"outcome":"ok"`, `"outcome":"upstream_error","word":"hub_lost"`, 1)
	}
	hub, lost := numbered("a", "hub", 1, 0, "01T10:00:00"), bridge("a", 1, "01T10:00:01")
	for _, tt := range []struct{ name, log, want string }{
		{"the hub's first", hub + lost, ""},
		{"the bridge's first", lost + hub, ""},
		{"two of bridges", lost + bridge("a", 2, "01T10:00:02"), "repeated"},
		{"two of hubs", hub + numbered("a", "hub", 2, 0, "01T10:00:01"), "repeated"},
	} {
		dir := logOf(t, map[string]string{"2026-09-01.jsonl": tt.log})
		if got := problems(t, dir); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A thousand calls lost at once cost two looks at the log, not a thousand.
func TestManyLostRowsAreLookedUpAtOnce(t *testing.T) {
	var log strings.Builder
	for n := range 1000 {
		log.WriteString(lostRow(NewID(at("01T10:00:00").Add(time.Duration(n))), "01T10:00:00"))
	}
	dir := logOf(t, map[string]string{"2026-09-01.jsonl": log.String()})
	s := &scanner{ctx: t.Context(), dir: dir, query: &Query{}, lost: &lost{}}
	first, _, _ := strings.Cut(log.String(), "\n")
	if hidden, err := s.hides([]byte(first)); hidden || err != nil {
		t.Fatal(hidden, err)
	}
	if len(s.lost.superseded) != 1000 {
		t.Errorf("%d are known", len(s.lost.superseded))
	}
	for id := range s.lost.superseded {
		s.lost.superseded[id] = true // what a second look would not find
	}
	for line := range strings.Lines(log.String()) {
		if hidden, err := s.hides([]byte(line)); !hidden || err != nil {
			t.Fatal("it was looked for again", err)
		}
	}
	if config.LogLossWindow < time.Minute {
		t.Error("calls of one hub may have begun minutes apart")
	}
}

func TestIsID(t *testing.T) {
	for text, want := range map[string]bool{NewID(time.Now()): true, "": false, "a": false, strings.Repeat("u", IDBytes): false,
		strings.Repeat("0", IDBytes): true, strings.Repeat("0", IDBytes+1): false, strings.Repeat("A", IDBytes): false} {
		if IsID(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
