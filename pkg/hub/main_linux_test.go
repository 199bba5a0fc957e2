package hub

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"postern/pkg/mcptest"
	"postern/pkg/proc"
)

// programVariable makes the test binary a program that runs below a keeper.
const programVariable = "HUB_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(programVariable) != "" && filepath.Base(os.Args[0]) != mcptest.Name {
		syscall.Exit(program(os.Args[1], os.Args[2:]))
	}
	mcptest.Main(m)
}

// program keeps itself and then does what it is told. As the keeper it says how
// the other one ended on standard error.
func program(verb string, args []string) int {
	if verb == "sweep" { // needs no keeper
		found, left := Sweep(context.Background())
		fmt.Println(found, left)
		return 0
	}
	if verb == "hub" { // as a service would run it
		return serveProgram(args)
	}
	if verb == "bridge" {
		return bridgeProgram(args[0])
	}
	leash := Attach()
	if leash == nil {
		k, err := StartKeeper(KeeperOptions{Args: os.Args, Environ: os.Environ(), Terminal: os.Getenv(programVariable) == "terminal"})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 99
		}
		if verb != "listen" { // which does as it is told, though not at once on a busy machine
			k.patience = time.Second
		}
		end := k.Wait(verb == "interrupted")
		fmt.Fprintf(os.Stderr, "end %d %d %d\n", end.Status, int(end.Signal), end.Left)
		return end.Status
	}
	switch verb {
	case "kept-hub":
		return serveProgram(args)
	case "exit":
		n, _ := strconv.Atoi(args[0])
		return n
	case "kill":
		n, _ := strconv.Atoi(args[0])
		_ = syscall.Kill(os.Getpid(), syscall.Signal(n))
		select {}
	case "tell":
		tell(leash)
	case "listen", "interrupted":
		listen(leash)
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready", os.Getpid())
		_, _ = io.Copy(io.Discard, os.Stdin)
		select {}
	case "spawn":
		c := exec.Command(args[0], args[1:]...)
		if err := c.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 98
		}
		fmt.Println("ready", os.Getpid())
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
	return 0
}

// told is what a kept process finds.
type told struct {
	PID, PPID, Session, Parent int
	Comm                       string
	Args, Environ              []string
	FDs                        map[string]string
}

func tell(leash *Leash) {
	session, _, _ := syscall.Syscall(syscall.SYS_GETSID, 0, 0, 0)
	comm, _ := os.ReadFile("/proc/self/comm")
	w := told{
		PID: os.Getpid(), PPID: os.Getppid(), Session: int(session), Parent: leash.Parent,
		Comm: strings.TrimSpace(string(comm)), Args: os.Args, Environ: os.Environ(), FDs: descriptorsOf(os.Getpid()),
	}
	_ = json.NewEncoder(os.Stdout).Encode(w)
}

func descriptorsOf(pid int) map[string]string {
	fds := map[string]string{}
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	for _, e := range entries {
		if to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, e.Name())); err == nil {
			fds[e.Name()] = to
		}
	}
	return fds
}

// listen says each signal that comes, directly or by the keeper, until its input
// ends.
func listen(leash *Leash) {
	direct := make(chan os.Signal, 8)
	signal.Notify(direct, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	eof := make(chan struct{})
	go func() { // ends with the input
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(eof)
	}()
	fmt.Println("ready", os.Getpid())
	for {
		select {
		case s := <-direct:
			fmt.Println("direct", int(s.(syscall.Signal)))
		case <-leash.Ends:
			fmt.Println("handed")
		case <-eof:
			return
		}
	}
}

// kept is a running program: the keeper, and the process below it.
type kept struct {
	*exec.Cmd
	t      *testing.T
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
	ended  chan struct{}
	child  int // set by ready
}

func keep(t *testing.T, args ...string) *kept {
	t.Helper()
	k := prepare(t, nil, args...)
	k.start()
	return k
}

func prepare(t *testing.T, env []string, args ...string) *kept {
	t.Helper()
	k := &kept{Cmd: exec.Command(os.Args[0], args...), t: t, ended: make(chan struct{})}
	k.Env = append(append(os.Environ(), programVariable+"=1"), env...)
	k.Stderr, k.WaitDelay = &k.stderr, time.Second
	r, in, err := os.Pipe() // not the Cmd's own: it closes that when the keeper ends
	if err != nil {
		t.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	k.Stdin, k.in, k.out, k.Stdout = r, in, bufio.NewReader(out), w
	t.Cleanup(func() {
		out.Close()
		in.Close()
	})
	return k
}

func (k *kept) start() {
	k.t.Helper()
	err := k.Start()
	_ = k.Stdout.(*os.File).Close()
	_ = k.Stdin.(*os.File).Close()
	if err != nil {
		k.t.Fatal(err)
	}
	go func() { // ends with the process, which the end of the test kills
		_ = k.Cmd.Wait()
		close(k.ended)
	}()
	k.t.Cleanup(func() {
		_ = k.Process.Kill()
		<-k.ended
		if k.child > 0 && k.t.Failed() {
			_ = syscall.Kill(k.child, syscall.SIGKILL)
		}
	})
}

// line is the next line of output, within the bound.
func (k *kept) line() string {
	k.t.Helper()
	got := make(chan string, 1)
	go func() { // ends with the line, or with the process
		s, _ := k.out.ReadString('\n')
		got <- strings.TrimSuffix(s, "\n")
	}()
	select {
	case s := <-got:
		return s
	case <-time.After(mcptest.Bound):
		k.t.Fatal("no line came")
		return ""
	}
}

// ready waits until the program says so, and learns the pid of the kept process.
func (k *kept) ready() *kept {
	k.t.Helper()
	word, pid, _ := strings.Cut(k.line(), " ")
	n, err := strconv.Atoi(pid)
	if word != "ready" || err != nil {
		k.t.Fatalf("it said %q: %s", word, &k.stderr)
	}
	k.child = n
	return k
}

func (k *kept) keeper() int { return k.Process.Pid }

func (k *kept) signal(pid int, s syscall.Signal) {
	k.t.Helper()
	mcptest.Signal(k.t, s, pid)
}

// end waits for the keeper and gives its code, -1 when a signal ended it.
func (k *kept) end() int {
	k.t.Helper()
	select {
	case <-k.ended:
		return k.ProcessState.ExitCode()
	case <-time.After(mcptest.Bound):
		k.t.Fatal("it does not end")
		return 0
	}
}

// processState is the letter of /proc/PID/stat, 0 for none.
func processState(pid int) byte {
	s, err := proc.Look(pid)
	if err != nil {
		return 0
	}
	return s.State
}

func waitState(t *testing.T, pid int, want string) {
	t.Helper()
	if !mcptest.Eventually(func() bool { return strings.IndexByte(want, processState(pid)) >= 0 }) {
		t.Fatalf("process %d is in state %c, not %s", pid, processState(pid), want)
	}
}

// waitGone wants the process to be gone and waited for.
func waitGone(t *testing.T, pid int) {
	t.Helper()
	if !mcptest.Eventually(func() bool { return processState(pid) == 0 }) {
		t.Fatalf("process %d is in state %c", pid, processState(pid))
	}
}
