//go:build unix

package call

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"postern/pkg/catalog"
	"postern/pkg/config"
	"postern/pkg/mcptest"
	"postern/pkg/trust"
)

// Try starts a process of its own, whoever else uses the server, and leaves no
// process, no catalog, no memory of a failure and no row.
func TestTryLeavesNoTrace(t *testing.T) {
	w := newWorld(t, `version: 1
servers:
  fake: {command: $FAKE, args: [-events, $WORK/events, -fault, banner]}
  bad: {command: $FAKE, args: [-events, $WORK/events, -fault, "list-error=no index"]}
  off: {command: $FAKE, enabled: false}
`+allowAll, map[string]string{"project/.mcp.json": repository})
	s := w.session(true)
	v := s.View()
	tried, refusal := s.Try(context.Background(), v, v.Server("fake"))
	if refusal != nil || len(tried.Catalog.Tools) == 0 || tried.Catalog.Noise == 0 || tried.Took <= 0 {
		t.Errorf("%+v %v", tried, refusal)
	}
	if _, refusal = s.Try(context.Background(), v, v.Server("bad")); refusal == nil || !strings.Contains(refusal.Message, "no index") {
		t.Errorf("%v", refusal)
	}
	for _, id := range []string{"fake", "bad"} {
		identity := catalog.IdentityOf(v.Server(id).Declared)
		if _, failed := w.host.Catalogs().LastFailure(identity); failed {
			t.Errorf("%s: the failure is remembered", id)
		}
		if c, _ := w.host.Catalogs().Read(identity); c != nil {
			t.Errorf("%s: its list is recorded", id)
		}
	}
	starts := mcptest.Events(t, w.events, "start")
	if len(starts) != 2 {
		t.Errorf("%d starts", len(starts))
	}
	for _, e := range starts {
		if err := syscall.Kill(e.PID, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d is left: %v", e.PID, err)
		}
	}
	if entries, _ := os.ReadDir(w.path("state/stderr")); len(entries) > 0 {
		t.Errorf("stderr was kept: %v", entries)
	}
}

// S1: trying is starting: what is not trusted or is disabled is not tried.
func TestTryNeedsTrust(t *testing.T) {
	w := newWorld(t, `version: 1
servers: {off: {command: $FAKE, args: [-events, $WORK/events], enabled: false}}
`+allowAll, map[string]string{"project/.mcp.json": repository})
	s := w.session(true)
	v := s.View()
	for id, word := range map[string]Word{"off": Disabled, "docs": Untrusted} {
		if _, refusal := s.Try(context.Background(), v, v.Server(id)); refusal == nil || refusal.Word != word {
			t.Errorf("%s: %v", id, refusal)
		}
	}
	alone := &Server{Declared: &config.Server{ID: "x", Scope: config.Project, Source: "x", Project: w.project, Command: "x", Enabled: true}, Status: trust.Trusted}
	if _, refusal := s.Try(context.Background(), v, alone); refusal == nil || refusal.Word != Untrusted {
		t.Errorf("a status that somebody wrote is believed: %v", refusal)
	}
	if _, err := os.Stat(w.events); err == nil {
		t.Error("something was started")
	}
}

// Try ends soon when its caller does, and takes its server with it.
func TestTryIsInterrupted(t *testing.T) {
	w := newWorld(t, `version: 1
servers: {fake: {command: $FAKE, args: [-events, $WORK/events, -fault, no-initialize]}}
`+allowAll, nil)
	s := w.session(true)
	ctx, cancel := context.WithCancel(context.Background())
	v := s.View()
	done := make(chan *Refusal, 1)
	go func() { // ends when the cancelled try does
		_, refusal := s.Try(ctx, v, v.Server("fake"))
		done <- refusal
	}()
	mcptest.WaitEvents(t, w.events, "recv", 1)
	cancel()
	if refusal := <-done; refusal == nil || refusal.Word != Cancelled {
		t.Errorf("%v", refusal)
	}
	for _, e := range mcptest.Events(t, w.events, "start") {
		if err := syscall.Kill(e.PID, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d is left: %v", e.PID, err)
		}
	}
}

// R66: what keeps a server from being started is known without starting it.
func TestUnready(t *testing.T) {
	w := newWorld(t, `version: 1
servers:
  gone: {command: no-such-program}
  unset: {command: $FAKE, env: {A: "${UNSET}"}}
  fine: {command: $FAKE}
`+allowAll, nil)
	v := w.session(true).View()
	for id, want := range map[string]string{"gone": "is not found in", "unset": "UNSET is not set", "fine": ""} {
		if got := v.Unready(v.Server(id)); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: %q", id, got)
		}
	}
}
