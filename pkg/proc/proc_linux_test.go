package proc

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// sleeper starts a process that ends when its input does, and ends it then.
func sleeper(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(name, args...)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Env = []string{"PATH=/usr/bin:/bin", "A=1", "POSTERN_INSTANCE=7.12.x", "EMPTY="}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	return c
}

// until asks until the answer is yes, at most 20 s.
func until(yes func() bool) bool {
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if yes() {
			return true
		}
	}
	return yes()
}

func look(t *testing.T, pid int) Stat {
	t.Helper()
	s, err := Look(pid)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// MB-061: an ID is one life. A stopped process is not gone, a zombie is, and a
// look that failed for another reason than that nobody is there proves nothing.
func TestGone(t *testing.T) {
	c := sleeper(t, "cat")
	id := look(t, c.Process.Pid).ID
	if id.Gone() || Self().Gone() {
		t.Error("the living are gone")
	}
	if !(ID{id.PID, id.Start - 1}).Gone() || !(ID{id.PID, id.Start + 1}).Gone() {
		t.Error("another start is the same process")
	}
	if (ID{PID: id.PID}).Gone() {
		t.Error("a process whose start is not known is gone though its pid is there")
	}
	if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if !until(func() bool { return look(t, id.PID).State == 'T' }) || id.Gone() {
		t.Error("a stopped process is gone")
	}
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	none := was
	none.Cur = 3
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	gone, absent, all := id.Gone(), ID{1 << 22, 7}.Gone(), All()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	if gone || absent || all != nil {
		t.Errorf("without descriptors: gone %v %v, %d processes", gone, absent, len(all))
	}
	_ = c.Process.Kill()
	if !until(func() bool { return look(t, id.PID).State == 'Z' }) || !id.Gone() {
		t.Error("a zombie is not gone")
	}
	_ = c.Wait()
	if !id.Gone() {
		t.Error("nobody is not gone")
	}
}

// MB-061: a signal reaches the process that was looked at and no other.
func TestSignal(t *testing.T) {
	c := sleeper(t, "cat")
	s := look(t, c.Process.Pid)
	ID{s.PID, s.Start + 1}.Signal(unix.SIGKILL)
	ID{s.PID, 0}.Signal(unix.SIGKILL)
	ID{1 << 22, 0}.Signal(unix.SIGKILL)
	if time.Sleep(50 * time.Millisecond); s.Gone() { // nothing tells that nothing happened
		t.Fatal("another life was meant")
	}
	s.Signal(unix.SIGKILL)
	if !until(s.Gone) {
		t.Error("it lives on")
	}
}

func TestVariable(t *testing.T) {
	c := sleeper(t, "cat")
	// Right after exec a process has no environment yet.
	until(func() bool { _, ok := Variable(c.Process.Pid, "A"); return ok })
	for name, want := range map[string]string{"A": "1", "POSTERN_INSTANCE": "7.12.x", "EMPTY": ""} {
		if got, ok := Variable(c.Process.Pid, name); !ok || got != want {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
	}
	for _, name := range []string{"", "POSTERN", "NSTANCE", "1"} {
		if got, ok := Variable(c.Process.Pid, name); ok {
			t.Errorf("%s: %q", name, got)
		}
	}
	if _, ok := Variable(1<<22, "A"); ok {
		t.Error("nobody has a variable")
	}
}

// Descendants are found at any depth, and what is beside them is not.
func TestBelow(t *testing.T) {
	beside := sleeper(t, "cat")
	c := sleeper(t, "sh", "-c", "sh -c 'sleep 60 & sleep 60; :' & sleep 60; :")
	pids := func() (out []int) {
		for _, s := range Below(c.Process.Pid) {
			if !s.Ended() {
				out = append(out, s.PID)
			}
		}
		return out
	}
	if !until(func() bool { return len(pids()) == 4 }) {
		t.Fatalf("below: %v", pids())
	}
	if slices.Contains(pids(), beside.Process.Pid) || slices.Contains(pids(), c.Process.Pid) {
		t.Errorf("below: %v", pids())
	}
	if ours := Below(os.Getpid()); len(ours) < 5 {
		t.Errorf("%d below us", len(ours))
	}
	if !until(func() bool {
		for _, s := range Below(c.Process.Pid) {
			s.Signal(unix.SIGKILL)
		}
		return len(pids()) == 0
	}) {
		t.Errorf("below: %v", pids())
	}
}

func TestReaped(t *testing.T) {
	c := sleeper(t, "cat")
	pid := c.Process.Pid
	if Reaped(pid) {
		t.Error("the living is reaped")
	}
	_ = c.Process.Kill()
	if !until(func() bool { return Reaped(pid) }) || !Reaped(pid) {
		t.Error("the dead is not")
	}
}

// Orphans come to a subreaper.
func TestBecomeSubreaper(t *testing.T) {
	if err := BecomeSubreaper(); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!").Output()
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(out)))
	s := look(t, pid)
	if s.Parent != os.Getpid() {
		t.Errorf("parent %d", s.Parent)
	}
	s.Signal(unix.SIGKILL)
	if !until(func() bool { return Reaped(pid) }) {
		t.Error("not reaped")
	}
}

