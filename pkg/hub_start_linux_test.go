package pkg

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"postern/pkg/mcptest"
	"postern/pkg/proc"
)

// What an agent happens to have open, or which signals blocked, does not live on in the
// hub that it started, nor in the servers: whoever waits for the end of such a pipe
// waits for the agent alone (00). Both processes of the hub have the program's name, and let nobody read
// what they make.
func TestHubInheritsNothing(t *testing.T) {
	s := newShared(t, "s")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c := s.command("mcp-serve")
	c.ExtraFiles = []*os.File{w}
	var a *mcptest.Agent
	mcptest.Blocking(t, func() { a = mcptest.Start(t, c) })
	w.Close()
	a.Initialize()
	s.call(a, "s__echo", "")
	h := s.theHub()
	for _, pid := range append(s.servers(h), h.keeper, h.owner) {
		if !mcptest.Eventually(func() bool { return blocksNothing(pid) }) {
			t.Errorf("%d has the signals blocked that the agent has", pid)
		}
		if to, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/3", pid)); strings.HasPrefix(to, "pipe:") && sameFile(t, r, pid) {
			t.Errorf("%d has the agent's pipe", pid)
		}
	}
	for _, pid := range []int{h.keeper, h.owner} {
		if name := readFile(fmt.Sprintf("/proc/%d/comm", pid)); name != "mcp-serve\n" {
			t.Errorf("%d is shown as %q", pid, name)
		}
		if !strings.Contains(readFile(fmt.Sprintf("/proc/%d/status", pid)), "Umask:\t0077") {
			t.Errorf("others can read what %d makes", pid)
		}
	}
	a.Close()
	_ = r.SetReadDeadline(time.Now().Add(mcptest.Bound))
	if all, err := io.ReadAll(r); len(all) > 0 || err != nil {
		t.Errorf("the pipe says %q, %v", all, err)
	}
	s.theHub()
	s.stop()
}

// blocksNothing is whether the first threads of a Go program block no signals: one
// thread of it listens to signals, and blocks most.
func blocksNothing(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	return slices.ContainsFunc(threads, func(status string) bool {
		return strings.Contains(readFile(status), "\nSigBlk:\t0000000000000000\n")
	})
}

// sameFile reports whether descriptor 3 of a process is the pipe that ours is.
func sameFile(t *testing.T, ours *os.File, pid int) bool {
	t.Helper()
	theirs, err := os.Stat(fmt.Sprintf("/proc/%d/fd/3", pid))
	fi, ourErr := ours.Stat()
	return err == nil && ourErr == nil && os.SameFile(theirs, fi)
}

