//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"postern/pkg/mcptest"
	"postern/pkg/state"
)

// MB-176: as started from a desktop or cron, with a PATH that lacks what a shell
// has. What was looked through is told, and the entry's own PATH counts.
func TestShortPath(t *testing.T) {
	h := newHome(t)
	empty := t.TempDir()
	servers := mcptest.ServerFolder(t)
	h.env = []string{"HOME=" + h.path, "PATH=" + empty + ":/usr/bin", "GORACE=" + mcptest.NoRaceSleep}
	h.run("add", "npx", "--no-refresh", "--", mcptest.Name)
	out, err := h.command("refresh").CombinedOutput()
	if want := fmt.Sprintf("command %q is not found in %s, /usr/bin", mcptest.Name, empty); err == nil || !strings.Contains(string(out), want) {
		t.Errorf("%v: %s", err, out)
	}
	h.run("add", "npx", "--env", "PATH="+servers, "--", mcptest.Name)
	out, err = h.command("servers").Output()
	if err != nil || !strings.Contains(string(out), `"state":"idle"`) || !strings.Contains(string(out), `"provenance":"cached"`) {
		t.Errorf("%v: %s", err, out)
	}
	// A path that counts from somewhere is refused where it is written by hand.
	file := filepath.Join(h.dirs().Config, "mcp.yaml")
	if err := os.WriteFile(file, []byte("version: 1\nservers: {s: {command: ./srv}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err = h.command("servers", "--check").CombinedOutput()
	if err == nil || !strings.Contains(string(out), file+":2:24: servers.s.command: a relative path; write the absolute one") {
		t.Errorf("%v: %s", err, out)
	}
}

// MB-183: who holds a lock for ever keeps writers waiting a bounded time, and
// readers not at all.
func TestLockHeldForEver(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.run("add", "docs", "--no-refresh", "--", mcptest.Name)
	lock := filepath.Join(h.dirs().Config, "mcp.yaml.lock")
	unlock, err := state.Lock(context.Background(), lock)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unlock(); err != nil {
			t.Error(err)
		}
	}()
	writer := h.command("disable", "docs")
	var said strings.Builder
	writer.Stderr = &said
	if err := writer.Start(); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	h.run("servers")
	if d := time.Since(begin); d > 4*time.Second {
		t.Errorf("a reader waited %s", d)
	}
	if err := writer.Wait(); err == nil || !strings.Contains(said.String(), lock) || !strings.Contains(said.String(), fmt.Sprint(os.Getpid())) {
		t.Errorf("%v: %s", err, said.String())
	}
	if d := time.Since(begin); d > mcptest.Bound {
		t.Errorf("a writer waited %s", d)
	}
}

// MB-184: where nothing can be written, what is declared can still be read, and
// a change says why it is none.
func TestReadOnlyHome(t *testing.T) {
	h := newHome(t)
	h.run("add", "docs", "--no-refresh", "--", mcptest.Name)
	h.env = append(h.env, "POSTERN_STATE_DIR=/proc/none", "POSTERN_CACHE_DIR=/proc/none")
	out, err := h.command("servers").CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"server":"docs"`) {
		t.Errorf("%v: %s", err, out)
	}
	out, err = h.command("test", "docs").CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"protocol":`) {
		t.Errorf("%v: %s", err, out)
	}
	// A home that is no place: nobody guesses another one.
	h.env = []string{"HOME=somewhere", "PATH=" + os.Getenv("PATH"), "GORACE=" + mcptest.NoRaceSleep}
	out, err = h.command("servers").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "HOME") {
		t.Errorf("%v: %s", err, out)
	}
}
