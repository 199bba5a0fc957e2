//go:build unix

package main

import (
	"bufio"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"postern/pkg/cmdmain"
	"postern/pkg/cmdmain/cmdtest"
	"postern/pkg/hub"
	"postern/pkg/mcptest"
	"postern/pkg/state"
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

// A hub answers the hello before it has the session, and asks sessions which servers
// of a project there are: nothing is asked of it before the session answers.
func TestHubHasSession(t *testing.T) {
	run, err := os.MkdirTemp("", "run-") // short: paths of sockets have 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(run)
	dirs := state.Dirs{Config: t.TempDir(), State: t.TempDir(), Cache: t.TempDir(), Runtime: run}
	where, err := hub.PlaceOf(dirs, "test")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", where.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Chmod(where.Socket, 0o600); err != nil {
		t.Fatal(err)
	}
	answered := make(chan bool, 1)
	go func() { // ends with the script, or at the deadline
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(mcptest.Bound))
		lines := bufio.NewReader(conn)
		_, _ = lines.ReadString('\n')
		_, _ = conn.Write([]byte(`{"postern":1,"session":"x"}` + "\n"))
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
	}()
	p := (&place{&cmdmain.Env{Getenv: func(string) string { return "" }}, dirs, ""})
	h := p.hub(t.Context())
	if h == nil {
		t.Fatal("the hub is not used")
	}
	defer h.close()
	select {
	case <-answered:
	default:
		t.Error("the session was not asked for anything")
	}
}
