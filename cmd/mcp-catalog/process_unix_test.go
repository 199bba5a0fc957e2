//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"postern/pkg/config"
	"postern/pkg/mcptest"
	"postern/pkg/state"
)

// home is a user with directories of his own, and a fake server in PATH.
type home struct {
	t    *testing.T
	path string
	env  []string
}

func newHome(t *testing.T) *home {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return &home{t, dir, append(os.Environ(), "HOME="+dir, "PATH="+mcptest.ServerFolder(t)+":"+os.Getenv("PATH"),
		"GORACE="+mcptest.NoRaceSleep, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "XDG_CACHE_HOME=")}
}

// command is mcp-catalog outside of any project; it is killed when it hangs,
// and its test then fails on the code.
func (h *home) command(args ...string) *exec.Cmd {
	path, err := exec.LookPath("mcp-catalog") // put there by testscript.Main
	if err != nil {
		h.t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = h.env, h.path, time.Second
	timer := time.AfterFunc(mcptest.Bound, func() {
		if cmd.Process != nil {
			_ = cmd.Process.Kill()
		}
	})
	h.t.Cleanup(func() { timer.Stop() })
	return cmd
}

func (h *home) run(args ...string) {
	h.t.Helper()
	if out, err := h.command(args...).CombinedOutput(); err != nil {
		h.t.Fatalf("mcp-catalog %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (h *home) dirs() state.Dirs {
	dirs, err := state.Locate(func(name string) string {
		if name == "HOME" {
			return h.path
		}
		return ""
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return dirs
}

// MB-182: of twenty who write at once, none loses what another wrote.
func TestParallelAdds(t *testing.T) {
	h := newHome(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i := range 20 {
		cmd := h.command("add", fmt.Sprintf("s%d", i), "--no-refresh", "--", "fake-server")
		wg.Go(func() { // ends with the command
			if out, err := cmd.CombinedOutput(); err != nil {
				mu.Lock()
				defer mu.Unlock()
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	c := config.Load(config.LoadOptions{Dirs: h.dirs()})
	if len(c.Servers) != 20 || len(c.Diagnostics) > 0 {
		t.Errorf("%d servers, %v", len(c.Servers), c.Diagnostics)
	}
	left, err := filepath.Glob(filepath.Join(h.dirs().Config, "*"))
	if err != nil || len(left) != 2 { // mcp.yaml and its lock
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// K4, R80: an interrupt gives up a start that would take long, ends what it
// started, and the command with it; nothing is remembered against the server.
func TestInterruptRefresh(t *testing.T) {
	h := newHome(t)
	events := filepath.Join(h.path, "events")
	h.run("add", "slow", "--no-refresh", "--", "fake-server", "-events", events, "-fault", "no-initialize")
	cmd := h.command("refresh")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	mcptest.WaitEvents(t, events, "recv", 1)
	begin := time.Now()
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 130 {
		t.Errorf("%v, want exit 130", err)
	}
	if d := time.Since(begin); d > config.DefaultStartTimeout/2 {
		t.Errorf("it took %s to end", d)
	}
	if got := stderr.String(); got != "mcp-catalog: interrupted\n" {
		t.Errorf("it said %q", got)
	}
	for _, e := range mcptest.Events(t, events, "start") {
		if syscall.Kill(e.PID, 0) == nil {
			t.Errorf("process %d is left", e.PID)
		}
	}
	out, err := h.command("servers").Output()
	if err != nil || !strings.Contains(string(out), `"state":"idle"`) {
		t.Errorf("%s, %v", out, err)
	}
}

// R24 in small: never more servers at once than --jobs.
func TestJobs(t *testing.T) {
	h := newHome(t)
	events := filepath.Join(h.path, "events")
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		h.run("add", id, "--no-refresh", "--", "fake-server", "-events", events)
	}
	h.run("refresh", "--jobs", "2")
	running, most, starts := 0, 0, 0
	for _, e := range mcptest.Events(t, events, "") {
		switch e.Name {
		case "start":
			running, starts = running+1, starts+1
			most = max(most, running)
		case "clean":
			running--
		}
	}
	if most > 2 || starts != 5 {
		t.Errorf("%d starts, %d at once", starts, most)
	}
}

// K2, MB-213: who reads only the first lines hears no complaint.
func TestClosedPipe(t *testing.T) {
	h := newHome(t)
	file := filepath.Join(h.path, "tools.json")
	var tools []string
	for i := range 400 {
		tools = append(tools, fmt.Sprintf(`{"name":"t%d","description":%q,"inputSchema":{"type":"object"}}`, i, strings.Repeat("x", 1000)))
	}
	if err := os.WriteFile(file, []byte("["+strings.Join(tools, ",")+"]"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.run("add", "big", "--", "fake-server", "-tools", file)
	cmd := h.command("tools")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	_ = out.Close()
	if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
		t.Errorf("%v: %s", err, stderr.String())
	}
}
