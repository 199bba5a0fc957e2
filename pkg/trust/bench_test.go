package trust

import (
	"os"
	"testing"
	"time"
)

// BenchmarkDecision is what every call pays: the records, a Check, a Verify.
func BenchmarkDecision(b *testing.B) {
	w := newWorld(b)
	old := time.Now().Add(-time.Hour)
	for _, f := range []string{"srv.sh", "tools/server.js", "conf.json", "server.env"} {
		if err := os.Chtimes(w.path(f), old, old); err != nil {
			b.Fatal(err)
		}
	}
	w.allow(w.srv)
	b.Run("check", func(b *testing.B) {
		for b.Loop() {
			w.approved()
		}
	})
	a := w.approved()
	b.Run("verify", func(b *testing.B) {
		for b.Loop() {
			if err := a.Verify(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
