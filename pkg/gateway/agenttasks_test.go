package gateway

import (
	"fmt"
	"strings"
	"testing"

	"postern/pkg/mcptest"
)

// What an agent says of a task that it has just answered with reaches the server
// that asked, behind the answer, however close the one follows the other.
func TestStatusFollowsTheAgentsTask(t *testing.T) {
	w := newWorld(t, strings.Replace(plainConfig, "command: $FAKE,", "command: $FAKE, shared: false,", 1), nil)
	a := w.connect(Options{})
	a.InitializeAs("2025-11-25", `{"elicitation":{},"tasks":{"requests":{"elicitation":{"create":{}}}}}`)
	const rounds = 30
	var want []string
	for n := range rounds {
		call := a.Request("tools/call", mcptest.CallParams("fake__ask", `{"method":"elicitation/create","params":{"message":"m","task":{}}}`))
		q := a.ExpectRequest("elicitation/create")
		// one write, so that the second line is there when the first is read
		a.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"task":{"taskId":"t%d","status":"working"}}}`+"\n"+
			`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"t%d","status":"completed"}}`, q.IDBytes(), n, n))
		a.Expect(call)
		want = append(want, fmt.Sprintf(`"taskId":"t%d","status":"working"`, n), fmt.Sprintf(`"taskId":"t%d","status":"completed"`, n))
	}
	if !mcptest.Eventually(func() bool { return w.count("notifications/tasks/status") == rounds }) {
		t.Fatalf("%d of %d came", w.count("notifications/tasks/status"), rounds)
	}
	for _, e := range mcptest.Events(t, w.path("events"), "recv") {
		if strings.Contains(e.Data, `"taskId"`) {
			if !strings.Contains(e.Data, want[0]) {
				t.Fatalf("%s came before %s", e.Data, want[0])
			}
			want = want[1:]
		}
	}
}
