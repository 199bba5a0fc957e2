package pkg

import (
	"encoding/json"
	"fmt"
	"syscall"
	"testing"
	"time"

	"postern/pkg/mcptest"
)

// pidOf asks a server which process it is.
func pidOf(t *testing.T, agent *mcptest.Agent, server string) int {
	t.Helper()
	var result struct {
		StructuredContent struct{ PID int }
	}
	if err := json.Unmarshal(agent.Call(server+"__env", "{}"), &result); err != nil || result.StructuredContent.PID == 0 {
		t.Fatalf("%v, %+v", err, result)
	}
	return result.StructuredContent.PID
}

// MB-021: the gateway is suspended, and one of eight servers dies meanwhile.
// When it goes on, the first call of that server is served by another process,
// and the other seven are what they were.
func TestMB021Suspended(t *testing.T) {
	h := newHome(t)
	agent, owner := eight(h, "")
	before := map[string]int{}
	for i := range 8 {
		before[fmt.Sprint("s", i)] = pidOf(t, agent, fmt.Sprint("s", i))
	}
	mcptest.Signal(t, syscall.SIGSTOP, owner)
	mcptest.Signal(t, syscall.SIGKILL, before["s3"])
	time.Sleep(time.Second) // the subject: time passes that the gateway does not see
	mcptest.Signal(t, syscall.SIGCONT, owner)
	for i := range 8 {
		server := fmt.Sprint("s", i)
		if pid := pidOf(t, agent, server); (pid != before[server]) != (server == "s3") {
			t.Errorf("%s was process %d and is %d", server, before[server], pid)
		}
	}
	if n := len(mcptest.Events(t, h.path("events"), "start")); n != 9 {
		t.Errorf("%d starts", n)
	}
	agent.Hangup()
	wantNone(t, owner)
}
