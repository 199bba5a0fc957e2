//go:build unix

package secret

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A command that hangs is ended at its deadline with every process it started:
// the child holds the writing end of a pipe, which is closed when it is gone.
func TestCommandIsEndedWhole(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "held")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() { // ends when the last writer of the pipe is gone, 60 s at most
		f, err := os.Open(fifo)
		if err == nil {
			_, err = io.ReadAll(f)
			f.Close()
		}
		gone <- err
	}()
	start := time.Now()
	_, err := runCommand("/bin/sh -c '(exec sleep 60) 3>"+fifo+" & sleep 60'", 300*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "gave no value within 300ms") {
		t.Errorf("%v", err)
	}
	select {
	case err := <-gone:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("a child of the command is still there")
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %s", took)
	}
}

// A command that ends while a child of it keeps the output open is not waited
// for beyond the deadline either.
func TestCommandThatLeavesItsOutputOpen(t *testing.T) {
	start := time.Now()
	_, err := runCommand("/bin/sh -c 'sleep 60 & echo value'", 300*time.Millisecond)
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %s, %v", took, err)
	}
}

func TestCommandOutputIsBounded(t *testing.T) {
	for _, text := range []string{"/bin/sh -c 'yes hunter2'", "head -c 65537 /dev/zero"} {
		if out, err := runCommand(text, 30*time.Second); err == nil || !strings.Contains(err.Error(), "more than 65536 bytes") || out != nil {
			t.Errorf("%s: %d bytes, %v", text, len(out), err)
		}
	}
	out, err := runCommand("head -c 65536 /dev/zero", 30*time.Second)
	if err != nil || len(out) != 65536 {
		t.Errorf("%d bytes, %v", len(out), err)
	}
}

// No shell: what a shell would act on reaches the program as it is.
func TestCommandWithoutAShell(t *testing.T) {
	out, err := runCommand(`printf %s "$HOME;touch x|y>z*"`, 30*time.Second)
	if err != nil || string(out) != "$HOME;touch x|y>z*" {
		t.Errorf("%q, %v", out, err)
	}
}

// The command sees an empty standard input and starts at the root.
func TestCommandPlace(t *testing.T) {
	out, err := runCommand("/bin/sh -c 'cat; pwd'", 30*time.Second)
	if err != nil || string(out) != "/\n" {
		t.Errorf("%q, %v", out, err)
	}
}
