package pkg

import (
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"postern/pkg/mcptest"
	"postern/pkg/proc"
)

// atShell declares one server and gives a shell in whose PATH the commands are.
func atShell(t *testing.T, args string) (*home, *mcptest.Shell) {
	t.Helper()
	h := newHome(t)
	h.write(".config/postern/mcp.yaml", "version: 1\nservers:\n  s: {command: $FAKE, args: [-events, $HOME/events"+args+"]}\n"+
		"policies:\n  everything: {servers: [\"*\"], allow: [read, write, execute]}\ndefaults: {policy: everything, trust_level: 2}\n")
	return h, mcptest.StartShell(t, h.project, h.env)
}

// job is the command that the shell runs: its keeper and the process below.
func job(t *testing.T, s *mcptest.Shell) (keeper, owner int) {
	t.Helper()
	keeper = mcptest.Below(t, s.PID())
	return keeper, mcptest.Below(t, keeper)
}

func group(pid int) int {
	id, _ := syscall.Getpgid(pid)
	return id
}

func waitState(t *testing.T, pid int, want byte) {
	t.Helper()
	if !mcptest.Eventually(func() bool {
		s, err := proc.Look(pid)
		return err == nil && s.State == want
	}) {
		t.Fatalf("process %d does not come to state %c", pid, want)
	}
}

// MB-040: at a terminal the command is one job of the shell, and its server has
// no part in it: it finds no terminal to take.
func TestTerminalIsNotTheServers(t *testing.T) {
	h, s := atShell(t, ", -fault, tty")
	s.Type("mcp-call s echo a=1; echo code=$?\n")
	s.Await(`{"a":"1"}`)
	s.Await("code=0")
	events := mcptest.Events(t, h.path("events"), "tty")
	if len(events) != 1 || !strings.Contains(events[0].Data, "no such device or address") {
		t.Errorf("the server and its terminal: %v", events)
	}
	s.Type("echo still here\n")
	s.Await("still here")
}

// K4, R80: ^C interrupts once, whomever it reaches: the server is told, the code
// is 130, and nothing is left. The second ends it at once.
func TestTerminalInterrupt(t *testing.T) {
	for name, args := range map[string]string{"": "", "deaf": ", -fault, ignore-eof, -fault, ignore-term"} {
		t.Run("server "+name, func(t *testing.T) {
			h, s := atShell(t, args)
			s.Type("mcp-call s never; echo code=$?\n")
			server := mcptest.WaitEvents(t, h.path("events"), "call", 1)[0].PID
			keeper, owner := job(t, s)
			if group(keeper) != group(owner) || group(keeper) == group(s.PID()) {
				t.Errorf("groups: shell %d, keeper %d, owner %d", group(s.PID()), group(keeper), group(owner))
			}
			s.Type("\x03")
			mcptest.WaitEvents(t, h.path("events"), "cancelled", 1)
			if name == "deaf" {
				s.Type("\x03")
			} else {
				s.Await("mcp-call: interrupted before server s answered; the call may have happened")
			}
			s.Await("code=130")
			for _, pid := range []int{server, keeper, owner} {
				if !gone(pid) {
					t.Errorf("process %d is left", pid)
				}
			}
		})
	}
}

// ^Z stops the command, fg and bg go on with it; then ^C, and the shell's kill,
// end it with 130, once: the server is told.
func TestTerminalStop(t *testing.T) {
	for name, tc := range map[string]struct{ goOn, end string }{
		"fg": {"fg; echo code=$?\n", "\x03"},
		"bg": {"bg\n", "kill %1; wait %1; echo code=$?\n"},
	} {
		t.Run(name, func(t *testing.T) {
			h, s := atShell(t, "")
			s.Type("mcp-call s never\n")
			mcptest.WaitEvents(t, h.path("events"), "call", 1)
			keeper, owner := job(t, s)
			s.Type("\x1a")
			waitState(t, keeper, 'T')
			waitState(t, owner, 'T')
			s.Await("Stopped")
			s.Type(tc.goOn)
			waitState(t, keeper, 'S')
			waitState(t, owner, 'S')
			s.Type(tc.end)
			mcptest.WaitEvents(t, h.path("events"), "cancelled", 1)
			s.Await("code=130")
			if !gone(keeper) || !gone(owner) {
				t.Error("something is left")
			}
		})
	}
}

// A command of a pipeline is in the pipeline's group, which ^C reaches; whoever
// has no terminal at all has a session of its own below, and ^C comes through
// the keeper. Either way 130, once.
func TestTerminalPipeline(t *testing.T) {
	for name, line := range map[string]string{
		"group":   "mcp-call s never | cat; echo over\n",
		"session": "mcp-call s never </dev/null 2>$HOME/said | cat; echo over\n",
	} {
		t.Run(name, func(t *testing.T) {
			h, s := atShell(t, "")
			s.Type(line)
			server := mcptest.WaitEvents(t, h.path("events"), "call", 1)[0].PID
			stat, err := proc.Look(server)
			if err != nil {
				t.Fatal(err)
			}
			owner := stat.Parent
			of, err := proc.Look(owner)
			if err != nil {
				t.Fatal(err)
			}
			session, _, errno := syscall.Syscall(syscall.SYS_GETSID, uintptr(owner), 0, 0)
			if own := int(session) == owner; errno != 0 || own != (name == "session") {
				t.Errorf("process %d is in session %d, %v", owner, session, errno)
			}
			s.Type("\x03")
			mcptest.WaitEvents(t, h.path("events"), "cancelled", 1)
			s.Type("echo again\n")
			s.Await("again")
			if !mcptest.Eventually(func() bool { return gone(owner) && gone(of.Parent) && gone(server) }) {
				t.Errorf("left: server %v, owner %v, keeper %v", gone(server), gone(owner), gone(of.Parent))
			}
			if said, _ := os.ReadFile(h.path("said")); name == "session" && !strings.HasPrefix(string(said), "mcp-call: interrupted") {
				t.Errorf("it said %q", said)
			}
		})
	}
}

// A terminal that goes away takes the command along, and its server.
func TestTerminalHangup(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("these tests were started to outlive their terminal, and so is all that they start")
	}
	h, s := atShell(t, "")
	s.Type("mcp-call s never\n")
	server := mcptest.WaitEvents(t, h.path("events"), "call", 1)[0].PID
	keeper, owner := job(t, s)
	s.Hangup()
	for name, pid := range map[string]int{"server": server, "keeper": keeper, "owner": owner} {
		if !mcptest.Eventually(func() bool { return gone(pid) }) {
			t.Errorf("the %s %s is left", name, strconv.Itoa(pid))
		}
	}
}
