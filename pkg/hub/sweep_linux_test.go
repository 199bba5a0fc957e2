package hub

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"postern/pkg/config"
	"postern/pkg/mcptest"
	"postern/pkg/proc"
	"postern/pkg/upstream"
)

// idle starts a process that sleeps and carries what is given as its mark; ""
// none. more changes how it is started.
func idle(t testing.TB, text string, more func(*exec.Cmd)) proc.ID {
	t.Helper()
	c := exec.Command("/bin/sleep", "600")
	c.Env = []string{"PATH=/bin"}
	if text != "" {
		c.Env = append(c.Env, upstream.MarkName+"="+text)
	}
	if more != nil {
		more(c)
	}
	if err := c.Start(); err != nil {
		t.Skipf("%v", err)
	}
	id := identify(c.Process.Pid)
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	return id
}

// dead is a process that was and is not.
func dead(t testing.TB) proc.ID {
	t.Helper()
	c := exec.Command("/bin/cat")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	id := identify(c.Process.Pid)
	in.Close()
	if err := c.Wait(); err != nil || id.Start == 0 {
		t.Fatal(id, err)
	}
	return id
}

func mustEnd(t *testing.T, what string, id proc.ID) {
	t.Helper()
	if !mcptest.Eventually(id.Gone) {
		t.Errorf("%s: the server is left", what)
	}
}

// MB-061: what carries the mark of an owner that is gone is ended. A stopped
// owner, or one whose parent has not waited for it while others use its pid, is
// told apart by pid and start; whoever carries no such mark is never signalled.
func TestSweep(t *testing.T) {
	if found, left := Sweep(t.Context()); left != 0 {
		t.Fatalf("found %d, left %d", found, left)
	}
	gone, alive := dead(t), idle(t, "", nil)
	stopped := idle(t, "", nil)
	mcptest.Signal(t, syscall.SIGSTOP, stopped.PID)
	waitState(t, stopped.PID, "T")
	spared := map[string]proc.ID{}
	for what, text := range map[string]string{
		"no mark": "", "an owner that lives": alive.String() + ".a-1", "an owner that is stopped": stopped.String() + ".a-1",
		"no start": fmt.Sprintf("%d.0.a-1", gone.PID), "no name": gone.String(), "an empty name": gone.String() + ".",
		"not a mark": "x" + gone.String() + ".a-1", "a mark with zeros": "0" + gone.String() + ".a-1",
	} {
		spared[what] = idle(t, text, nil)
	}
	spared["the mark as another's value"] = idle(t, "", func(c *exec.Cmd) {
		c.Env = append(c.Env, "X="+upstream.MarkName+"="+gone.String()+".a-1", "X"+upstream.MarkName+"="+gone.String()+".a-1")
	})
	swept := map[string]proc.ID{
		"an owner that is gone":  idle(t, gone.String()+".a-1", nil),
		"an owner with its pid":  idle(t, proc.ID{PID: alive.PID, Start: alive.Start - 1}.String()+".a-1", nil),
		"a session of its own":   idle(t, gone.String()+".a-2", func(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }),
		"a process that stopped": idle(t, gone.String()+".a-3", nil),
	}
	mcptest.Signal(t, syscall.SIGSTOP, swept["a process that stopped"].PID)
	if _, left := Sweep(t.Context()); left != 0 {
		t.Errorf("%d left", left)
	}
	for what, id := range swept {
		mustEnd(t, what, id)
	}
	for what, id := range spared {
		if id.Gone() {
			t.Errorf("%s: an innocent process was ended", what)
		}
	}
}

// What another user runs, or what lives among other pids, is not ours to judge.
func TestSweepSparesOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be others")
	}
	text := dead(t).String() + ".a-1"
	for what, attributes := range map[string]*syscall.SysProcAttr{
		"another user":          {Credential: &syscall.Credential{Uid: 65534, Gid: 65534}},
		"another pid namespace": {Cloneflags: unix.CLONE_NEWPID},
	} {
		t.Run(what, func(t *testing.T) {
			id := idle(t, text, func(c *exec.Cmd) { c.SysProcAttr = attributes })
			if found, left := Sweep(t.Context()); left != 0 || id.Gone() {
				t.Errorf("found %d, left %d", found, left)
			}
		})
	}
}

// A process that runs below a server whose owner is gone sweeps neither itself
// nor what it runs below.
func TestSweepSparesItself(t *testing.T) {
	c := exec.Command("/bin/sh", "-c", `"$0" sweep; echo alive`, os.Args[0])
	c.Env = append(os.Environ(), programVariable+"=1", upstream.MarkName+"="+dead(t).String()+".a-1")
	out, err := c.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), " 0\nalive\n") {
		t.Errorf("%q, %v", out, err)
	}
}

// R12: who ignores SIGTERM gets SIGKILL, within the bound; who is in a hurry
// waits for nobody.
func TestSweepOfStubborn(t *testing.T) {
	text := dead(t).String() + ".a-1"
	start := func() proc.ID {
		events := t.TempDir() + "/events"
		id := idle(t, text, func(c *exec.Cmd) {
			c.Path = mcptest.FakeServerCommand(t)
			c.Args = []string{mcptest.Name, "-events", events, "-fault", "ignore-term", "-fault", "ignore-eof"}
		})
		mcptest.WaitEvents(t, events, "start", 1)
		return id
	}
	// Whoever starts servers sweeps, other tests' commands too: one of them may
	// have been at this process already.
	for try := 1; ; try++ {
		id := start()
		begin := time.Now()
		found, left := Sweep(t.Context())
		took := time.Since(begin)
		mustEnd(t, "ignores SIGTERM", id)
		if found >= 1 && left == 0 && took >= config.TermGrace && took <= config.TermGrace+config.KillGrace {
			break
		}
		if t.Logf("found %d, left %d after %v", found, left, took); try == 3 {
			t.Fatal("three times not as the ladder has it")
		}
	}
	start()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	begin := time.Now()
	if Sweep(ctx); time.Since(begin) > config.TermGrace {
		t.Errorf("it took %v to give up", time.Since(begin))
	}
}

// Sweep is paid before the first server of a process is started.
func BenchmarkSweep(b *testing.B) {
	for range 300 {
		idle(b, "1.1", nil)
	}
	b.Logf("%d processes", len(proc.All()))
	for b.Loop() {
		Sweep(b.Context())
	}
}
