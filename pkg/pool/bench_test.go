package pool

import (
	"testing"

	"postern/pkg/upstream"
)

// BenchmarkDo is what the pool adds to a call: no allocation, and no level, peer or
// subscription makes it one more.
func BenchmarkDo(b *testing.B) {
	w, f := fakeWorld(b)
	f.info = upstream.Info{Capabilities: logging}
	w.join("a").wants("info")
	i := w.get(w.approve(w.server()))
	call := toolCall("echo", "{}")
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := i.Do(b.Context(), "a", call); err != nil {
			b.Fatal(err)
		}
	}
}

// TestDoAllocatesNothing holds what BenchmarkDo says.
func TestDoAllocatesNothing(t *testing.T) {
	w, f := fakeWorld(t)
	f.info = upstream.Info{Capabilities: logging}
	w.join("a").wants("info")
	i := w.get(w.approve(w.server()))
	call := toolCall("echo", "{}")
	n := testing.AllocsPerRun(100, func() {
		if _, _, err := i.Do(t.Context(), "a", call); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
