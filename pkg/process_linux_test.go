package pkg

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"postern/pkg/mcptest"
	"postern/pkg/proc"
)

// marked lists the living processes that carry a mark of this owner.
func marked(owner int) (found []string) {
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environs {
		data, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(data, []byte("POSTERN_INSTANCE="+strconv.Itoa(owner)+".")) {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(filepath.Dir(path), "stat"))
		if err == nil && !bytes.Contains(stat, []byte(") Z ")) {
			found = append(found, path)
		}
	}
	return found
}

// eight declares that many servers and returns an agent that called each, and
// the process that owns them.
func eight(h *home, faults string) (agent *mcptest.Agent, owner int) {
	var b strings.Builder
	b.WriteString("version: 1\nservers:\n")
	for i := range 8 {
		fmt.Fprintf(&b, "  s%d: {command: $FAKE, args: [-events, $HOME/events%s]}\n", i, faults)
	}
	b.WriteString("policies:\n  everything: {servers: [\"*\"], allow: [read, write, execute]}\ndefaults: {policy: everything, trust_level: 2}\n")
	h.write(".config/postern/mcp.yaml", b.String())
	agent = mcptest.Start(h.t, h.command("mcp-serve"))
	agent.Initialize()
	for i := range 8 {
		agent.Call(fmt.Sprintf("s%d__echo", i), `{"a":1}`)
	}
	owner = mcptest.Below(h.t, agent.PID())
	if n := len(marked(owner)); n < 8 {
		h.t.Fatalf("%d marked processes", n)
	}
	return agent, owner
}

func wantNone(t *testing.T, owner int) {
	t.Helper()
	if !mcptest.Eventually(func() bool { return len(marked(owner)) == 0 }) {
		t.Errorf("left: %v", marked(owner))
	}
}

// TestKill: kill -9 of the gateway with eight servers leaves none of them, also
// when they ignore the end of their input and SIGTERM: the gateway itself, the
// keeper above it, both at the same time (R10, MB-028).
func TestKill(t *testing.T) {
	for kind, faults := range map[string]string{"kind": "", "deaf": ", -fault, ignore-eof, -fault, ignore-term"} {
		for name, victims := range map[string]func(keeper, owner int) []int{
			"owner":                    func(_, owner int) []int { return []int{owner} },
			"keeper":                   func(keeper, _ int) []int { return []int{keeper} },
			"both":                     func(keeper, owner int) []int { return []int{keeper, owner} },
			"both the other way round": func(keeper, owner int) []int { return []int{owner, keeper} },
		} {
			t.Run(name+" of "+kind, func(t *testing.T) {
				t.Parallel()
				h := newHome(t)
				agent, owner := eight(h, faults)
				mcptest.Signal(t, syscall.SIGKILL, victims(agent.PID(), owner)...)
				agent.Wait()
				wantNone(t, owner)
				if !mcptest.Eventually(func() bool { return gone(owner) }) {
					t.Errorf("the owner %d is left", owner)
				}
			})
		}
	}
}

// gone is whether a process runs no more.
func gone(pid int) bool {
	s, err := proc.Look(pid)
	return err != nil || s.Ended()
}

// TestEnd: the end of input and SIGTERM end the gateway with 0 within six
// seconds, and nothing it started is left, grandchildren that hold the pipes
// included (R12, R80, MB-028, MB-034, MB-053).
func TestEnd(t *testing.T) {
	ends := map[string]func(a *mcptest.Agent) int{
		"end of input": func(a *mcptest.Agent) int { return a.Close() },
		"SIGTERM": func(a *mcptest.Agent) int {
			_ = syscall.Kill(a.PID(), syscall.SIGTERM) // without it Wait fails
			return a.Wait()
		},
	}
	faults := map[string]string{
		"well-behaved": "",
		"deaf":         ", -fault, ignore-eof, -fault, ignore-term",
		"parents":      ", -fault, grandchild=group, -fault, ignore-eof",
		"detached":     ", -fault, grandchild=session, -fault, ignore-term",
	}
	for end, do := range ends {
		for name, fault := range faults {
			t.Run(end+"/"+name, func(t *testing.T) {
				t.Parallel()
				h := newHome(t)
				agent, owner := eight(h, fault)
				begin := time.Now()
				if status := do(agent); status != 0 {
					t.Errorf("ended with %d: %s", status, agent.Stderr())
				}
				if took := time.Since(begin); took > 9*time.Second {
					t.Errorf("took %v", took)
				}
				wantNone(t, owner)
				if clean := len(mcptest.Events(t, h.path("events"), "clean")); name == "well-behaved" && clean != 8 {
					t.Errorf("%d of 8 servers saw the end of their input first", clean)
				}
			})
		}
	}
}
