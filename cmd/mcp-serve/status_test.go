package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"postern/pkg/call"
	"postern/pkg/cmdmain"
	"postern/pkg/cmdmain/cmdtest"
	"postern/pkg/config"
	"postern/pkg/pool"
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
	dirs := cmdtest.Dirs(t)
	cmdtest.FakeHub(t, dirs, nil)
	environ := map[string]string{
		"POSTERN_CONFIG_DIR": dirs.Config, "POSTERN_STATE_DIR": dirs.State, "POSTERN_CACHE_DIR": dirs.Cache, "POSTERN_RUNTIME_DIR": dirs.Runtime,
	}
	var out, said bytes.Buffer
	begin := time.Now()
	exit := cmdmain.Run(&cmdmain.Env{
		Name: "mcp-serve", Ctx: t.Context(), Args: []string{"status"}, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &said,
		Getenv: func(name string) string { return environ[name] },
	}, app)
	want := "mcp-serve: still waiting for the hub's answer to status: it is busy with that, or it is suspended\n" +
		"mcp-serve: the hub did not answer status within 10s; it may be suspended\n"
	if took := time.Since(begin); exit != cmdmain.Timeout || took < config.StatusWait || took > 2*config.StatusWait || said.String() != want || out.Len() > 0 {
		t.Errorf("%d after %v, said %q", exit, took, &said)
	}
}
