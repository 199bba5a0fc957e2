//go:build unix

package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"postern/pkg/cmdmain"
	"postern/pkg/cmdmain/cmdtest"
	"postern/pkg/mcptest"
)

// TestScriptsThroughHub runs those scripts once more with a hub up in which it makes
// no difference who lists the servers, and one of its own (K7).
func TestScriptsThroughHub(t *testing.T) {
	scripts(t, func(env *testscript.Env) error {
		end, err := cmdtest.StartHub(env.Vars, env.Getenv)
		if err == nil {
			env.Defer(func() { end(syscall.SIGTERM) })
		}
		return err
	}, "hub", "script/add.txtar", "script/enable.txtar", "script/literal.txtar", "script/rm.txtar", "script/sharing.txtar", "script/test.txtar", "script/trust.txtar")
}

// welcome is what a hub answers to a hello.
const welcome = `{"postern":1,"session":"x"}` + "\n"

// A hub that answers the hello and no more is not waited for: the command lists the
// servers itself, and says why.
func TestSilentHub(t *testing.T) {
	dirs := cmdtest.Dirs(t)
	cmdtest.FakeHub(t, dirs, func(conn net.Conn) {
		_, _ = conn.Write([]byte(welcome))
		_, _ = io.Copy(io.Discard, conn)
		conn.Close()
	})
	var said strings.Builder
	ctx, cancel := context.WithTimeout(t.Context(), mcptest.Bound)
	defer cancel()
	p := &place{&cmdmain.Env{Name: "mcp-catalog", Stderr: &said, Getenv: func(string) string { return "" }}, dirs, ""}
	if p.env.HubLister(ctx, p.dirs, p.project) != nil || ctx.Err() != nil {
		t.Error("the hub is used, or waited for")
	}
	if said.String() != "mcp-catalog: no hub is used: the hub does not answer\n" {
		t.Errorf("said %q", &said)
	}
}

// What lists the servers in the place of a hub that does not answer does not look for
// it once more: that is said once, and waited for once.
func TestRefreshBesideSilentHub(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	cmdtest.FakeHub(t, h.dirs(), nil)
	out, err := h.command("refresh").CombinedOutput()
	if err != nil || string(out) != "mcp-catalog: no hub is used: the hub does not answer\n" {
		t.Errorf("%v: %s", err, out)
	}
}

// A hub answers the hello before it has the session, and asks sessions which servers
// of a project there are: nothing is asked of it before the session answers.
func TestHubHasSession(t *testing.T) {
	dirs := cmdtest.Dirs(t)
	answered := make(chan bool, 1)
	cmdtest.FakeHub(t, dirs, func(conn net.Conn) {
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(mcptest.Bound))
		lines := bufio.NewReader(conn)
		_, _ = lines.ReadString('\n')
		_, _ = conn.Write([]byte(welcome))
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			if _, id, found := strings.Cut(line, `"id":"`); found {
				id, _, _ = strings.Cut(id, `"`)
				answered <- true
				_, _ = conn.Write([]byte(`{"jsonrpc":"2.0","id":"` + id + `","result":{}}` + "\n"))
			}
		}
	})
	p := (&place{&cmdmain.Env{Getenv: func(string) string { return "" }}, dirs, ""})
	h := p.env.HubLister(t.Context(), p.dirs, p.project)
	if h == nil {
		t.Fatal("the hub is not used")
	}
	defer h.Close()
	select {
	case <-answered:
	default:
		t.Error("the session was not asked for anything")
	}
}
