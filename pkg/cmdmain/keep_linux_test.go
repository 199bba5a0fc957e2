package cmdmain_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"postern/pkg/cmdmain"
	"postern/pkg/state"
)

// Below a keeper a command does what it does without one: product, messages and
// codes are the same (K1, K2, K4).
func TestKeep(t *testing.T) {
	path, err := exec.LookPath("mcp-test")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args   string
		code   int
		stderr string
	}{
		{"kept fail", 3, "mcp-test: starting: server \\u{1b}[2Ja is not trusted\nmcp-test: second line\n" +
			"mcp-test: hint: mcp-trust allow a\nmcp-test: hint: mcp-trust status a\n"},
		{"kept kill", 137, "mcp-test: was ended by a signal: killed\n"},
		{"-o json kept kill", 137, `{"error":{"word":"killed","message":"was ended by a signal: killed","hint":"","exit":137}}` + "\n"},
	} {
		c := exec.Command(path, strings.Fields(tc.args)...)
		var stdout, stderr bytes.Buffer
		c.Stdout, c.Stderr = &stdout, &stderr
		_ = c.Run()
		if got := c.ProcessState.ExitCode(); got != tc.code || stderr.String() != tc.stderr || stdout.Len() > 0 {
			t.Errorf("%s: %d\n%s%s", tc.args, got, &stdout, &stderr)
		}
	}
	c := exec.Command(path, "kept", "tell")
	out, err := c.Output()
	var pid, ppid, parent int
	if _, serr := fmt.Sscan(string(out), &pid, &ppid, &parent); err != nil || serr != nil {
		t.Fatalf("%q, %v", out, err)
	}
	if keeper := c.Process.Pid; pid == keeper || ppid != keeper || parent != os.Getpid() {
		t.Errorf("process %d below %d, started by %d", pid, ppid, parent)
	}
}

// In a test of one process nothing is kept and no process is made.
func TestKeepInProcess(t *testing.T) {
	code, stdout, _ := run("kept", "tell")
	if want := fmt.Sprintf("%d %d %d\n", os.Getpid(), os.Getppid(), os.Getppid()); code != cmdmain.Done || stdout != want {
		t.Errorf("%d: %q, not %q", code, stdout, want)
	}
	if code, _, _ := run("kept", "fail"); code != cmdmain.NotTrusted {
		t.Errorf("ended with %d", code)
	}
}

// K4: the keeper's signals are the command's: it cleans up and ends with 130, or
// at once at the second.
func TestKeepInterrupt(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		start(t, nil, "kept", "wait").interrupted(t, sig)
	}
	start(t, nil, "kept", "stuck").endedAtOnce(t, syscall.SIGINT)
}

// MB-184: who has no HOME, as services do, gets the home of the account for
// everything, servers included, and is told once though there are two processes.
func TestNoHome(t *testing.T) {
	home, looked := state.Home(func(string) string { return "" })
	if !looked {
		t.Skip("this account has no home of its own")
	}
	path, err := exec.LookPath("mcp-test")
	if err != nil {
		t.Fatal(err)
	}
	for env, want := range map[string]string{"HOME=": home, "OTHER=": home, "HOME=somewhere": "somewhere"} {
		c := exec.Command(path, "kept", "home")
		c.Env = []string{env, "PATH=" + os.Getenv("PATH")}
		var stdout, stderr bytes.Buffer
		c.Stdout, c.Stderr = &stdout, &stderr
		said := "mcp-test: HOME is not set: " + home + " is used, which this account has\n"
		if want != home {
			said = ""
		}
		if err := c.Run(); err != nil || stdout.String() != want+" true\n" || stderr.String() != said {
			t.Errorf("%q: %v\n%s%s", env, err, &stdout, &stderr)
		}
	}
}
