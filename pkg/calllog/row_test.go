package calllog

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"postern/pkg/config"
)

func TestRowLine(t *testing.T) { // C80
	row := Row{
		V: 1, ID: "i", Writer: "w", Seq: 3, TS: time.Date(2026, 9, 3, 12, 0, 0, 5000, time.FixedZone("", 2*3600)),
		LatencyMS: 1.25, Claimed: &Claimed{Name: "a<b>&c"}, Tool: "quote\" line\n sep\u2028 bad\xff", Outcome: OK, RequestBytes: 7,
	}
	got, err := row.line()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"v":1,"id":"i","ts":"2026-09-03T10:00:00.000005000Z","writer":"w","seq":3,"latency_ms":1.25,"level":0,` +
		`"claimed":{"name":"a<b>&c"},"tool":"quote\" line\n sep\u2028 bad\ufffd","outcome":"ok","request_bytes":7,"response_bytes":0,"response_tokens_est":0}` + "\n"
	if string(got) != want {
		t.Errorf("got  %swant %s", got, want)
	}
}

// TestRowStrings fails for a text field that is not in the list of texts, which
// would then have no bound.
func TestRowStrings(t *testing.T) {
	row := Row{Claimed: &Claimed{}}
	fill(reflect.ValueOf(&row).Elem())
	for _, s := range row.strings() {
		*s = "short"
	}
	row.Outcome = ""
	if b, _ := row.encode(10); bytes.Contains(b, []byte("long")) {
		t.Errorf("a text is not in Row.strings: %s", b)
	}
}

// TestRowHasNoPlaceForBodies: no member could carry arguments, environment or
// results (C81, MB-218).
func TestRowHasNoPlaceForBodies(t *testing.T) {
	row := reflect.TypeOf(Row{})
	for i := range row.NumField() {
		name, _, _ := strings.Cut(row.Field(i).Tag.Get("json"), ",")
		for _, word := range []string{"args", "arguments", "env", "headers", "result", "response", "content", "error"} {
			if name == word {
				t.Errorf("a row has the member %s", name)
			}
		}
		if k := row.Field(i).Type.Kind(); k == reflect.Slice || k == reflect.Map || k == reflect.Interface {
			t.Errorf("the member %s has no bound", name)
		}
	}
}

func fill(v reflect.Value) {
	for i := range v.NumField() {
		f := v.Field(i)
		switch {
		case f.Kind() == reflect.String:
			f.SetString("long")
		case f.Kind() == reflect.Pointer:
			fill(f.Elem())
		}
	}
}

func TestRowIsBounded(t *testing.T) { // C80: 1 KiB a text, 64 KiB a row
	for _, unit := range []string{"x", "é", "日", "\x00", "\xff", "\u2028", `"`} {
		long := strings.Repeat(unit, 200_000)
		row := Row{Claimed: &Claimed{Name: long, Version: long}, Outcome: Outcome(long)}
		for _, s := range row.strings() {
			*s = long
		}
		line, err := row.line()
		if err != nil || len(line) > config.LogRowBytes || !json.Valid(line) || !utf8.Valid(line) || bytes.Count(line, []byte("\n")) != 1 {
			t.Fatalf("%q: %d bytes, %v", unit, len(line), err)
		}
		var back Row
		if err := json.Unmarshal(line, &back); err != nil {
			t.Fatal(err)
		}
		for _, s := range back.strings() {
			if n := len(strings.ReplaceAll(*s, "\uFFFD", "x")); n > config.LogStringBytes {
				t.Errorf("%q: a text of %d bytes", unit, n)
			}
		}
		if len(row.Claimed.Name) != len(long) {
			t.Error("the claim of the session was cut, not the row's copy")
		}
	}
}

func TestShorten(t *testing.T) {
	for _, tt := range []struct {
		in   string
		max  int
		want string
	}{
		{"abcdef", 6, "abcdef"},
		{"abcdefg", 6, "abc…"},
		{"aé日本", 8, "aé…"}, // never half a letter
		{"ééé", 5, "é…"},
	} {
		if got := shorten(tt.in, tt.max); got != tt.want || len(got) > tt.max {
			t.Errorf("%q to %d: %q, want %q", tt.in, tt.max, got, tt.want)
		}
	}
}

func TestNewID(t *testing.T) {
	at := time.Date(2026, 9, 3, 10, 0, 0, 0, time.UTC)
	var ids []string
	for i := range 1000 {
		ids = append(ids, NewID(at.Add(time.Duration(i)*time.Millisecond)))
	}
	if !slices.IsSorted(ids) {
		t.Error("ids do not sort by time")
	}
	same := map[string]bool{}
	for range 1000 {
		same[NewID(at)] = true
	}
	if len(same) != 1000 || len(ids[0]) != 26 {
		t.Errorf("%d of 1000 ids differ; %q", len(same), ids[0])
	}
}
