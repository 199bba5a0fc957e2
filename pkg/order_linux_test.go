package pkg

import (
	"encoding/json"
	"fmt"
	"testing"

	"postern/pkg/mcptest"
	"postern/pkg/wire"
)

// A server gets the calls of one session in the order in which the agent wrote
// them, as it would without a gateway: those of the burst that starts it, those that
// wait in its queue, and those that go through call_tool. Nobody is held up by a
// call that is refused on its way, that is not answered, or whose server does not
// start (R24).
func TestCallsKeepTheirOrder(t *testing.T) {
	for name, setting := range map[string]string{"many at a time": "max_concurrency: 64, queue: 1000", "one at a time": "max_concurrency: 1, queue: 1000"} {
		for _, args := range [][]string{nil, {"--no-hub"}, {"--exposure", "lazy"}} {
			t.Run(fmt.Sprint(name, args), func(t *testing.T) {
				s := newShared(t, "s [] "+setting, "other [] "+setting, "stuck [-fault, no-initialize] start_timeout: 5m", "mute [] timeout: 5m")
				s.run(0, "mcp-catalog", "refresh", "s", "other", "mute")
				a := s.agent(append([]string{"--list-wait", "0"}, args...)...)
				for _, tool := range []string{"stuck__echo", "mute__never"} {
					s.ask(a, tool, "")
				}
				var ids []string
				for i := range 200 {
					switch {
					case i%10 == 9:
						a.Request("tools/call", mcptest.CallParams("s__nothing", ""))
						a.Request("tools/call", `{"name":"s__echo","_meta":{"progressToken":1,"progressToken":2}}`)
					case len(args) > 0 && args[0] == "--exposure":
						ids = append(ids, a.Request("tools/call", mcptest.CallParams("call_tool", `{"name":"s__echo","arguments":`+s.unique("")+`}`)))
					default:
						ids = append(ids, s.ask(a, "s__echo", ""))
					}
					if i%3 == 0 {
						ids = append(ids, s.ask(a, "other__echo", ""))
					}
				}
				for _, id := range ids {
					s.wantAnswer(a, "", id)
				}
				for server, calls := range arrivals(t, s.events) {
					for i := 1; i < len(calls); i++ {
						if calls[i] < calls[i-1] {
							t.Fatalf("process %d got call %d before call %d", server, calls[i-1], calls[i])
						}
					}
				}
				s.stop(a)
			})
		}
	}
}

// arrivals are the numbers of the calls that each process got, in order.
func arrivals(t *testing.T, events string) map[int][]int {
	t.Helper()
	all := map[int][]int{}
	for _, e := range mcptest.Events(t, events, "recv") {
		m, err := wire.Parse([]byte(e.Data))
		if err != nil || m.Method != "tools/call" {
			continue
		}
		var p struct{ Arguments struct{ N int } }
		if err := json.Unmarshal(m.ParamsBytes(), &p); err != nil {
			t.Fatal(err)
		}
		all[e.PID] = append(all[e.PID], p.Arguments.N)
	}
	if len(all) == 0 {
		t.Fatal("no call was received")
	}
	return all
}
