package main

import (
	"bytes"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"postern/pkg/call"
	"postern/pkg/cmdmain"
	"postern/pkg/config"
	"postern/pkg/hub"
	"postern/pkg/pool"
	"postern/pkg/state"
)

func TestNotes(t *testing.T) {
	for got, want := range map[string]string{
		serverNotes(&pool.Status{}): "",
		serverNotes(&pool.Status{Sessions: []string{"a"}, Calls: 2, Restarts: 1, Noise: 1, Dropped: 3, LastError: "50% s|"}): "1 session, 2 calls, 1 restart, 1 line of noise, " +
			"3 notifications dropped, 50% s|",
		hubNotes(&call.HostStatus{Sessions: make([]call.SessionStatus, 2), Panics: 1, Dropped: 1, Problems: []string{"x", "y"}}): "2 sessions, 1 panic, see hub.log, " +
			"1 row of the call log dropped, x, y",
	} {
		if got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// A hub that is suspended keeps nobody who only looks waiting for long, and is named
// before that.
func TestStatusOfSilentHub(t *testing.T) {
	t.Parallel()
	run, err := os.MkdirTemp("", "run-") // short: paths of sockets have 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(run)
	dirs := map[string]string{"POSTERN_CONFIG_DIR": t.TempDir(), "POSTERN_STATE_DIR": t.TempDir(), "POSTERN_CACHE_DIR": t.TempDir(), "POSTERN_RUNTIME_DIR": run}
	getenv := func(name string) string { return dirs[name] }
	located, err := state.Locate(getenv)
	if err != nil {
		t.Fatal(err)
	}
	place, err := hub.PlaceOf(located, "silent")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", place.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Chmod(place.Socket, 0o600); err != nil {
		t.Fatal(err)
	}
	var out, said bytes.Buffer
	begin := time.Now()
	exit := cmdmain.Run(&cmdmain.Env{
		Name: "mcp-serve", Ctx: t.Context(), Args: []string{"status"}, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &said, Getenv: getenv,
	}, app)
	want := "mcp-serve: still waiting for the hub's answer to status: it is busy with that, or it is suspended\n" +
		"mcp-serve: the hub did not answer status within 10s; it may be suspended\n"
	if took := time.Since(begin); exit != cmdmain.Timeout || took < config.StatusWait || took > 2*config.StatusWait || said.String() != want || out.Len() > 0 {
		t.Errorf("%d after %v, said %q", exit, took, &said)
	}
}
