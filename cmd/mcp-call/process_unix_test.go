//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"postern/pkg/config"
	"postern/pkg/mcptest"
)

// home is a user with directories of his own, whose configuration declares a
// fake server of each name.
type home struct {
	t            *testing.T
	path, events string
	env          []string
}

// newHome declares servers, each the arguments of a fake one; all write to the
// same events.
func newHome(t *testing.T, servers map[string]string) *home {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &home{t, dir, filepath.Join(dir, "events"), append(os.Environ(), "HOME="+dir, "GORACE="+mcptest.NoRaceSleep,
		"PATH="+mcptest.ServerFolder(t)+":"+os.Getenv("PATH"), "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "XDG_CACHE_HOME=")}
	text := "version: 1\nservers:\n"
	for id, args := range servers {
		text += "  " + id + ": {command: fake-server, args: [-events, " + h.events
		for _, a := range strings.Fields(args) {
			text += ", " + a
		}
		text += "], max_message_bytes: 16777216}\n"
	}
	text += "policies:\n  all: {servers: [\"*\"], allow: [read, write, execute]}\ndefaults: {policy: all, trust_level: 2}\n"
	folder := filepath.Join(dir, ".config", "postern")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "mcp.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return h
}

// process is a running mcp-call.
type process struct {
	*exec.Cmd
	t      *testing.T
	out    *os.File // our end of its standard output
	stderr bytes.Buffer
}

// prepare is mcp-call outside of any project.
func (h *home) prepare(args ...string) *process {
	h.t.Helper()
	path, err := exec.LookPath("mcp-call") // put there by testscript.Main
	if err != nil {
		h.t.Fatal(err)
	}
	p := &process{Cmd: exec.Command(path, args...), t: h.t}
	p.Env, p.Dir, p.WaitDelay, p.Cmd.Stderr = h.env, h.path, time.Second, &p.stderr
	return p
}

// start runs mcp-call with its standard output in a pipe. stderr is kept where
// it is nil.
func (h *home) start(stdin, stderr *os.File, args ...string) *process {
	h.t.Helper()
	p := h.prepare(args...)
	out, in, err := os.Pipe()
	if err != nil {
		h.t.Fatal(err)
	}
	p.out, p.Stdout = out, in
	if stdin != nil {
		p.Stdin = stdin
	}
	if stderr != nil {
		p.Cmd.Stderr = stderr
	}
	if err := p.Start(); err != nil {
		h.t.Fatal(err)
	}
	_ = in.Close()
	h.t.Cleanup(func() { _ = out.Close() })
	return p
}

// end waits and gives the code. What hangs is killed, and its test then fails on
// the code.
func (p *process) end() int {
	timer := time.AfterFunc(mcptest.Bound, func() { _ = p.Process.Kill() })
	defer timer.Stop()
	err := p.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		p.t.Error(err)
	}
	return 0
}

// nothingLeft fails for each process that a fake server was or started.
func (h *home) nothingLeft() {
	h.t.Helper()
	for _, name := range []string{"start", "grandchild"} {
		for _, e := range mcptest.Events(h.t, h.events, name) {
			if syscall.Kill(e.PID, 0) == nil {
				h.t.Errorf("process %d is left (%s)", e.PID, name)
			}
		}
	}
}

// awaitFile waits until something stands there.
func awaitFile(t *testing.T, path string) {
	t.Helper()
	for end := time.Now().Add(mcptest.Bound); ; time.Sleep(2 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s did not come", path)
		}
	}
}

// MB-033, MB-028, R12: the result is there as soon as it is known, although its
// server does not want to end; the command ends soon, well, and with it the
// server and all that it started.
func TestResultBeforeTeardown(t *testing.T) {
	t.Parallel()
	h := newHome(t, map[string]string{"stubborn": "-fault ignore-eof -fault ignore-term -fault grandchild=session"})
	p := h.start(nil, nil, "stubborn", "echo", "a=1")
	line := make([]byte, len(`{"a":"1"}`)+1)
	if _, err := io.ReadFull(p.out, line); err != nil || string(line) != `{"a":"1"}`+"\n" {
		t.Fatalf("%q, %v", line, err)
	}
	known := time.Now()
	started := mcptest.WaitEvents(t, h.events, "start", 1)
	if syscall.Kill(started[0].PID, 0) != nil {
		t.Error("the result came after the server was gone")
	}
	if code := p.end(); code != 0 || p.stderr.Len() > 0 {
		t.Errorf("%d: %s", code, &p.stderr)
	}
	bound := config.EOFGrace + config.TermGrace + config.KillGrace + config.LogFlush
	if d := time.Since(known); d > bound {
		t.Errorf("it took %s to end, more than %s", d, bound)
	}
	h.nothingLeft()
}

// All output is written before the end, also into a pipe that is read slowly,
// and although --timeout runs out meanwhile.
func TestSlowPipe(t *testing.T) {
	t.Parallel()
	h := newHome(t, map[string]string{"fake": ""})
	for _, tc := range []struct {
		size  int
		pause time.Duration // the reader's slowness is the subject
		args  []string
	}{
		{8 << 20, 300 * time.Millisecond, nil},
		{256 << 10, 3 * time.Second, []string{"--timeout", "3s"}},
	} {
		p := h.start(nil, nil, append(tc.args, "fake", "big", fmt.Sprintf("bytes:=%d", tc.size))...)
		buf := make([]byte, 1<<20)
		n, err := p.out.Read(buf[:1])
		time.Sleep(tc.pause)
		for err == nil {
			var more int
			more, err = p.out.Read(buf)
			n += more
		}
		if code := p.end(); code != 0 || n != tc.size+1 || p.stderr.Len() > 0 {
			t.Errorf("%d bytes, code %d: %s", n, code, &p.stderr)
		}
	}
	h.nothingLeft()
}

