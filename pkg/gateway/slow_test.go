package gateway

import (
	"strings"
	"testing"
	"time"

	"postern/pkg/mcptest"
)

// The first list waits for a server that was never listed no longer than
// list-wait; the next session does not wait for it again, in this process or
// in another, and its tools are there once it has come up.
func TestListWaitIsPaidOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `version: 1
servers:
  good: {command: $FAKE, args: [-events, $WORK/events]}
  hangs: {command: $FAKE, args: [-events, $WORK/hangs, -fault, no-initialize], start_timeout: 1m}
`+allowAll, nil)
	const listWait = 1500 * time.Millisecond
	list := func() (names string, took time.Duration) {
		agent := w.connect(Options{ListWait: listWait})
		agent.Initialize()
		begin := time.Now()
		names = string(agent.Ask("tools/list", "{}"))
		return names, time.Since(begin)
	}
	want := func(which string, wait bool) {
		t.Helper()
		names, took := list()
		if !strings.Contains(names, `"good__echo"`) {
			t.Errorf("%s session: the good server's tools are not there", which)
		}
		if waited := took >= listWait-100*time.Millisecond; waited != wait {
			t.Errorf("%s session: the list took %v", which, took)
		}
	}
	want("first", true)
	want("second", false)
	w.restart()
	want("third", false)
	mcptest.WaitEvents(t, w.path("hangs"), "start", 2) // it is tried again all the same, for nobody
}
