package calllog

import (
	"bytes"
	"encoding/json"
	"errors"
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
	got := row.appendLine(nil)
	want := `{"v":1,"id":"i","ts":"2026-09-03T10:00:00.000005000Z","writer":"w","seq":3,"latency_ms":1.25,"level":0,` +
		`"claimed":{"name":"a<b>&c"},"tool":"quote\" line\n sep\u2028 bad\ufffd","outcome":"ok","request_bytes":7,"response_bytes":0,"response_tokens_est":0}` + "\n"
	if string(got) != want {
		t.Errorf("got  %swant %s", got, want)
	}
}

// TestRowIsEncodedWhole holds the encoding against encoding/json: a member that
// was added to Row and not to encode fails it.
func TestRowIsEncodedWhole(t *testing.T) {
	for _, filled := range []bool{false, true} {
		row := Row{TS: time.Date(2026, 9, 3, 10, 0, 0, 123456789, time.UTC)}
		if filled {
			row.Claimed = &Claimed{}
			fill(reflect.ValueOf(&row).Elem())
			row.Args = json.RawMessage(`{"a":[1,"\\u00e9"]}`)
		}
		want, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		var got, wanted map[string]any
		if err := errors.Join(json.Unmarshal(row.appendLine(nil), &got), json.Unmarshal(want, &wanted)); err != nil {
			t.Fatal(err)
		}
		got["ts"], wanted["ts"] = "", "" // nine digits always
		if !reflect.DeepEqual(got, wanted) {
			t.Errorf("got  %v\nwant %v", got, wanted)
		}
	}
}

// TestRowArgs: arguments can break neither the line nor its bounds (C80, MB-220).
func TestRowArgs(t *testing.T) {
	for args, kept := range map[string]bool{
		`{"a":"b\n"}`: true, `{}`: true, "": false, `{"a":`: false, "{\n}": false, `{"a":1}}`: false, `{},"x":{}`: false,
		`"` + strings.Repeat("x", config.LogArgsBytes) + `"`: false, "{\"a\":\"\xff\"}": true,
	} {
		line := (&Row{Args: json.RawMessage(args)}).appendLine(nil)
		if !json.Valid(line) || !utf8.Valid(line) || bytes.Count(line, []byte("\n")) != 1 || bytes.Contains(line, []byte(`"args":`)) != kept {
			t.Errorf("%.30q: %.200q", args, line)
		}
	}
}

// FuzzText holds the encoding of texts against encoding/json.
func FuzzText(f *testing.F) {
	f.Add("quote\" \\ line\n\r\t sep\u2028\u2029 bad\xff \x00\x1f\x7f 日本 \U0001F41B \xed\xa0\x80")
	f.Fuzz(func(t *testing.T, s string) {
		var want, got string
		marshalled, err := json.Marshal(s)
		if err := errors.Join(err, json.Unmarshal(marshalled, &want), json.Unmarshal(appendText(nil, s), &got)); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%q became %q, want %q", s, got, want)
		}
	})
}

func FuzzRowLine(f *testing.F) {
	f.Add("tool", "why\x00", []byte(`{"a":1}`), -1.5)
	f.Add("\xff\u2028", strings.Repeat("\x01", 2000), []byte("{}\n"), 1e300)
	f.Fuzz(func(t *testing.T, a, b string, args []byte, ms float64) {
		row := Row{V: Version, TS: noon, Tool: a, Reason: b, Args: args, LatencyMS: ms, QueueMS: ms, Claimed: &Claimed{Name: a, Version: b}}
		line := row.appendLine(nil)
		var back Row
		if err := json.Unmarshal(line, &back); err != nil || !utf8.Valid(line) || len(line) > config.LogRowBytes || bytes.Count(line, []byte("\n")) != 1 {
			t.Fatalf("%.200q: %v", line, err)
		}
		m := newMatcher(&Query{})
		if row, wanted := m.judge(bytes.TrimSuffix(line, []byte("\n"))); !row || !wanted {
			t.Errorf("not read back: %.200q", line)
		}
	})
}

// TestRowHasNoPlaceForBodies: no member could carry environment or results, and
// only args arguments (C81, MB-218).
func TestRowHasNoPlaceForBodies(t *testing.T) {
	row := reflect.TypeOf(Row{})
	for i := range row.NumField() {
		name, _, _ := strings.Cut(row.Field(i).Tag.Get("json"), ",")
		for _, word := range []string{"arguments", "env", "headers", "result", "response", "content", "error"} {
			if name == word {
				t.Errorf("a row has the member %s", name)
			}
		}
		if k := row.Field(i).Type.Kind(); (k == reflect.Slice && name != "args") || k == reflect.Map || k == reflect.Interface {
			t.Errorf("the member %s has no bound", name)
		}
	}
}

// fill gives every member a value.
func fill(v reflect.Value) {
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("text")
		case reflect.Pointer:
			fill(f.Elem())
		case reflect.Int:
			f.SetInt(7)
		case reflect.Uint64:
			f.SetUint(8)
		case reflect.Float64:
			f.SetFloat(9.25)
		}
	}
}

// texts are all the texts of a row.
func texts(v reflect.Value) []*string {
	var all []*string
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			all = append(all, f.Addr().Convert(reflect.TypeFor[*string]()).Interface().(*string))
		case reflect.Pointer:
			all = append(all, texts(f.Elem())...)
		}
	}
	return all
}

func TestRowIsBounded(t *testing.T) { // C80: 1 KiB a text, 64 KiB a row
	for _, unit := range []string{"x", "é", "日", "\x00", "\xff", "\u2028", `"`} {
		long := strings.Repeat(unit, 200_000)
		row := Row{Claimed: &Claimed{}, Args: json.RawMessage(`"` + strings.Repeat("a", config.LogArgsBytes-2) + `"`)}
		for _, s := range texts(reflect.ValueOf(&row).Elem()) {
			*s = long
		}
		line := row.appendLine(nil)
		if len(line) > config.LogRowBytes || !json.Valid(line) || !utf8.Valid(line) || bytes.Count(line, []byte("\n")) != 1 {
			t.Fatalf("%q: %d bytes", unit, len(line))
		}
		var back Row
		if err := json.Unmarshal(line, &back); err != nil {
			t.Fatal(err)
		}
		for _, s := range texts(reflect.ValueOf(&back).Elem()) {
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
