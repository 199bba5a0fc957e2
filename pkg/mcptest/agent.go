package mcptest

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"sync"
	"testing"
	"time"

	"postern/pkg/wire"
)

// Agent is a small MCP client for tests. Everything it waits for it waits for at
// most Bound and then fails the test. A line it gets that is no JSON-RPC fails
// the test too. Methods that can fail the test are for the test's goroutine.
type Agent struct {
	t      testing.TB
	in     io.WriteCloser
	cmd    *exec.Cmd // nil when connected to pipes
	exited chan struct{}
	eof    chan struct{} // closed when the other side closed its output
	nextID int
	meta   []byte // members for _meta of each request, without braces; nil for a legacy agent

	mu      sync.Mutex
	lines   []wire.Message
	taken   []bool        // lines that Expect and the others have returned
	changed chan struct{} // closed and replaced when a line came
	bad     []string
	stderr  bytes.Buffer
}

// Start starts the command with pipes for stdin, stdout and stderr and kills it,
// if it still runs, at the end of the test.
func Start(t testing.TB, cmd *exec.Cmd) *Agent {
	t.Helper()
	a := newAgent(t)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, (*stderrOf)(a)
	cmd.WaitDelay = time.Second // a descendant may hold the pipes
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	a.in, a.cmd, a.exited = in, cmd, make(chan struct{})
	go func() { // ends with the process, at the latest when the test ends and kills it
		_ = cmd.Wait()
		w.Close()
		close(a.exited)
	}()
	go a.read(out) // ends with the process
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-a.exited // a killed process ends, and its pipes are let go after WaitDelay
		a.verdict()
	})
	return a
}

// Connect is an agent on two pipes, for a peer inside the test. It closes w at
// the end of the test; r must end soon after that.
func Connect(t testing.TB, r io.Reader, w io.WriteCloser) *Agent {
	a := newAgent(t)
	a.in = w
	go a.read(r) // ends when r does
	t.Cleanup(func() {
		_ = w.Close()
		a.verdict()
	})
	return a
}

func newAgent(t testing.TB) *Agent {
	return &Agent{t: t, eof: make(chan struct{}), changed: make(chan struct{})}
}

func (a *Agent) read(out io.Reader) {
	defer close(a.eof)
	r := wire.NewReader(out, maxLine)
	for {
		line, err := r.Next()
		var long *wire.TooLongError
		if err != nil && !errors.As(err, &long) {
			return
		}
		m, parseErr := wire.Parse(line)
		a.mu.Lock()
		if err != nil || parseErr != nil && !isBatch(parseErr) {
			a.bad = append(a.bad, string(line[:min(len(line), 200)]))
		} else {
			m.Raw = line
			a.lines, a.taken = append(a.lines, m), append(a.taken, false)
		}
		close(a.changed)
		a.changed = make(chan struct{})
		a.mu.Unlock()
	}
}

func isBatch(err error) bool {
	var pe *wire.ParseError
	return errors.As(err, &pe) && pe.Batch && !pe.Noise
}

// verdict fails the test for what was no message.
func (a *Agent) verdict() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, line := range a.bad {
		a.t.Errorf("stdout is not the protocol: %q", line)
	}
	if a.t.Failed() && a.stderr.Len() > 0 {
		a.t.Logf("stderr:\n%s", a.stderr.String())
	}
}

// stderrOf keeps what the process says on stderr.
type stderrOf Agent

func (s *stderrOf) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stderr.Write(p)
}

// Stderr returns what came on stderr so far.
func (a *Agent) Stderr() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stderr.String()
}

// PID is the process id of the command.
func (a *Agent) PID() int { return a.cmd.Process.Pid }

// Hangup closes our end and waits for nothing.
func (a *Agent) Hangup() { _ = a.in.Close() }

// Close ends stdin, waits for the process to end and returns its exit status,
// -1 when a signal ended it.
func (a *Agent) Close() int {
	a.t.Helper()
	_ = a.in.Close()
	return a.Wait()
}

// Wait waits for the process to end and returns its exit status, -1 when a
// signal ended it.
func (a *Agent) Wait() int {
	a.t.Helper()
	select {
	case <-a.exited:
	case <-time.After(Bound):
		a.t.Fatalf("process %d did not end in %v", a.PID(), Bound)
	}
	return a.cmd.ProcessState.ExitCode()
}
