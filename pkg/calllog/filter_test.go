package calllog

import (
	"errors"
	"strings"
	"testing"
)

func mustFilter(t *testing.T, arg string) Filter {
	t.Helper()
	f, err := ParseFilter(arg)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFilter(t *testing.T) {
	const line = `{"v":1,"ts":"2026-09-01T00:00:00Z","id":"x\u0041","caller":"bob","level":2,"project":null,"upstream":"github",` +
		`"tool":"get_issue","via":"","latency_ms":500.0,"outcome":"tool_error","session":{"a":1},"word":"é"}`
	for arg, want := range map[string]bool{
		"caller=bob": true, "caller=bo": false, "caller=al,bob": true, "caller=": false, "caller=B*": false, "caller=b*": true,
		"id=xA": true, `id=x\u0041`: false,
		"level=2": true, "level=1,2": true, "level=": false, "level=0": false,
		"project=": true, "project=*": true, "project=a": false, // null is not there
		"tool=get_*": true, "tool=???_issue": true, "tool=*_pr,*_issue": true, "tool=set_*": false,
		"via=": true, "step=": true, "step=decide": false,
		"outcome=ok,tool_error": true, "outcome=ok": false, "outcome=*error": true,
		"session=": false, "session=*": false, // no text
		"word=é": true, "word=?": true,
		"latency=500ms..": true, "latency=..500ms": false, "latency=..501ms": true, "latency=0.4s..0.5s": false, "latency=100ms..1s": true, "latency=0s..": true,
	} {
		m := newMatcher(&Query{Filters: []Filter{mustFilter(t, arg)}})
		if isRow, got := m.judge([]byte(line)); !isRow || got != want {
			t.Errorf("%s: %v, %v", arg, isRow, got)
		}
	}
	// Of several all must hold, also of one field.
	m := newMatcher(&Query{Filters: []Filter{mustFilter(t, "tool=get*"), mustFilter(t, "level=2"), mustFilter(t, "tool=*pr")}})
	if _, got := m.judge([]byte(line)); got {
		t.Error("one of three filters does not hold")
	}
}

func TestFilterErrors(t *testing.T) {
	for arg, want := range map[string]string{
		"github":            "NAME=VALUE",
		"tol=x":             `did you mean "tool"`,
		"server=x":          "upstream",
		"Tool=x":            `did you mean "tool"`,
		"=x":                "no such field",
		"args=x":            "no such field",
		"outcome=canceled":  `did you mean "cancelled"`,
		"outcome=":          "is no outcome",
		"outcome=ok,":       "is no outcome",
		"latency=500ms":     "interval",
		"latency=..":        "interval",
		"latency=5..":       "no duration",
		"latency=-1s..":     "no duration",
		"latency=2s..1s":    "empty",
		"latency=1s..1s":    "empty",
		"latency=1s..x":     "no duration",
		"latency=1s..2s..3": "no duration",
	} {
		_, err := ParseFilter(arg)
		var filter *FilterError
		if !errors.As(err, &filter) || filter.Arg != arg || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", arg, err, want)
		}
	}
}

func FuzzFilter(f *testing.F) {
	for _, arg := range []string{"tool=git*", "outcome=a,b", "latency=5ms..1s", "caller=", "x", "=", "latency=..", "word=\xff*?"} {
		f.Add(arg, `"text"`)
	}
	f.Add("level=1", "1e5")
	f.Add("id=*", `"\ud800"`)
	f.Fuzz(func(t *testing.T, arg, value string) {
		filter, err := ParseFilter(arg)
		if err != nil {
			var want *FilterError
			if !errors.As(err, &want) {
				t.Errorf("%T", err)
			}
			return
		}
		member := filter.member
		line := []byte(`{"v":1,"ts":"2026-09-01T00:00:00Z","` + member + `":` + value + `}`)
		if isRow, wanted := newMatcher(&Query{Filters: []Filter{filter}}).judge(line); wanted && !isRow {
			t.Errorf("%s is wanted and no row", line)
		}
	})
}

func FuzzRow(f *testing.F) {
	f.Add([]byte(`{"v":1,"ts":"2026-09-01T00:00:00Z","tool":"x"}`))
	f.Add([]byte(`{"v":1,"ts":"2026-09-01T00:00:00Z","tool":{"a":[1,2`))
	f.Add([]byte(`{"v":null,"ts":"","Tool":"x","tool":null}`))
	m := newMatcher(&Query{Filters: []Filter{{member: "tool", globs: []string{"x*"}}, {member: "latency_ms", interval: true, high: maxMillis}}})
	f.Fuzz(func(t *testing.T, line []byte) {
		if isRow, wanted := m.judge(line); wanted && !isRow {
			t.Errorf("%q is wanted and no row", line)
		}
	})
}
