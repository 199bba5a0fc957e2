package trust

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"postern/pkg/state"
)

// S3: a process below a program that runs mcp-serve with the same directories
// is an agent's. This test is that program: it starts a sleeping file of that
// name.
func TestNotBelowAgent(t *testing.T) {
	dir := t.TempDir()
	gateway := filepath.Join(dir, gatewayName)
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip("no sleep")
	}
	if err := os.Symlink(sleep, gateway); err != nil {
		t.Fatal(err)
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh")
	}
	ours := state.Dirs{Config: filepath.Join(dir, "config")}
	start := func(env ...string) {
		c := exec.Command(gateway, "60")
		c.Env = env
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	}
	eventually := func(want bool) error {
		var got error
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if got = below(ours); (got != nil) == want {
				break
			}
		}
		return got
	}
	start("POSTERN_CONFIG_DIR="+filepath.Join(dir, "other"), "HOME="+dir)
	if err := below(ours); err != nil {
		t.Errorf("another's gateway: %v", err)
	}
	// A hub is started by no agent, whoever its parent is.
	hub := &exec.Cmd{Path: sh, Args: []string{gateway, "hub"}, Dir: dir, Env: []string{"POSTERN_CONFIG_DIR=" + ours.Config, "HOME=" + dir}}
	if err := os.WriteFile(filepath.Join(dir, "hub"), []byte("echo up; read line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	up, err := hub.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hub.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := hub.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hub.Process.Kill(); hub.Wait() })
	if _, err := up.Read(make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	if !isGateway(hub.Process.Pid) || !isHub(hub.Process.Pid) {
		t.Error("the hub of this test is none")
	}
	if err := below(ours); err != nil {
		t.Errorf("a hub: %v", err)
	}
	// What a server of the hub runs is an agent's, though no agent is above it.
	var served *AgentTerminalError
	if err := notBelow(ours, []string{gatewayName}, []int{hub.Process.Pid}); !errors.As(err, &served) || served.PID != hub.Process.Pid || !served.Served {
		t.Errorf("below a hub: %v", err)
	}
	if err := notBelow(state.Dirs{Config: dir}, nil, []int{hub.Process.Pid}); err != nil {
		t.Errorf("below the hub of other directories: %v", err)
	}
	start("POSTERN_CONFIG_DIR="+ours.Config, "HOME="+dir)
	got := eventually(true)
	var agent *AgentTerminalError
	if !errors.As(got, &agent) || agent.PID != os.Getpid() || agent.Name != filepath.Base(os.Args[0]) {
		t.Errorf("%v", got)
	}
	// MB-184: a gateway that was given no HOME works with the account's.
	if own, err := state.Locate(func(string) string { return "" }); err == nil && below(own) == nil {
		start("NOHOME=1")
		found := false
		for end := time.Now().Add(10 * time.Second); !found && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			found = below(own) != nil
		}
		if !found {
			t.Error("a gateway without HOME is not seen")
		}
	}
	// From within the agent itself: it is above nothing of itself.
	if err := NotBelowAgent(ours, nil); err != nil && !strings.Contains(err.Error(), agent.Name) {
		t.Errorf("%v", err)
	}
	// A program that is named hosts people's terminals too.
	if err := notBelow(ours, []string{agent.Name}, append(ancestors(os.Getpid()), os.Getpid())); err != nil {
		t.Errorf("%v", err)
	}
}

// An agent may be the first process of a container, which has no init of its own.
func TestNotBelowFirstProcess(t *testing.T) {
	own := []string{"-rpf", "--mount-proc"}
	if out, err := exec.Command("unshare", append(own, "true")...).CombinedOutput(); err != nil {
		t.Skipf("no namespaces here: %v %s", err, out)
	}
	out, err := exec.Command("unshare", append(own, os.Args[0], "-test.run=^TestNotBelowAgent$", "-test.v")...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestNotBelowAgent") {
		t.Errorf("%v: %s", err, out)
	}
}

// A gateway that this process may not look into, because a sandbox took its
// capabilities say, is an agent's all the same.
func TestNotBelowHidden(t *testing.T) {
	const variable = "TRUST_TEST_HIDDEN"
	if pid, err := strconv.Atoi(os.Getenv(variable)); err == nil {
		if !hidden(pid) {
			t.Skip("it can be looked into")
		}
		var agent *AgentTerminalError
		if err := NotBelowAgent(state.Dirs{Config: "/nowhere"}, nil); !errors.As(err, &agent) || agent.PID != os.Getppid() {
			t.Errorf("below %d, which runs %d: %v", os.Getppid(), pid, err)
		}
		return
	}
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip("no sleep")
	}
	program, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	gateway := exec.Command(filepath.Join(t.TempDir(), gatewayName), "60")
	if err := os.WriteFile(gateway.Path, program, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(gateway.Path, 0o100); err != nil { // which root alone may read
		t.Fatal(err)
	}
	if err := gateway.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { gateway.Process.Kill(); gateway.Wait() })
	if hidden(os.Getpid()) {
		t.Error("this process hides from itself")
	}
	words := []string{os.Args[0], "-test.run=^TestNotBelowHidden$", "-test.v"}
	if os.Geteuid() == 0 {
		words = append([]string{"setpriv", "--bounding-set", "-all", "--inh-caps", "-all"}, words...)
	}
	inner := exec.Command(words[0], words[1:]...)
	inner.Env = append(os.Environ(), variable+"="+strconv.Itoa(gateway.Process.Pid))
	out, err := inner.CombinedOutput()
	switch {
	case errors.Is(err, exec.ErrNotFound) || strings.Contains(string(out), "--- SKIP"):
		t.Skipf("nothing hides from this process: %v %s", err, out)
	case err != nil || !strings.Contains(string(out), "--- PASS: TestNotBelowHidden"):
		t.Errorf("%v: %s", err, out)
	}
}

// Where /proc lists no processes nothing tells a person from an agent.
func TestNoProcessList(t *testing.T) {
	const variable = "TRUST_TEST_NO_PROC"
	if os.Getenv(variable) != "" {
		if err := NotBelowAgent(state.Dirs{Config: "/nowhere"}, nil); !errors.Is(err, ErrNoProcessList) {
			t.Errorf("%v", err)
		}
		return
	}
	for _, how := range [][]string{
		{"unshare", "-rm", "sh", "-c", `mount -t tmpfs none /proc && exec "$0" "$@"`}, // none
		{"unshare", "-rpf"}, // that of the pid namespace outside
	} {
		inner := exec.Command(how[0], append(how[1:], os.Args[0], "-test.run=^TestNoProcessList$", "-test.v")...)
		inner.Env = append(os.Environ(), variable+"=1")
		out, err := inner.CombinedOutput()
		if !strings.Contains(string(out), "=== RUN") {
			t.Skipf("no namespaces here: %v %s", err, out)
		}
		if err != nil || !strings.Contains(string(out), "--- PASS: TestNoProcessList") {
			t.Errorf("%q: %v: %s", how, err, out)
		}
	}
}

// below asks as a child of this process would.
func below(dirs state.Dirs) error {
	return notBelow(dirs, nil, append(ancestors(os.Getpid()), os.Getpid()))
}
