package hub

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
	"time"

	"golang.org/x/sys/unix"

	"postern/pkg/config"
	"postern/pkg/mcptest"
	"postern/pkg/proc"
)

// K4: the code passes, whichever it is, and a signal as the shell shows it.
func TestCodes(t *testing.T) {
	for _, code := range []int{0, 1, 7, 130, 255} {
		k := keep(t, "exit", strconv.Itoa(code))
		if got := k.end(); got != code || k.stderr.String() != fmt.Sprintf("end %d 0 0\n", code) {
			t.Errorf("%d: %d, %s", code, got, &k.stderr)
		}
	}
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGHUP} {
		k := keep(t, "kill", strconv.Itoa(int(sig)))
		if got := k.end(); got != 128+int(sig) || k.stderr.String() != fmt.Sprintf("end %d %d 0\n", got, sig) {
			t.Errorf("%v: %d, %s", sig, got, &k.stderr)
		}
	}
}

// The command below is the same in all that can be asked for: arguments, name,
// environment, descriptors. It has a session of its own and no mark.
func TestInheritance(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(text)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	k := prepare(t, []string{"A=1", keeperVariable + "=1.2.3.4"}, "tell", "", "--x=é y", "-")
	k.Path, k.Args[0] = os.Args[0], "some-name"
	if k.Path, err = filepath.Abs(os.Args[0]); err != nil {
		t.Fatal(err)
	}
	k.ExtraFiles = []*os.File{nil, f} // 4; 3 is free
	k.start()
	var w told
	if err := json.Unmarshal([]byte(k.line()), &w); err != nil {
		t.Fatal(err)
	}
	if code := k.end(); code != 0 {
		t.Errorf("ended with %d: %s", code, &k.stderr)
	}
	if w.PPID != k.keeper() || w.Session != w.PID || w.Parent != os.Getpid() || w.Comm != "some-name" {
		t.Errorf("%+v below %d below %d", w, k.keeper(), os.Getpid())
	}
	if want := []string{"some-name", "tell", "", "--x=é y", "-"}; !slices.Equal(w.Args, want) {
		t.Errorf("arguments %q", w.Args)
	}
	env := slices.DeleteFunc(slices.Clone(k.Env), func(e string) bool { return strings.HasPrefix(e, keeperVariable+"=") })
	if a, b := slices.Sorted(slices.Values(w.Environ)), slices.Compact(slices.Sorted(slices.Values(env))); !slices.Equal(a, b) {
		t.Errorf("environment\n%q, not\n%q", a, b)
	}
	if w.FDs["4"] != text {
		t.Errorf("descriptors %v: %s is not among them", w.FDs, text)
	}
	if n := ownPipes(w.FDs); n != 1 {
		t.Errorf("descriptors %v: one pipe is the keeper's", w.FDs)
	}
}

// ownPipes counts the pipes beside the standard ones that were not inherited from
// this process.
func ownPipes(fds map[string]string) (n int) {
	ours := descriptorsOf(os.Getpid())
	for fd, to := range fds {
		if strings.HasPrefix(to, "pipe:") && ours[fd] != to && fd != "0" && fd != "1" && fd != "2" {
			n++
		}
	}
	return n
}

// The mark is believed by the process it was made for and nobody else.
func TestMarkOfOthers(t *testing.T) {
	other := keep(t, "listen").ready()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	self := proc.Self()
	for name, m := range map[string]mark{
		"of another keeper":         {identify(other.keeper()), 3, os.Getpid()},
		"of a kept process":         {identify(other.child), 3, os.Getpid()},
		"of another life":           {proc.ID{PID: self.PID, Start: self.Start + 1}, 3, 1},
		"of an unknown start":       {proc.ID{PID: self.PID}, 3, 1},
		"with a file":               {self, 4, 1},
		"with the end to write":     {self, 5, 1},
		"with a descriptor of none": {self, 99, 1},
	} {
		k := prepare(t, []string{keeperVariable + "=" + m.String()}, "tell")
		k.ExtraFiles = []*os.File{r, os.Stderr, w}
		if name == "with a file" {
			if k.ExtraFiles[1], err = os.Open(os.DevNull); err != nil {
				t.Fatal(err)
			}
			defer k.ExtraFiles[1].Close()
		}
		k.start()
		var found told
		if err := json.Unmarshal([]byte(k.line()), &found); err != nil {
			t.Fatal(err)
		}
		if k.end(); found.PPID != k.keeper() {
			t.Errorf("%s: process %d below %d made no keeper", name, found.PID, found.PPID)
		}
	}
	k := prepare(t, []string{keeperVariable + "=" + mark{self, 3, 4242}.String()}, "tell")
	k.ExtraFiles = []*os.File{r}
	k.start()
	var found told
	if err := json.Unmarshal([]byte(k.line()), &found); err != nil || found.PPID != os.Getpid() || found.Parent != 4242 {
		t.Errorf("our own mark was not believed: %+v, %v", found, err)
	}
}

