package call

import (
	"context"
	"testing"

	"postern/pkg/mcptest"
)

// A call that has its place before a server and is refused after all lets go those
// behind it: here the running server does not list it any more.
func TestOrderGoesOnAfterARefusal(t *testing.T) {
	w := newWorld(t, changing, map[string]string{"tools": "[" + definition("get", true) + "," + definition("stays", true) + "]"})
	w.list(false, "fake")
	w.restart()
	w.write("tools", "["+definition("stays", true)+"]")
	s := w.session(false)
	gone, stays := tool("fake__get", "{}"), tool("fake__stays", "{}")
	gone.Ticket, stays.Ticket = s.Ticket(), s.Ticket()
	w.refused(s, gone, UnknownTool)
	ctx, cancel := context.WithTimeout(t.Context(), mcptest.Bound)
	defer cancel()
	if a, _ := w.do(ctx, s, stays); a.Reply == nil {
		t.Errorf("%+v", a.Refusal)
	}
}
