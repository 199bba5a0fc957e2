package pkg

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"postern/pkg/wire"
)

// listed reads the list in the package documentation of pkg/gateway of what may
// be changed: its first two columns, joined by " | ".
func listed(t *testing.T) (entries []string) {
	t.Helper()
	doc, err := os.ReadFile("gateway/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, ok := strings.Cut(string(doc), "# What the gateway changes\n")
	if !ok {
		t.Fatal("pkg/gateway/doc.go has no list of what the gateway changes")
	}
	list, _, _ = strings.Cut(list, "\n// # ")
	columns := regexp.MustCompile(`  +`)
	for line := range strings.Lines(list) {
		line, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "//\t")
		if !ok || strings.HasPrefix(line, " ") {
			continue // prose, or the continuation of an entry
		}
		cells := columns.Split(line, 3)
		if len(cells) < 2 {
			t.Fatalf("no entry: %q", line)
		}
		entries = append(entries, cells[0]+" | "+cells[1])
	}
	return entries
}

// change is one entry of the list, as it may show in one message: undo takes it
// out of what was sent and what came, so that nothing of it is left in either.
type change struct {
	entry string
	undo  func(sent, came []byte) ([]byte, []byte)
}

// ledger compares messages and keeps which entries were seen at work.
type ledger struct {
	t       *testing.T
	entries []string
	used    map[string]bool
}

func newLedger(t *testing.T) *ledger {
	return &ledger{t: t, entries: listed(t), used: map[string]bool{}}
}

// same wants that what came is what was sent but for these changes.
func (l *ledger) same(what string, sent, came []byte, changes ...change) {
	l.t.Helper()
	s, c := sent, came
	for _, one := range changes {
		if !slices.Contains(l.entries, one.entry) {
			l.t.Errorf("%s: %q is not on the list", what, one.entry)
		}
		s2, c2 := one.undo(s, c)
		if !bytes.Equal(s, s2) || !bytes.Equal(c, c2) {
			l.used[one.entry] = true
		}
		s, c = s2, c2
	}
	if bytes.Equal(s, c) {
		return
	}
	at := 0
	for at < len(s) && at < len(c) && s[at] == c[at] {
		at++
	}
	l.t.Errorf("%s: other than it was sent, at %d\nsent %.200s\ncame %.200s", what, at, s[max(0, at-60):], c[max(0, at-60):])
}

// seen notes an entry that a test of its own showed at work.
func (l *ledger) seen(entry string) {
	l.t.Helper()
	if !slices.Contains(l.entries, entry) {
		l.t.Errorf("%q is not on the list", entry)
	}
	l.used[entry] = true
}

// unused are the entries that no row showed at work.
func (l *ledger) unused() (names []string) {
	for _, e := range l.entries {
		if !l.used[e] {
			names = append(names, e)
		}
	}
	return names
}

// replaced is a change of the value at a path.
func replaced(entry string, path ...string) change {
	return change{entry, func(sent, came []byte) ([]byte, []byte) {
		a, okA := find(sent, path)
		b, okB := find(came, path)
		if !okA || !okB || bytes.Equal(a.Of(sent), b.Of(came)) {
			return sent, came
		}
		return wire.Splice(sent, wire.Edit{Span: a, New: []byte(`"*"`)}), wire.Splice(came, wire.Edit{Span: b, New: []byte(`"*"`)})
	}}
}

// inserted is a member that was put where there was none, removed one that was
// taken out, and put one that was put in or replaced.
func inserted(entry string, path ...string) change {
	return change{entry, func(sent, came []byte) ([]byte, []byte) {
		if _, ok := find(sent, path); ok {
			return sent, came
		}
		return sent, without(came, path)
	}}
}

func removed(entry string, path ...string) change {
	return change{entry, func(sent, came []byte) ([]byte, []byte) {
		if _, ok := find(came, path); ok {
			return sent, came
		}
		return without(sent, path), came
	}}
}

func put(entry string, path ...string) change {
	return change{entry, func(sent, came []byte) ([]byte, []byte) {
		if _, ok := find(sent, path); ok {
			return replaced(entry, path...).undo(sent, came)
		}
		return sent, without(came, path)
	}}
}

// without takes the member at a path out, and with it its parent if that is empty
// then and was made for it.
func without(raw []byte, path []string) []byte {
	at, ok := find(raw, path)
	if !ok {
		return raw
	}
	name := []byte(`"` + path[len(path)-1] + `"`)
	from := bytes.LastIndex(raw[:at.Start], name)
	to := at.End
	switch {
	case to < len(raw) && raw[to] == ',':
		to++
	case from > 0 && raw[from-1] == ',':
		from--
	}
	return wire.Splice(raw, wire.Edit{Span: wire.Span{Start: from, End: to}})
}

// The tools of this test tell what they are for.
func TestLedger(t *testing.T) {
	tests := []struct {
		name, sent, came string
		changes          []change
		left             string
	}{
		{"nothing", `{"a":1.0}`, `{"a":1.0}`, nil, ""},
		{"a replaced value", `{"a":{"b":1}}`, `{"a":{"b":2}}`, []change{replaced("x | y", "a", "b")}, "x | y"},
		{"a member more", `{"a":{"b":1}}`, `{"a":{"c":2,"b":1}}`, []change{inserted("x | y", "a", "c")}, "x | y"},
		{"the last member more", `{"a":{}}`, `{"a":{"c":2}}`, []change{inserted("x | y", "a", "c")}, "x | y"},
		{"a member less", `{"b":1,"c":[]}`, `{"b":1}`, []change{removed("x | y", "c")}, "x | y"},
		{"put over another", `{"c":1}`, `{"c":2}`, []change{put("x | y", "c")}, "x | y"},
		{"allowed but not there", `{"c":1}`, `{"c":1}`, []change{put("x | y", "d"), replaced("x | y", "c")}, ""},
	}
	for _, tt := range tests {
		l := &ledger{t: t, entries: []string{"x | y"}, used: map[string]bool{}}
		l.same(tt.name, []byte(tt.sent), []byte(tt.came), tt.changes...)
		if got := len(l.unused()) == 0; got != (tt.left != "") {
			t.Errorf("%s: used %v", tt.name, l.used)
		}
	}
	if list := listed(t); len(list) < 20 || !slices.Contains(list, "request | params.name") {
		t.Errorf("the list: %q", list)
	}
}
