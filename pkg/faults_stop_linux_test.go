package pkg

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"postern/pkg/mcptest"
)

func readFile(path string) string {
	data, _ := os.ReadFile(path) // what cannot be read is empty
	return string(data)
}

// state is the letter of a process: T when it is stopped.
func state(pid int) string {
	_, rest, _ := strings.Cut(readFile("/proc/"+strconv.Itoa(pid)+"/stat"), ") ")
	return rest[:min(1, len(rest))]
}

func (f *fault) stop(pid int) {
	f.t.Helper()
	f.kill(pid, syscall.SIGSTOP)
	if !mcptest.Eventually(func() bool { return state(pid) == "T" }) {
		f.t.Fatalf("%d does not stop", pid)
	}
}

// A stopped server answers nothing: calls end at their timeout, those of other
// servers do not notice, and once it goes on the same process serves the next
// call. What it says late belongs to nobody.
func TestFaultServerStopped(t *testing.T) {
	f := newFault(t, "a [] timeout: 1s", "b")
	a := f.agent()
	f.call(a, "b__echo", "")
	server := f.server(a, "a")
	f.stop(server)
	var open []string
	for range 3 {
		open = append(open, f.ask(a, "a__echo", ""))
	}
	f.within(3*time.Second, "the other server's call", func() { f.call(a, "b__echo", "") })
	for _, id := range open {
		f.wantAnswer(a, "timeout", id)
	}
	f.kill(server, syscall.SIGCONT)
	mcptest.WaitEvents(t, f.events, "cancelled", 3)
	if f.server(a, "a") != server {
		t.Error("it was started again")
	}
	f.wantRows(f.sound(a), map[string]int{"ok": 4, "timeout": 3})
}

// A server that is stopped when the session ends is killed all the same.
func TestFaultServerStoppedAtTheEnd(t *testing.T) {
	f := newFault(t, "a [-fault, grandchild=session]")
	a := f.agent()
	f.stop(f.server(a, "a"))
	f.within(9*time.Second, "the end", func() { f.sound(a) })
}

// mcp-serve is stopped while calls are under way, longer than they may take.
// When it goes on each call has exactly one answer, a server that has died
// meanwhile is replaced by the next call (MB-021), and the session is as good as
// new. The keeper is not needed for any of it.
func TestFaultServeStopped(t *testing.T) {
	f := newFault(t, "a [] timeout: 1s, restart_delay: 50ms", "b [] timeout: 1s")
	a := f.agent()
	owner := mcptest.Below(t, a.PID())
	f.call(a, "b__echo", "")
	victim := f.server(a, "a")
	f.stop(a.PID())
	f.call(a, "a__echo", "") // its keeper is stopped and the session goes on
	open := []string{f.ask(a, "a__never", ""), f.ask(a, "b__slow", `,"ms":100`), f.ask(a, "b__never", "")}
	mcptest.WaitEvents(t, f.events, "call", 6)
	f.stop(owner)
	open = append(open, f.ask(a, "b__echo", ""))
	f.kill(victim, syscall.SIGKILL)
	time.Sleep(1500 * time.Millisecond) // past every timeout
	f.kill(owner, syscall.SIGCONT)
	f.kill(a.PID(), syscall.SIGCONT)
	f.wantAnswer(a, "outcome_unknown|timeout", open[0])
	f.wantAnswer(a, "timeout|", open[1])
	f.wantAnswer(a, "timeout", open[2])
	f.wantAnswer(a, "", open[3])
	f.call(a, "a__echo", "")
	f.call(a, "b__echo", "")
	for _, id := range open {
		answers := 0
		for _, m := range a.Lines() {
			if string(m.IDBytes()) == id {
				answers++
			}
		}
		if answers != 1 {
			t.Errorf("%d answers to %s", answers, id)
		}
	}
	if n := len(f.sound(a)); n != 9 {
		t.Errorf("%d rows of 9 calls", n)
	}
}
