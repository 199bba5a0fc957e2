package mcptest

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Shell is an interactive shell on a terminal of its own, which does job control
// as a person's does.
type Shell struct {
	t     testing.TB
	outer *os.File
	cmd   *exec.Cmd

	mu    sync.Mutex
	shown strings.Builder
	read  int // bytes of shown that Await has passed
}

// StartShell starts /bin/sh -i in dir. The shell, and with it whatever runs on
// its terminal, is hung up at the end of the test. Without pseudo-terminals the
// test is skipped.
func StartShell(t testing.TB, dir string, env []string) *Shell {
	t.Helper()
	outer, inner := Terminal(t)
	defer inner.Close()
	s := &Shell{t: t, outer: outer, cmd: exec.Command("/bin/sh", "-i")}
	s.cmd.Dir, s.cmd.Env = dir, append(env, "PS1=", "ENV=", "TERM=dumb")
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = inner, inner, inner
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go s.listen() // ends when the terminal is hung up
	t.Cleanup(func() {
		_ = outer.Close()
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	})
	return s
}

func (s *Shell) listen() {
	buf := make([]byte, 4096)
	for {
		n, err := s.outer.Read(buf)
		s.mu.Lock()
		s.shown.Write(buf[:n])
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Type types text, which may hold ^C and ^Z.
func (s *Shell) Type(text string) {
	s.t.Helper()
	if _, err := s.outer.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// Await waits until text is shown after what was awaited before.
func (s *Shell) Await(text string) {
	s.t.Helper()
	if !Eventually(func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		at := strings.Index(s.shown.String()[s.read:], text)
		if at >= 0 {
			s.read += at + len(text)
		}
		return at >= 0
	}) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.t.Fatalf("%q is not shown in %q", text, s.shown.String())
	}
}

// PID is the shell's process.
func (s *Shell) PID() int { return s.cmd.Process.Pid }

// Hangup takes the terminal away.
func (s *Shell) Hangup() { _ = s.outer.Close() }
