package hub

import (
	"slices"
	"testing"

	"postern/pkg/proc"
)

// Only what a keeper writes is a mark.
func TestParseMark(t *testing.T) {
	whole := mark{proc.ID{PID: 7, Start: 12}, 3, 4}
	if m, ok := parseMark(whole.String()); !ok || m != whole || whole.String() != "7.12.3.4" {
		t.Errorf("%s: %v, %v", whole, m, ok)
	}
	for _, text := range []string{
		"", "7.12.3", "7.12.3.", "7.12..4", "7.12.3.4.5", "7.12.2.4", "7.12.-3.4", "7.12.3.-4", "7.12.03.4",
		"7.12.3.x", "x.12.3.4", "7.12.3.4 ", "7.12.99999999999999999999.4", "0.12.3.4",
	} {
		if m, ok := parseMark(text); ok {
			t.Errorf("%q: %v", text, m)
		}
	}
}

func FuzzParseMark(f *testing.F) {
	f.Add("7.12.3.4")
	f.Add("7.12.3")
	f.Fuzz(func(t *testing.T, text string) {
		if m, ok := parseMark(text); ok && (m.String() != text || m.fd < 3 || m.keeper.PID < 1) {
			t.Errorf("%q: %v", text, m)
		}
	})
}

// A mark that this process inherited does not reach the next one beside its own.
func TestMarkIn(t *testing.T) {
	m := mark{proc.ID{PID: 7, Start: 12}, 3, 4}
	got := m.in([]string{"A=1", "POSTERN_KEEPER=9.9.9.9", "POSTERN_KEEPERS=x", "POSTERN_KEEPER=", "B="})
	if want := []string{"A=1", "POSTERN_KEEPERS=x", "B=", "POSTERN_KEEPER=7.12.3.4"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// A keeper that may not be looked at, as where /proc hides processes, is known by its
// pid: a process that did not know it would keep the next one, and so on without end.
func TestMarkBy(t *testing.T) {
	m := mark{proc.ID{PID: 7, Start: 12}, 3, 4}
	for parent, want := range map[proc.ID]bool{
		{PID: 7, Start: 12}: true, {PID: 7}: true,
		{PID: 7, Start: 13}: false, {PID: 8, Start: 12}: false, {PID: 8}: false, {}: false,
	} {
		if m.by(parent) != want {
			t.Errorf("by %v: %v", parent, !want)
		}
	}
	m.keeper.Start = 0
	if m.by(proc.ID{PID: 7, Start: 12}) || !m.by(proc.ID{PID: 7}) {
		t.Error("a mark without a start is believed of a parent that has one")
	}
}
