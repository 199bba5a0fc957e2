package gateway

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"postern/pkg/mcptest"
)

// R80: sessions that leave with everything open, questions, streams, subscriptions,
// tasks and calls, leave no goroutine and no descriptor behind.
func TestNothingIsLeftOfSessions(t *testing.T) {
	conf := strings.Replace(moreConfig, "\npolicies:", "\n  own: {command: $FAKE, args: [-more], shared: false}\n  new: {command: $FAKE, args: [-more, -era, modern]}\npolicies:", 1)
	w := newWorld(t, conf, nil)
	warm := w.connect(Options{})
	warm.Initialize()
	for _, id := range []string{"fake", "new"} {
		warm.Call(id+"__echo", "{}")
	}
	descriptors := func() int {
		all, _ := os.ReadDir("/proc/self/fd") // none elsewhere
		return len(all)
	}
	goroutines, fds := runtime.NumGoroutine(), descriptors()
	for range 5 {
		var all []*mcptest.Agent
		for n := range 4 {
			a := w.connect(Options{})
			all = append(all, a)
			a.InitializeAs("2025-11-25", `{"elicitation":{},"roots":{},"sampling":{}}`)
			for range 3 {
				a.Request("tools/call", mcptest.CallParams("own__ask", askElicit))
				a.ExpectRequest("elicitation/create")
			}
			a.Request("tools/call", mcptest.CallParams("new__rounds", `{"requests":{"q":{"method":"elicitation/create","params":{"message":"m"}}}}`))
			a.ExpectRequest("elicitation/create")
			a.Ask("resources/subscribe", fmt.Sprintf(`{"uri":"fake://item/%d"}`, n))
			a.Request("subscriptions/listen", `{"notifications":{"resourceSubscriptions":["fake://text","postern+new:fake://text"],"toolsListChanged":true},"_meta":{`+strings.TrimPrefix(strings.TrimSuffix(introduced(""), "}"), `{"_meta":{`)+`}`)
			a.Request("tools/call", mcptest.CallParams("fake__never", "{}"))
		}
		for _, a := range all {
			a.Hangup()
		}
	}
	if !mcptest.Eventually(func() bool { return runtime.NumGoroutine() <= goroutines && descriptors() <= fds }) {
		buf := make([]byte, 1<<20)
		t.Errorf("%d goroutines of %d, %d descriptors of %d\n%s", runtime.NumGoroutine(), goroutines, descriptors(), fds, buf[:runtime.Stack(buf, true)])
	}
}