// What /proc says, whatever a process calls itself.
func FuzzParseStat(f *testing.F) {
	f.Add("7 (a) b) S 1 7 7 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 12345 0 0")
	f.Add("7 () Z")
	f.Add(")")
	f.Add("\x00 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0")
	f.Fuzz(func(t *testing.T, raw string) {
		s, ok := parseStat(7, raw)
		if ok && (s.PID != 7 || s.State < 'A' || s.State > 'z') {
			t.Errorf("%q: %+v", raw, s)
		}
	})
}

func TestParseStat(t *testing.T) {
	rest := " S 1 9 7 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 12345 0 0"
	for _, name := range []string{"(sh)", "(a) (b)", "(a) b) (c )", "(x S 1 2 3)", "()"} {
		got, ok := parseStat(7, "7 "+name+rest)
		if want := (Stat{ID: ID{7, 12345}, Parent: 1, Group: 9, State: 'S'}); !ok || got != want {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
	for _, raw := range []string{"", "7", "7 (sh) S 1 2", "7 (sh) S x 9" + rest} {
		if got, ok := parseStat(7, raw); ok {
			t.Errorf("%q: %+v", raw, got)
		}
	}
	self := look(t, os.Getpid())
	if self.Parent != os.Getppid() || self.Group != unix.Getpgrp() || self.Ended() || self.ID != Self() {
		t.Errorf("got %+v", self)
	}
}

// Where /proc shows nothing, or hides a process, that is no sign of its end.
func TestGoneWithoutProc(t *testing.T) {
	const variable = "PROC_TEST_PARENT"
	if parent, err := strconv.Atoi(os.Getenv(variable)); err == nil {
		if _, err := Look(parent); err == nil || len(All()) > 0 {
			t.Error("this test has a /proc")
		}
		if (ID{parent, 7}).Gone() || (ID{os.Getpid(), 7}).Gone() {
			t.Error("the living are gone")
		}
		if !(ID{1 << 22, 7}).Gone() {
			t.Error("nobody is not gone")
		}
		return
	}
	const hide = "mount -t tmpfs none /proc"
	if out, err := exec.Command("unshare", "-rm", "sh", "-c", hide).CombinedOutput(); err != nil {
		t.Skipf("no namespaces here: %v %s", err, out)
	}
	c := exec.Command("unshare", "-rm", "sh", "-c", hide+` && exec "$0" -test.run='^TestGoneWithoutProc$' -test.v`, os.Args[0])
	c.Env = append(os.Environ(), variable+"="+strconv.Itoa(os.Getpid()))
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestGoneWithoutProc") {
		t.Errorf("%v: %s", err, out)
	}
}

// The pids of another pid namespace's /proc are others' here: it tells no start, least
// of all of this process, by which its servers know their owner.
func TestIdentifyElsewhere(t *testing.T) {
	const variable = "PROC_TEST_ELSEWHERE"
	if os.Getenv(variable) != "" {
		if _, err := Look(os.Getpid()); err != nil || os.Getpid() != 1 {
			t.Error("the /proc of this test shows no other process as this one")
		}
		if id := Self(); id != (ID{PID: 1}) || len(All()) > 0 {
			t.Errorf("this is %v of %d processes", id, len(All()))
		}
		return
	}
	c := exec.Command("unshare", "-rpf", os.Args[0], "-test.run=^TestIdentifyElsewhere$", "-test.v")
	c.Env = append(os.Environ(), variable+"=1")
	out, err := c.CombinedOutput()
	if !strings.Contains(string(out), "=== RUN") {
		t.Skipf("no namespaces here: %v %s", err, out)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: TestIdentifyElsewhere") {
		t.Errorf("%v: %s", err, out)
	}
	if id := Identify(os.Getpid()); id != Self() || id.Start == 0 {
		t.Errorf("this is %v", id)
	}
}
