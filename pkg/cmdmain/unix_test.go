//go:build unix

package cmdmain_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process is the test application as a process of its own.
type process struct {
	cmd    *exec.Cmd
	stderr *bufio.Reader
}

func start(t *testing.T, stdout io.Writer, args ...string) *process {
	t.Helper()
	path, err := exec.LookPath("mcp-test") // put there by testscript.Main
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Stdout = stdout
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// A process that hangs is killed, and its test then fails on the signal.
	timer := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() { timer.Stop() })
	return &process{cmd, bufio.NewReader(pipe)}
}

func (p *process) line(t *testing.T, want string) {
	t.Helper()
	got, err := p.stderr.ReadString('\n')
	if err != nil || strings.TrimSpace(got) != want {
		t.Fatalf("stderr %q, %v; want %q", got, err, want)
	}
}

func (p *process) code(t *testing.T) int {
	t.Helper()
	rest, _ := io.ReadAll(p.stderr)
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if len(rest) > 0 {
		t.Errorf("stderr goes on: %q", rest)
	}
	return p.cmd.ProcessState.ExitCode()
}

// K4: the first signal cancels, lets the command clean up, and it ends with 130.
func TestInterrupt(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			start(t, nil, "wait").interrupted(t, sig)
		})
	}
}

// interrupted wants the command to clean up and end with 130 at the last of these.
func (p *process) interrupted(t *testing.T, signals ...syscall.Signal) {
	t.Helper()
	p.line(t, "mcp-test: ready")
	for _, sig := range signals {
		if err := p.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	p.line(t, "mcp-test: cleaned up")
	p.line(t, "mcp-test: interrupted")
	if code := p.code(t); code != 130 {
		t.Errorf("ended with %d, want 130", code)
	}
}

// K4: the second signal ends the process at once, without clean-up.
func TestSecondInterrupt(t *testing.T) {
	start(t, nil, "stuck").endedAtOnce(t, syscall.SIGTERM)
}

// endedAtOnce wants the second signal to end the command, which does not clean up.
func (p *process) endedAtOnce(t *testing.T, sig syscall.Signal) {
	t.Helper()
	for range 2 {
		p.line(t, "mcp-test: ready")
		if err := p.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	if code := p.code(t); code != 130 {
		t.Errorf("ended with %d, want 130", code)
	}
}

// A signal that was ignored when the command started stays ignored (nohup).
func TestIgnoredSignalStaysIgnored(t *testing.T) {
	path, err := exec.LookPath("mcp-test")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", `trap '' HUP; exec "$0" wait`, path)
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	(&process{cmd, bufio.NewReader(pipe)}).interrupted(t, syscall.SIGHUP, syscall.SIGINT)
}

// K2: when the reader of standard output goes, the command cleans up and ends
// without a word, by itself and not by a signal.
func TestClosedPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, w, "flood")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(r, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	p.line(t, "mcp-test: cleaned up")
	if code := p.code(t); code != 0 {
		t.Errorf("ended with %d, want 0", code)
	}
}

// A full disk under standard output is a failure (K1).
func TestFullOutput(t *testing.T) {
	full, err := os.OpenFile(filepath.Join("/dev", "full"), os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no /dev/full")
	}
	defer full.Close()
	p := start(t, full, "--version")
	p.line(t, "mcp-test: cannot write standard output: write /dev/stdout: no space left on device")
	if code := p.code(t); code != 1 {
		t.Errorf("ended with %d, want 1", code)
	}
}