// Signals to end come to the command once each, also when it was stopped.
func TestSignals(t *testing.T) {
	k := keep(t, "listen").ready()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGTERM} {
		k.signal(k.keeper(), sig)
		if got := k.line(); got != "handed" {
			t.Errorf("%v: %q", sig, got)
		}
	}
	// Each signal that the keeper hands down has a CONT behind it, which may be late.
	if !mcptest.Eventually(func() bool { k.signal(k.child, syscall.SIGSTOP); return processState(k.child) == 'T' }) {
		t.Fatalf("process %d does not stop", k.child)
	}
	k.signal(k.keeper(), syscall.SIGTERM)
	if got := k.line(); got != "handed" {
		t.Errorf("%q", got)
	}
	_ = k.in.Close()
	if code := k.end(); code != 0 {
		t.Errorf("ended with %d", code)
	}
}

// A signal that came before the keeper could listen is handed down.
func TestInterruptedBefore(t *testing.T) {
	k := keep(t, "interrupted").ready()
	if got := k.line(); got != "handed" {
		t.Errorf("%q", got)
	}
	_ = k.in.Close()
	if code := k.end(); code != 0 {
		t.Errorf("ended with %d", code)
	}
}

// Stopping stops both, continuing continues both, and nothing is lost by it.
func TestStop(t *testing.T) {
	k := keep(t, "listen").ready()
	k.signal(k.keeper(), syscall.SIGTSTP)
	waitState(t, k.keeper(), "T")
	waitState(t, k.child, "T")
	k.signal(k.keeper(), syscall.SIGCONT)
	waitState(t, k.keeper(), "SR")
	waitState(t, k.child, "SR")
	k.signal(k.keeper(), syscall.SIGSTOP)
	waitState(t, k.keeper(), "T")
	k.signal(k.keeper(), syscall.SIGINT)
	k.signal(k.keeper(), syscall.SIGCONT)
	if got := k.line(); got != "handed" {
		t.Errorf("%q", got)
	}
	_ = k.in.Close()
	if code := k.end(); code != 0 {
		t.Errorf("ended with %d", code)
	}
}

// QUIT is the runtime's: the command shows where it is, and ends.
func TestQuit(t *testing.T) {
	k := keep(t, "listen").ready()
	k.signal(k.keeper(), syscall.SIGQUIT)
	if code := k.end(); code != 2 || !strings.Contains(k.stderr.String(), "SIGQUIT: quit") {
		t.Errorf("ended with %d: %.200s", code, &k.stderr)
	}
}

// Who ignores hangups goes on ignoring them, as nohup wants it.
func TestNohup(t *testing.T) {
	k := prepare(t, nil, "listen")
	k.Path, k.Args = "/bin/sh", append([]string{"sh", "-c", `trap "" HUP; exec "$0" "$@"`, os.Args[0]}, k.Args[1:]...)
	k.start()
	k.ready()
	k.signal(k.keeper(), syscall.SIGHUP)
	k.signal(k.keeper(), syscall.SIGINT)
	if got := k.line(); got != "handed" {
		t.Errorf("%q", got)
	}
	_ = k.in.Close()
	if k.end(); k.stderr.String() != "end 0 0 0\n" {
		t.Errorf("%s", &k.stderr)
	}
}

// Every wait is bounded: a command that was told to end and does not is killed.
func TestPatience(t *testing.T) {
	k := keep(t, "deaf").ready()
	begin := time.Now()
	k.signal(k.keeper(), syscall.SIGTERM)
	if code := k.end(); code != 137 || time.Since(begin) < time.Second {
		t.Errorf("ended with %d after %v: %s", code, time.Since(begin), &k.stderr)
	}
	waitGone(t, k.child)
}

// The keeper's death, stopped or not, comes to the command as a signal and as the
// end of the pipe.
func TestKeeperIsKilled(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		k := keep(t, "listen").ready()
		if stopped {
			k.signal(k.keeper(), syscall.SIGSTOP)
			waitState(t, k.keeper(), "T")
		}
		k.signal(k.keeper(), syscall.SIGKILL)
		said := map[string]int{}
		for (said["handed"] == 0 || said["direct 15"] == 0) && said[""] == 0 {
			said[k.line()]++
		}
		_ = k.in.Close()
		for line := k.line(); line != ""; line = k.line() {
			said[line]++
		}
		// The kernel may say it once for each thread that the keeper had.
		if len(said) != 2 || said["handed"] != 1 {
			t.Errorf("%v", said)
		}
		if !mcptest.Eventually(func() bool { return processState(k.child) == 0 || processState(k.child) == 'Z' }) {
			t.Error("the command lives on")
		}
	}
}

