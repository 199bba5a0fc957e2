package pkg

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"postern/pkg/mcptest"
	"postern/pkg/proc"
)

// one declares one server and returns an agent of mcp-serve that called it, the
// owner, and all processes of the server, of which there are 1 + n.
func one(h *home, args string, n int) (agent *mcptest.Agent, owner int, pids []int) {
	h.t.Helper()
	h.write(".config/postern/mcp.yaml", "version: 1\nservers:\n  s: {command: $FAKE, args: [-events, $HOME/events"+args+"]}\n"+
		"policies:\n  everything: {servers: [\"*\"], allow: [read, write, execute]}\ndefaults: {policy: everything, trust_level: 2}\n")
	agent = mcptest.Start(h.t, h.command("mcp-serve"))
	agent.Initialize()
	agent.Call("s__echo", `{"a":1}`)
	pids = append(pids, mcptest.WaitEvents(h.t, h.path("events"), "start", 1)[0].PID)
	for _, e := range mcptest.WaitEvents(h.t, h.path("events"), "grandchild", n) {
		pid, err := strconv.Atoi(e.Data)
		if err != nil {
			h.t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	h.t.Cleanup(func() {
		for _, pid := range pids {
			if h.t.Failed() {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	return agent, mcptest.Below(h.t, agent.PID()), pids
}

func (h *home) wantGone(pids ...int) {
	h.t.Helper()
	for _, pid := range pids {
		if !mcptest.Eventually(func() bool { return gone(pid) }) {
			h.t.Errorf("process %d is left", pid)
		}
	}
}

func (h *home) kill(sig syscall.Signal, pids ...int) {
	h.t.Helper()
	mcptest.Signal(h.t, sig, pids...)
}

// kinds are what servers start, with the number of processes.
var kinds = map[string]int{"group": 1, "session": 1, "hidden": 1, "browser": 8}

// R10, R12, MB-028: kill -9 of the gateway, or of its keeper, leaves nothing of a
// server, whatever that started and however it detached itself: below the one
// that is left, they are found as descendants.
func TestKillFindsDescendants(t *testing.T) {
	for kind, n := range kinds {
		for _, deaf := range []string{"", ", -fault, ignore-term"} {
			for _, victim := range []string{"owner", "keeper"} {
				t.Run(fmt.Sprintf("%s of %s %d", victim, kind, len(deaf)), func(t *testing.T) {
					t.Parallel()
					h := newHome(t)
					agent, owner, pids := one(h, ", -fault, ignore-eof, -fault, grandchild="+kind+deaf, n)
					pid := owner
					if victim == "keeper" {
						pid = agent.PID()
					}
					h.kill(syscall.SIGKILL, pid)
					agent.Wait()
					h.wantGone(append(pids, owner)...)
				})
			}
		}
	}
}

// The sweep: where keeper and gateway are killed at the same time, nobody is left
// to look after what detached itself; whoever starts a server next does. Only
// what has no environment any more escapes then.
func TestKillOfBothIsSwept(t *testing.T) {
	for _, kind := range []string{"group", "session"} {
		t.Run(kind, func(t *testing.T) {
			h := newHome(t)
			agent, owner, pids := one(h, ", -fault, ignore-eof, -fault, ignore-term, -fault, grandchild="+kind, 1)
			h.kill(syscall.SIGSTOP, agent.PID()) // so that it cannot see the other end first
			h.kill(syscall.SIGKILL, owner, agent.PID())
			agent.Wait()
			h.wantGone(owner, pids[0])
			if gone(pids[1]) {
				t.Skip("another process of postern has swept it")
			}
			_, said := h.run(0, "mcp-call", "s", "echo", "a=1")
			h.wantGone(pids...)
			kept, err := os.ReadFile(h.path(".local/state/postern/hub.log"))
			if said != "" || err != nil || !strings.Contains(string(kept), " mcp-call ended what a killed process of postern had left: ") {
				t.Errorf("it said %q, and kept %q, %v", said, kept, err)
			}
		})
	}
}

// A stopped gateway is not gone: whoever starts servers leaves its own alone. When
// it is killed while it is stopped, nothing is left.
func TestStoppedOwnerIsSpared(t *testing.T) {
	h := newHome(t)
	agent, owner, pids := one(h, ", -fault, grandchild=session", 1)
	h.kill(syscall.SIGSTOP, agent.PID(), owner)
	waitState(t, owner, 'T')
	waitState(t, agent.PID(), 'T')
	h.run(0, "mcp-call", "s", "echo", "a=1")
	for _, pid := range pids {
		if gone(pid) {
			t.Errorf("process %d of a stopped owner was ended", pid)
		}
	}
	h.kill(syscall.SIGCONT, agent.PID(), owner)
	agent.Call("s__echo", `{"a":2}`)
	if !mcptest.Eventually(func() bool { // the keeper may yet pass its SIGCONT on
		h.kill(syscall.SIGSTOP, owner)
		s, err := proc.Look(owner)
		return err == nil && s.State == 'T'
	}) {
		t.Fatal("the owner does not stop")
	}
	h.kill(syscall.SIGKILL, owner)
	if code := agent.Wait(); code != 137 {
		t.Errorf("ended with %d", code)
	}
	h.wantGone(append(pids, owner)...)
}

// Whoever is stopped first and killed then leaves nothing either: keeper, gateway,
// and each beside the other.
func TestStopThenKill(t *testing.T) {
	for name, order := range map[string][2]func(keeper, owner int) (syscall.Signal, int){
		"the keeper": {
			func(k, _ int) (syscall.Signal, int) { return syscall.SIGSTOP, k },
			func(k, _ int) (syscall.Signal, int) { return syscall.SIGKILL, k }},
		"the owner": {
			func(_, o int) (syscall.Signal, int) { return syscall.SIGSTOP, o },
			func(_, o int) (syscall.Signal, int) { return syscall.SIGKILL, o }},
		"the stopped keepers owner before it goes on": {
			func(k, o int) (syscall.Signal, int) { _ = syscall.Kill(k, syscall.SIGSTOP); return syscall.SIGKILL, o },
			func(k, _ int) (syscall.Signal, int) { return syscall.SIGCONT, k }},
		"the stopped owners keeper before it goes on": {
			func(k, o int) (syscall.Signal, int) { _ = syscall.Kill(o, syscall.SIGSTOP); return syscall.SIGKILL, k },
			func(_, o int) (syscall.Signal, int) { return syscall.SIGCONT, o }},
		"the owner that is told to end while it is stopped": {
			func(_, o int) (syscall.Signal, int) { return syscall.SIGSTOP, o },
			func(k, _ int) (syscall.Signal, int) { return syscall.SIGTERM, k }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			agent, owner, pids := one(h, ", -fault, ignore-eof, -fault, grandchild=hidden", 1)
			for _, step := range order {
				sig, pid := step(agent.PID(), owner)
				h.kill(sig, pid)
			}
			agent.Wait()
			h.wantGone(append(pids, owner)...)
		})
	}
}

// MB-030, MB-052: fifty starts in one gateway, half of which fail, leave no zombie
// and no descriptor.
func TestFiftyStarts(t *testing.T) {
	h := newHome(t)
	var b strings.Builder
	b.WriteString("version: 1\nservers:\n")
	for i := range 50 {
		fault := ""
		if i%2 == 1 {
			fault = ", -fault, exit-at-start=3"
		}
		fmt.Fprintf(&b, "  s%d: {command: $FAKE, args: [-events, $HOME/events%s], idle_stop: 10ms}\n", i, fault)
	}
	b.WriteString("policies:\n  everything: {servers: [\"*\"], allow: [read, write, execute]}\ndefaults: {policy: everything, trust_level: 2}\n")
	h.write(".config/postern/mcp.yaml", b.String())
	agent := mcptest.Start(t, h.command("mcp-serve", "--list-wait", "0"))
	agent.Initialize()
	owner := mcptest.Below(t, agent.PID())
	agent.Call("s0__echo", "{}")
	idle := func() bool { return len(proc.Below(owner)) == 0 }
	if !mcptest.Eventually(idle) {
		t.Fatalf("not idle: %v", proc.Below(owner))
	}
	before := descriptors(t, owner)
	for i := range 50 {
		agent.Expect(agent.Request("tools/call", mcptest.CallParams(fmt.Sprintf("s%d__echo", i), "{}")))
	}
	if !mcptest.Eventually(idle) {
		t.Errorf("children are left: %v", proc.Below(owner))
	}
	if after := descriptors(t, owner); after > before+3 {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	if n := descriptors(t, agent.PID()); n > 16 {
		t.Errorf("the keeper has %d descriptors", n)
	}
	if n := len(mcptest.Events(t, h.path("events"), "start")); n < 50 {
		t.Errorf("%d starts", n)
	}
	if code := agent.Close(); code != 0 {
		t.Errorf("ended with %d", code)
	}
}

func descriptors(t *testing.T, pid int) int {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// MB-030: fifty commands one after the other leave no process to whoever runs
// them, not even one that has ended.
func TestFiftyCommands(t *testing.T) {
	adopt := func(yes uintptr) {
		const subreaper = 36 // PR_SET_CHILD_SUBREAPER
		if _, _, errno := syscall.Syscall(syscall.SYS_PRCTL, subreaper, yes, 0); errno != 0 {
			t.Fatal(errno)
		}
	}
	adopt(1)
	defer adopt(0)
	earlier := map[proc.ID]bool{}
	for _, s := range proc.Below(os.Getpid()) {
		earlier[s.ID] = true
	}
	h := newHome(t)
	h.write(".config/postern/mcp.yaml", "version: 1\nservers:\n  s: {command: $FAKE, args: [-events, $HOME/events, -fault, grandchild=hidden]}\n"+
		"policies:\n  everything: {servers: [\"*\"], allow: [read, write, execute]}\ndefaults: {policy: everything, trust_level: 2}\n")
	for range 50 {
		h.run(0, "mcp-call", "s", "echo", "a=1")
	}
	for _, s := range proc.Below(os.Getpid()) {
		if s.Parent == os.Getpid() && !earlier[s.ID] {
			t.Errorf("process %d came to us in state %c", s.PID, s.State)
		}
	}
	if n := len(mcptest.Events(t, h.path("events"), "start")); n < 50 {
		t.Errorf("%d starts", n)
	}
}

// C32: nothing of the keeper's reaches a server, nor does an agent's own mark
// reach the gateway.
func TestKeeperIsInvisible(t *testing.T) {
	h := newHome(t)
	self, err := proc.Look(os.Getpid()) // an owner that is gone would be swept for
	if err != nil {
		t.Fatal(err)
	}
	h.env = append(h.env, "POSTERN_KEEPER=1.1.3.1", "POSTERN_INSTANCE="+self.ID.String()+".a-1", "POSTERN_X=1")
	agent, owner, _ := one(h, "", 0)
	var got struct {
		Env  map[string]string
		PPID int
	}
	result := agent.Call("s__env", "{}")
	var r struct{ StructuredContent json.RawMessage }
	if err := json.Unmarshal(result, &r); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(r.StructuredContent, &got); err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range got.Env {
		if strings.HasPrefix(name, "POSTERN_") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"POSTERN_DEPTH", "POSTERN_INSTANCE"}) || got.PPID != owner {
		t.Errorf("%v below %d", names, got.PPID)
	}
	if mark := got.Env["POSTERN_INSTANCE"]; !strings.HasPrefix(mark, strconv.Itoa(owner)+".") {
		t.Errorf("owner %d: %s", owner, mark)
	}
	agent.Close()
	rows, _ := h.run(0, "mcp-log", "tool=env", "-o", "jsonl")
	if want := fmt.Sprintf(`"client_pid":%d`, os.Getpid()); !strings.Contains(rows, want) {
		t.Errorf("no %s in %s", want, rows)
	}
}

// Commands that only read start no second process. strace tells.
func TestReadersHaveNoKeeper(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("no strace here")
	}
	h := newHome(t)
	h.write(".config/postern/mcp.yaml", "version: 1\nservers:\n  s: {command: $FAKE}\n")
	h.run(0, "mcp-catalog", "refresh")
	executions := func(args ...string) int {
		trace := h.path("trace")
		c := exec.Command(strace, append([]string{"-f", "-qq", "-e", "trace=execve", "-o", trace, filepath.Join(h.bin, args[0])}, args[1:]...)...)
		c.Dir, c.Env = h.project, h.env
		_ = c.Run()
		raw, err := os.ReadFile(trace)
		if err != nil {
			t.Skip("strace cannot trace here")
		}
		return strings.Count(string(raw), "execve(")
	}
	if n := executions("mcp-catalog", "refresh", "--stale"); n != 2 {
		t.Skipf("strace sees %d executions of a command with a keeper", n)
	}
	for _, line := range []string{
		"mcp-catalog servers", "mcp-catalog tools", "mcp-catalog show s", "mcp-catalog add x --no-refresh -- cat",
		"mcp-catalog rm x", "mcp-trust status", "mcp-trust list", "mcp-trust deny x", "mcp-trust revoke x",
		"mcp-log", "mcp-call --help", "mcp-call --version", "mcp-call", "mcp-serve --help", "mcp-serve x", "mcp-catalog refresh --jobs 0",
	} {
		if n := executions(strings.Fields(line)...); n != 1 {
			t.Errorf("%s: %d executions", line, n)
		}
	}
}
