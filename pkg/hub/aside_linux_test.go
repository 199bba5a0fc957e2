package hub

import (
	"net"
	"runtime"
	"strings"
	"testing"

	"postern/pkg/config"
	"postern/pkg/mcptest"
)

// Whoever connects to a hub that only finishes its sessions, and says nothing, takes
// one of a few places in it; those that come later are served once some are free.
func TestPlacesAtARetiringHub(t *testing.T) {
	dirs := scratch(t)
	place, err := PlaceOf(dirs, "test")
	if err != nil {
		t.Fatal(err)
	}
	h := &shared{retiring: true, orphan: true, changed: make(chan struct{}, 1), o: ServeOptions{Place: place, Say: func(text string) { t.Log(text) }}}
	r := h.stepAside(place)
	if r == nil {
		t.Fatal("it listens on nothing")
	}
	defer r.close()
	var silent []net.Conn
	for range 2 * config.HubOrders {
		conn, err := net.Dial("unix", r.path)
		if err != nil {
			t.Fatal(err)
		}
		silent = append(silent, conn)
	}
	taken := func() int { // goroutines of others come and go
		stacks := make([]byte, 4<<20)
		return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "hub.(*shared).hear(")
	}
	if !mcptest.Eventually(func() bool { return taken() >= config.HubOrders }) {
		t.Fatalf("%d are served", taken())
	}
	late, err := net.Dial("unix", r.path)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if n := taken(); n > config.HubOrders {
		t.Errorf("%d are served at the same time", n)
	}
	for _, conn := range silent {
		conn.Close()
	}
	hello := Hello{Kind: KindBridge, Version: "test", NoProject: true}
	if _, err := late.Write(hello.line()); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, config.HubLineBytes)
	n, err := late.Read(answer)
	if err != nil || !strings.Contains(string(answer[:n]), wordRetiring) {
		t.Errorf("%q, %v", answer[:n], err)
	}
}