// servers starts a command with one fake server, waits for n descendants of that
// and returns all pids below the command.
func servers(t *testing.T, n int, faults ...string) (*kept, []int) {
	t.Helper()
	events := filepath.Join(t.TempDir(), "events")
	args := []string{"spawn", mcptest.FakeServerCommand(t), "-events", events}
	for _, f := range append(faults, "ignore-eof") {
		args = append(args, "-fault", f)
	}
	k := keep(t, args...).ready()
	pids := []int{mcptest.WaitEvents(t, events, "start", 1)[0].PID}
	for _, e := range mcptest.WaitEvents(t, events, "grandchild", n) {
		pid, err := strconv.Atoi(e.Data)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	t.Cleanup(func() {
		for _, pid := range pids {
			if t.Failed() {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	return k, pids
}

// R10, MB-028: when the command is killed, whatever is below it ends and is
// waited for: in the group, in a session, without environment and parent; with
// SIGTERM where that is enough.
func TestCommandIsKilled(t *testing.T) {
	for _, tc := range []struct {
		fault string
		n     int
		deaf  bool
	}{
		{"grandchild=group", 1, false}, {"grandchild=session", 1, false}, {"grandchild=hidden", 1, false},
		{"grandchild=hidden", 1, true}, {"grandchild=browser", 8, false}, {"grandchild=browser", 8, true},
	} {
		t.Run(fmt.Sprintf("%s/%v", tc.fault, tc.deaf), func(t *testing.T) {
			t.Parallel()
			faults := []string{tc.fault}
			if tc.deaf {
				faults = append(faults, "ignore-term")
			}
			k, pids := servers(t, tc.n, faults...)
			begin := time.Now()
			k.signal(k.child, syscall.SIGKILL)
			if code := k.end(); code != 137 || k.stderr.String() != "end 137 9 0\n" {
				t.Errorf("ended with %d: %s", code, &k.stderr)
			}
			took := time.Since(begin)
			if tc.deaf != (took >= config.TermGrace) || took > config.TermGrace+config.KillGrace {
				t.Errorf("took %v", took)
			}
			for _, pid := range append(pids, k.child) {
				if processState(pid) != 0 {
					t.Errorf("process %d is in state %c", pid, processState(pid))
				}
			}
		})
	}
}

// Who has no time gives none: a signal to end meanwhile means SIGKILL at once.
func TestHurry(t *testing.T) {
	k, pids := servers(t, 1, "grandchild=session", "ignore-term")
	k.signal(k.child, syscall.SIGKILL)
	waitGone(t, k.child)
	begin := time.Now()
	k.signal(k.keeper(), syscall.SIGTERM)
	if code := k.end(); code != 137 || time.Since(begin) > config.TermGrace {
		t.Errorf("ended with %d after %v", code, time.Since(begin))
	}
	for _, pid := range pids {
		if processState(pid) != 0 {
			t.Errorf("process %d is in state %c", pid, processState(pid))
		}
	}
}

// A stopped command that is killed, and stopped servers, end like others.
func TestStoppedIsKilled(t *testing.T) {
	k, pids := servers(t, 1, "grandchild=session")
	for _, pid := range append(pids, k.child) {
		k.signal(pid, syscall.SIGSTOP)
		waitState(t, pid, "T")
	}
	k.signal(k.child, syscall.SIGKILL)
	if code := k.end(); code != 137 {
		t.Errorf("ended with %d", code)
	}
	for _, pid := range append(pids, k.child) {
		if processState(pid) != 0 {
			t.Errorf("process %d is in state %c", pid, processState(pid))
		}
	}
}

// The keeper costs no descriptor but its end of the pipe and standard error, so
// that the other ends of the command's pipes see the command's end.
func TestKeeperHoldsNothing(t *testing.T) {
	k := keep(t, "listen").ready()
	fds := descriptorsOf(k.keeper())
	if fds["0"] != os.DevNull || fds["1"] != os.DevNull {
		t.Errorf("descriptors %v", fds)
	}
	if n := ownPipes(fds); n != 1 {
		t.Errorf("descriptors %v", fds)
	}
	k.signal(k.keeper(), syscall.SIGSTOP)
	k.signal(k.child, syscall.SIGKILL)
	if got := k.line(); got != "" {
		t.Errorf("after the end: %q", got)
	}
	k.signal(k.keeper(), syscall.SIGCONT)
	if code := k.end(); code != 137 {
		t.Errorf("ended with %d", code)
	}
}

// A process that ends takes all below it along, its own keeper or not.
func TestEndDescendants(t *testing.T) {
	if left := EndDescendants(); left != 0 {
		t.Errorf("%d left of none", left)
	}
	if err := proc.BecomeSubreaper(); err != nil {
		t.Fatal(err)
	}
	events := filepath.Join(t.TempDir(), "events")
	c := exec.Command(mcptest.FakeServerCommand(t), "-events", events, "-fault", "grandchild=hidden", "-fault", "ignore-eof")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(mcptest.WaitEvents(t, events, "grandchild", 1)[0].Data)
	if left := EndDescendants(); left != 0 || processState(pid) != 0 || processState(c.Process.Pid) != 0 {
		t.Errorf("%d left; %c %c", left, processState(pid), processState(c.Process.Pid))
	}
}

// pidNone is a pid that no process has.
const pidNone = 1 << 22

// The ladder without processes: what is there for ever takes both graces, a
// signal to end ends the first, others do not, and nothing takes no time.
func TestFinish(t *testing.T) {
	forever := func() ([]proc.Stat, bool) { return []proc.Stat{{ID: proc.ID{PID: pidNone, Start: 1}}}, false }
	hurry := make(chan os.Signal, 2)
	begin := time.Now()
	if left := finish(func() ([]proc.Stat, bool) { return nil, true }, time.Hour, time.Hour, nil); left != 0 || time.Since(begin) > time.Minute {
		t.Errorf("%d left of none", left)
	}
	begin = time.Now()
	if left := finish(forever, 30*time.Millisecond, 50*time.Millisecond, nil); left != 1 || time.Since(begin) < 80*time.Millisecond {
		t.Errorf("%d left after %v", left, time.Since(begin))
	}
	hurry <- unix.SIGCONT
	hurry <- unix.SIGTERM
	begin = time.Now()
	if left := finish(forever, time.Hour, time.Millisecond, hurry); left != 1 || time.Since(begin) > time.Minute || len(hurry) > 0 {
		t.Errorf("%d left after %v", left, time.Since(begin))
	}
	unseen := func() ([]proc.Stat, bool) { return nil, false } // children there are, and no /proc
	if left := finish(unseen, time.Millisecond, time.Millisecond, nil); left != 1 {
		t.Errorf("%d left", left)
	}
}

// MB-030: an orphan that left its server's session and ended is waited for, but
// not before its second look: it could be a child that somebody waits for.
func TestReapStrays(t *testing.T) {
	if err := proc.BecomeSubreaper(); err != nil {
		t.Fatal(err)
	}
	if got := reapStrays(nil); len(got) != 0 {
		t.Errorf("strays %v", got)
	}
	out, err := exec.Command("/bin/sh", "-c", "setsid sh -c 'sleep 0.1' >/dev/null 2>&1 & echo $!").Output()
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(out)))
	waitState(t, pid, "Z")
	id := identify(pid)
	first := reapStrays(map[proc.ID]bool{{PID: pid, Start: id.Start + 1}: true})
	if !first[id] || processState(pid) != 'Z' {
		t.Errorf("at first: %v, state %c", first, processState(pid))
	}
	if second := reapStrays(first); second[id] || processState(pid) != 0 {
		t.Errorf("then: %v, state %c", second, processState(pid))
	}
}

// Who was told twice could not wait for the command, nor for what is below.
func TestToldTwice(t *testing.T) {
	k, pids := servers(t, 1, "grandchild=session", "ignore-term")
	k.signal(k.keeper(), syscall.SIGTERM)
	k.signal(k.keeper(), syscall.SIGINT)
	begin := time.Now()
	if code := k.end(); code != 137 || time.Since(begin) > config.TermGrace {
		t.Errorf("ended with %d after %v", code, time.Since(begin))
	}
	for _, pid := range pids {
		if processState(pid) != 0 {
			t.Errorf("process %d is in state %c", pid, processState(pid))
		}
	}
}

// Orphans that come to the keeper, as all of a container do whose first process it
// is, are waited for when they end, and not only when the command does.
func TestOrphansOfOthers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "orphan")
	keep(t, "spawn", "/bin/sh", "-c", `(sh -c 'echo $$ >"$0.new" && mv "$0.new" "$0"' "$0" &)`, file).ready()
	pid := 0
	if !mcptest.Eventually(func() bool {
		text, _ := os.ReadFile(file)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return pid > 0
	}) {
		t.Fatal("there is no orphan")
	}
	waitGone(t, pid)
}
