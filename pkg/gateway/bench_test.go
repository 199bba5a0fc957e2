package gateway

import (
	"testing"

	"postern/pkg/mcptest"
)

// BenchmarkCall is one call through the gateway to a real process and back.
func BenchmarkCall(b *testing.B) {
	w := newWorld(b, plainConfig, nil)
	a := w.connect(Options{})
	a.Initialize()
	id := a.Request("tools/call", mcptest.CallParams("fake__echo", `{"text":"x"}`))
	a.Expect(id)
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		a.Expect(a.Request("tools/call", mcptest.CallParams("fake__echo", `{"text":"x"}`)))
	}
}
