package pkg

import (
	"bytes"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"postern/pkg/mcptest"
)

// A server is killed with calls under way: each of them is answered, none is
// repeated, the other server's goes on, and the next call finds a new process
// (R43, R21, MB-164).
func TestFaultServerKilled(t *testing.T) {
	f := newFault(t, "a [] restart_delay: 50ms", "b")
	a := f.agent()
	f.call(a, "b__echo", "")
	other := f.ask(a, "b__slow", `,"ms":500`)
	victim := f.server(a, "a")
	for round := range 3 {
		var open []string
		for range 5 {
			open = append(open, f.ask(a, "a__never", ""))
		}
		mcptest.WaitEvents(t, f.events, "call", 3+6*round+5)
		f.kill(victim, syscall.SIGKILL)
		for _, id := range open {
			f.wantAnswer(a, "outcome_unknown", id)
		}
		next := f.server(a, "a")
		if next == victim {
			t.Fatal("no new process")
		}
		victim = next
	}
	if m := a.Expect(other); word(m) != "" {
		t.Errorf("the other server's call: %s", m.Raw)
	}
	f.wantRows(f.sound(a), map[string]int{"ok": 6, "upstream_error": 15})
}

// A process of mcp-serve is killed with calls under way: the one that owns the
// servers, or the keeper above it. The next session works on the same files, and
// of the calls that were cut off none is executed again.
func TestFaultServeKilled(t *testing.T) {
	for name, victim := range map[string]func(a *mcptest.Agent, owner int) int{
		"owner":  func(_ *mcptest.Agent, owner int) int { return owner },
		"keeper": func(a *mcptest.Agent, _ int) int { return a.PID() },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFault(t, "a [-fault, grandchild=session]", "b [-fault, ignore-eof]", "c [-fault, grandchild=hidden]")
			for round := range 2 {
				a := f.agent()
				owner := mcptest.Below(t, a.PID())
				for _, id := range []string{"a", "b", "c"} {
					f.call(a, id+"__echo", "")
					f.ask(a, id+"__never", "")
					f.ask(a, id+"__slow", `,"ms":30`)
				}
				mcptest.WaitEvents(t, f.events, "call", 9*(round+1))
				f.kill(victim(a, owner), syscall.SIGKILL)
				if status := a.Wait(); status == 0 {
					t.Error("the end looks like success")
				}
				f.nothingLeft()
			}
			a := f.agent()
			f.call(a, "a__echo", "")
			f.sound(a)
		})
	}
}

// mcp-call and mcp-catalog own servers too.
func TestFaultCommandsKilled(t *testing.T) {
	f := newFault(t, "a [-fault, grandchild=hidden]", "slow [-fault, start-delay=10s]")
	for _, args := range [][]string{
		{"mcp-call", "a", "never", `--args={"n":-1}`}, {"mcp-call", "a", "never", `--args={"n":-2}`},
		{"mcp-catalog", "refresh"}, {"mcp-catalog", "refresh"},
	} {
		before := len(mcptest.Events(t, f.events, "start"))
		c := f.command(args[0], args[1:]...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Process.Kill() })
		victim := c.Process.Pid
		if before%2 == 0 {
			victim = mcptest.Below(t, victim)
		}
		mcptest.WaitEvents(t, f.events, "start", before+1)
		f.kill(victim, syscall.SIGKILL)
		_ = c.Wait() // ends: its keeper does with it, or is it
		f.nothingLeft()
	}
	f.run(0, "mcp-call", "a", "echo", "n:=-3")
	f.sound()
}

// Kill -9 at any moment of a session's first 60 ms, of either process, leaves
// nothing and damages nothing that a later session needs.
func TestFaultKilledAtAnyMoment(t *testing.T) {
	f := newFault(t, "a [-fault, grandchild=hidden]", "b [-fault, grandchild=session]")
	r := rand.New(rand.NewSource(2))
	for i := range 16 {
		a := mcptest.Start(t, f.command("mcp-serve"))
		a.BeginInitialize()
		a.Request("tools/list", "")
		f.ask(a, "a__echo", "")
		f.ask(a, "b__slow", `,"ms":5`)
		time.Sleep(time.Duration(4*i+r.Intn(4)) * time.Millisecond)
		victim := a.PID()
		if i%2 == 0 {
			if kept := childOf(victim); kept != 0 {
				victim = kept
			}
		}
		f.kill(victim, syscall.SIGKILL)
		a.Wait()
	}
	f.nothingLeft()
	a := f.agent()
	if list := a.Ask("tools/list", ""); bytes.Count(list, []byte(`"name":`)) != 34 {
		t.Errorf("%.300s", list)
	}
	f.call(a, "a__echo", "")
	f.call(a, "b__echo", "")
	f.sound(a)
}

// childOf is the pid of a child, 0 without one.
func childOf(pid int) int {
	for _, id := range childrenOf(pid) {
		return id
	}
	return 0
}

func childrenOf(pid int) (pids []int) {
	for _, word := range strings.Fields(readFile("/proc/" + strconv.Itoa(pid) + "/task/" + strconv.Itoa(pid) + "/children")) {
		if n, err := strconv.Atoi(word); err == nil {
			pids = append(pids, n)
		}
	}
	return pids
}

// MB-041: a container belongs to a daemon and not to us; only the program that
// started it can end it. It gets its SIGTERM, and the time to do so.
func TestFaultContainer(t *testing.T) {
	f := newFault(t)
	f.write("bin/docker", `#!/bin/sh
exec 3<&0
"$FAKE" "$@" <&3 &
trap 'sleep 1; echo stopped >>"$HOME/docker.log"; exit 0' TERM
while :; do wait; sleep 0.1; done
`)
	if err := os.Chmod(f.path("bin/docker"), 0o700); err != nil {
		t.Fatal(err)
	}
	f.declare("box [-fault, ignore-eof]")
	config := strings.Replace(readFile(f.path(".config/postern/mcp.yaml")), f.fake, f.path("bin/docker"), 1)
	f.write(".config/postern/mcp.yaml", config)
	a := f.agent()
	f.call(a, "box__echo", "")
	f.sound(a)
	if log := readFile(f.path("docker.log")); log != "stopped\n" {
		t.Errorf("the container was left alone: %q", log)
	}
}
