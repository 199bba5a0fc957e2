package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"postern/pkg/catalog"
	"postern/pkg/cmdmain"
)

// S4: what is shown of JSON means the same and cannot act on a terminal.
func TestVisible(t *testing.T) {
	text := "a\u202eb\u200b\u0085\u009b31m\U000e0041 \u00e9 \U0001f600 \x7f"
	line, err := json.Marshal(map[string]string{text: text})
	if err != nil {
		t.Fatal(err)
	}
	shown := visible(line)
	if s := string(shown); cmdmain.Printable(s) != s {
		t.Errorf("%q can act on a terminal", s)
	}
	if !strings.Contains(string(shown), "é") || !strings.Contains(string(shown), `\u202e`) {
		t.Errorf("shown as %s", shown)
	}
	var back map[string]string
	if err := json.Unmarshal(shown, &back); err != nil || !reflect.DeepEqual(back, map[string]string{text: text}) {
		t.Errorf("it became %q, %v", back, err)
	}
}

func FuzzVisible(f *testing.F) {
	for _, s := range []string{`{"a":"\u001b"}`, "\"\u202e\"", "[1e400, 1.0]", "\"\U000e0041\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var want, got any
		if json.Unmarshal([]byte(s), &want) != nil {
			return
		}
		shown := visible([]byte(s))
		for line := range strings.SplitSeq(string(shown), "\n") {
			// White space between values may be a tab or a CR; they are escaped
			// into something that is no JSON, and no server's line has them.
			if cmdmain.Printable(line) != line {
				t.Errorf("%q can act on a terminal", line)
			}
		}
		if strings.ContainsAny(s, "\t\r") {
			return
		}
		if err := json.Unmarshal(shown, &got); err != nil || !reflect.DeepEqual(want, got) {
			t.Errorf("%q became %q, %v", s, shown, err)
		}
	})
}

// Values keep their bytes: numbers a double cannot hold, order, spelling.
func TestWithRaw(t *testing.T) {
	got, err := withRaw(struct {
		A string `json:"a"`
	}{"<é>"}, member{"b", []byte(`{"n":1e400, "big":12345678901234567890}`)}, member{"none", nil})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"a":"<é>","b":{"n":1e400, "big":12345678901234567890}}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 59 * time.Second: "59s", time.Minute: "1m", 59 * time.Minute: "59m",
		time.Hour: "1h", 47 * time.Hour: "47h", 48 * time.Hour: "2d", 400 * time.Hour: "16d",
	} {
		if got := age(d); got != want {
			t.Errorf("%s is shown as %s, want %s", d, got, want)
		}
	}
}

func TestChanges(t *testing.T) {
	c := catalog.Change{Added: []string{"a", "\x1b[2J"}, Removed: []string{"b"}, Changed: []string{"c"}}
	if got, want := changes(c), `+a +\u{1b}[2J -b ~c`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	long := catalog.Change{Added: strings.Split(strings.Repeat("tool ", 200), " ")}
	if n := len([]rune(changes(long))); n > changesWidth+20 {
		t.Errorf("a cell of %d characters", n)
	}
}

func TestOneLine(t *testing.T) {
	for _, tt := range []struct{ description, title, want string }{
		{"One.\nTwo.", "T", "One."},
		{"\n\n  Three \r\nFour", "T", "Three"},
		{"", "T", "T"},
		{" \n ", "T", "T"},
		{"", "", ""},
	} {
		if got := oneLine(&catalog.Tool{Description: tt.description, Title: tt.title}); got != tt.want {
			t.Errorf("%q, %q: %q, want %q", tt.description, tt.title, got, tt.want)
		}
	}
}