// What an agent has a server of the hub run is no person at a terminal, though no
// agent is above it, whatever it takes out of its environment (S3).
func TestHubServersAreNoPersons(t *testing.T) {
	s := newShared(t, "s")
	const name = ".config/postern/mcp.yaml"
	_, fake, _ := strings.Cut(readFile(s.path(name)), "command: ")
	fake, _, _ = strings.Cut(fake, ",")
	s.write("wrap", "#!/bin/sh\nenv -i HOME=\"$HOME\" PATH=\"$PATH\" "+filepath.Join(s.bin, "mcp-catalog")+" enable s >\"$HOME/said\" 2>&1\n"+
		"echo \"exit $?\" >>\"$HOME/said\"\nexec "+fake+" \"$@\"\n")
	if err := os.Chmod(s.path("wrap"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.write(name, strings.Replace(readFile(s.path(name)), fake, s.path("wrap"), 1))
	a := s.agent()
	s.call(a, "s__echo", "")
	if said := readFile(s.path("said")); !strings.Contains(said, "started by a server") || !strings.Contains(said, "exit 4") {
		t.Errorf("it was told %s", said)
	}
	s.stop(a)
}

// The verbs reach every hub of these directories, one that was replaced and only
// finishes its sessions as well: what is killed runs nowhere, and after a stop there is
// nothing (R23).
func TestHubVerbsReachAll(t *testing.T) {
	s := newShared(t, "s")
	s.ownBinaries()
	one := s.agent()
	first := s.server(one, "s")
	old := s.theHub()
	s.newBinary()
	two := s.agent()
	second := s.server(two, "s")
	if !mcptest.Eventually(func() bool { return strings.Count(s.run0("mcp-serve", "status", "-o", "jsonl"), `"what":"hub"`) == 2 }) { // the old one looks now and then
		t.Errorf("hubs: %s", s.run0("mcp-serve", "status", "-o", "jsonl"))
	}
	three := s.agent() // not by the old one
	if pid := s.server(three, "s"); pid != second {
		t.Errorf("served by %d, not %d", pid, second)
	}
	three.Close()
	s.run0("mcp-serve", "kill", "s")
	s.wantGone(first, second)
	s.want(one, "upstream_unavailable", "s__echo", "")
	s.want(two, "upstream_unavailable", "s__echo", "")
	s.run0("mcp-serve", "start", "s")
	s.call(one, "s__echo", "")
	s.call(two, "s__echo", "")
	s.run0("mcp-serve", "stop")
	s.wantGone(old.keeper, old.owner)
	s.want(one, "hub_lost", "s__echo", "")
	s.want(two, "hub_lost", "s__echo", "")
	one.Close()
	two.Close()
	s.nothingLeft()
	if found := s.sockets(); len(found) > 0 {
		t.Errorf("sockets are left: %v", found)
	}
}

// A hub that comes too late for the agent that started it is there for the others:
// the end of that agent, whose session is served without it, is not the hub's (R74).
func TestHubIsLate(t *testing.T) {
	s := newShared(t, "s")
	var late *mcptest.Agent
	for range 5 { // a hub may be too quick for this test
		late = mcptest.Start(t, s.command("mcp-serve"))
		id := late.Request("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}`)
		if mcptest.Eventually(func() bool { s.suspend(late); return late.Stderr() != "" || answers(late, id) > 0 }) && late.Stderr() != "" {
			break
		}
		late.Close()
		late = nil
		mcptest.Eventually(func() bool { // some may be about to start others
			left := s.left()
			for _, pid := range left {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			return len(left) == 0
		})
	}
	if late == nil {
		t.Skip("no hub could be suspended before it answered")
	}
	if said := late.Stderr(); !strings.Contains(said, "served by this process") {
		t.Fatalf("said: %s", said)
	}
	late.Notify("notifications/initialized", "")
	s.call(late, "s__echo", "")
	for _, pid := range s.left() {
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
	if !mcptest.Eventually(func() bool { return len(s.sockets()) == 1 && len(starts(late)) == 2 }) {
		t.Fatalf("hubs: %v", starts(late))
	}
	h := s.theHub()
	other := s.agent()
	s.call(other, "s__echo", "")
	if status := late.Close(); status != 0 {
		t.Errorf("ended with %d", status)
	}
	s.call(other, "s__echo", "")
	if now := s.theHub(); now != h || other.Stderr() != "" {
		t.Errorf("hub %v is %v: %s", h, now, other.Stderr())
	}
	s.stop(other)
}

// suspend stops all hubs that an agent's bridge has started.
func (s *shared) suspend(a *mcptest.Agent) {
	for _, pid := range starts(a) {
		_ = syscall.Kill(pid, syscall.SIGSTOP)
	}
}

// starts are the processes of the hubs that an agent's bridge has started.
func starts(a *mcptest.Agent) (pids []int) {
	for _, p := range proc.Below(a.PID()) {
		words := strings.Split(readFile(fmt.Sprintf("/proc/%d/cmdline", p.PID)), "\x00")
		if !p.Ended() && len(words) > 1 && words[1] == "hub" {
			pids = append(pids, p.PID)
		}
	}
	return pids
}