// MB-213, K2: a reader that has enough hears no complaint.
func TestClosedPipe(t *testing.T) {
	t.Parallel()
	h := newHome(t, map[string]string{"fake": ""})
	for _, args := range [][]string{{"fake", "big", "bytes:=8388608"}, {"fake", "big", "bytes:=8388608", "-o", "json"}} {
		p := h.start(nil, nil, args...)
		if _, err := io.ReadFull(p.out, make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		_ = p.out.Close()
		if code := p.end(); code != 0 || p.stderr.Len() > 0 {
			t.Errorf("%v: %d: %s", args, code, &p.stderr)
		}
	}
	h.nothingLeft()
}

// K4: an interrupt ends the command with 130, is told to the server, and leaves
// nothing behind; wherever the command is.
func TestInterrupt(t *testing.T) {
	for _, tc := range []struct {
		name, server string
		args         []string
		until        string // the event after which it is interrupted
		sig          syscall.Signal
		said         string
	}{
		{"in a call", "-life 2m", []string{"never"}, "call", syscall.SIGINT, "interrupted before server s answered; the call may have happened"},
		{"terminated", "-life 2m", []string{"late"}, "call", syscall.SIGTERM, "interrupted before server s answered; the call may have happened"},
		{"with children", "-fault grandchild=session -fault ignore-term -fault ignore-eof", []string{"never"}, "call", syscall.SIGINT,
			"interrupted before server s answered; the call may have happened"},
		{"in a start", "-fault no-initialize", []string{"echo"}, "recv", syscall.SIGINT, "interrupted before server s answered"},
		{"in a start for the schema", "-fault no-initialize", []string{"echo", "a=1"}, "recv", syscall.SIGINT, "interrupted before server s answered"},
		{"in a start for the list", "-fault no-initialize", nil, "recv", syscall.SIGINT, "interrupted before server s answered"},
		{"in a start for the help", "-fault no-initialize", []string{"echo", "--help"}, "recv", syscall.SIGINT, "interrupted before server s answered"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t, map[string]string{"s": tc.server})
			p := h.start(nil, nil, append([]string{"s"}, tc.args...)...)
			mcptest.WaitEvents(t, h.events, tc.until, 1)
			if err := p.Process.Signal(tc.sig); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			out, err := io.ReadAll(p.out)
			if err != nil || len(out) > 0 {
				t.Errorf("it printed %q, %v", out, err)
			}
			if code := p.end(); code != 130 || p.stderr.String() != "mcp-call: "+tc.said+"\n" {
				t.Errorf("%d: %s", code, &p.stderr)
			}
			if d := time.Since(begin); d > 10*time.Second {
				t.Errorf("it took %s to end", d)
			}
			if tc.until == "call" {
				cancelled := mcptest.Events(t, h.events, "cancelled")
				if len(cancelled) != 1 || !strings.Contains(cancelled[0].Data, `"reason":"interrupted by the user"`) {
					t.Errorf("the server was told %v", cancelled)
				}
			}
			h.nothingLeft()
		})
	}
}

// An interrupt ends the command also while nobody reads what it writes.
func TestInterruptedOutput(t *testing.T) {
	t.Parallel()
	h := newHome(t, map[string]string{"fake": ""})
	p := h.start(nil, nil, "fake", "big", "bytes:=8388608")
	if _, err := io.ReadFull(p.out, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	if err := p.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := p.end(); code != 130 || p.stderr.String() != "mcp-call: interrupted while the result was written\n" {
		t.Errorf("%d: %s", code, &p.stderr)
	}
	h.nothingLeft()
}

// An interrupt, or --timeout, ends the command also while it waits for arguments
// that do not come; nothing was started then.
func TestArgumentsThatDoNotCome(t *testing.T) {
	t.Parallel()
	h := newHome(t, map[string]string{"s": ""})
	fifo := filepath.Join(h.path, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	silent, never, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	defer never.Close()
	for _, args := range [][]string{{"--args", "-"}, {"--args", "@" + fifo}, {"text=@" + fifo}} {
		p := h.start(silent, nil, append([]string{"s", "echo", "--timeout", "200ms"}, args...)...)
		if code := p.end(); code != 7 || p.stderr.String() != "mcp-call: --timeout 200ms is over while the arguments were read\n" {
			t.Errorf("%v: %d: %s", args, code, &p.stderr)
		}
		state := filepath.Join(h.path, ".local", "state", "postern", "stderr")
		if err := os.RemoveAll(state); err != nil {
			t.Fatal(err)
		}
		p = h.start(silent, nil, append([]string{"s", "echo"}, args...)...)
		awaitFile(t, state) // made before the arguments are read
		if err := p.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if code := p.end(); code != 130 || p.stderr.String() != "mcp-call: interrupted while the arguments were read\n" {
			t.Errorf("%v: %d: %s", args, code, &p.stderr)
		}
	}
	if started := mcptest.Events(t, h.events, ""); len(started) > 0 {
		t.Errorf("a server was started: %v", started)
	}
}
