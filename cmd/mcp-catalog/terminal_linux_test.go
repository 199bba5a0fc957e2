package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"postern/pkg/mcptest"
)

// onTerminal runs the command with standard output and error on one, and gives
// what it shows.
func (h *home) onTerminal(args ...string) string {
	t := h.t
	t.Helper()
	outer, inner := mcptest.Terminal(t)
	cmd := h.command(args...)
	cmd.Stdout, cmd.Stderr = inner, inner
	var shown bytes.Buffer
	done := make(chan struct{})
	go func() { // ends when the command has ended and inner is closed
		defer close(done)
		_, _ = shown.ReadFrom(outer)
	}()
	err := cmd.Run()
	_ = inner.Close()
	<-done
	if exit, ok := err.(*exec.ExitError); err != nil && (!ok || exit.ExitCode() < 0) {
		t.Fatal(err)
	}
	return strings.ReplaceAll(shown.String(), "\r\n", "\n")
}

const hostile = `[{"name":"evil\u202e","title":"\u001b]52;c;x\u0007","description":"a\u001b[2Jb\u009b31m` + "\u202e\u200b" + `\nc","inputSchema":{"type":"object"}}]`

// S4, MB-216: what a server says of itself is shown and does nothing.
func TestTerminal(t *testing.T) {
	h := newHome(t)
	file := filepath.Join(h.path, "tools.json")
	if err := os.WriteFile(file, []byte(hostile), 0o600); err != nil {
		t.Fatal(err)
	}
	instructions := "\x1b]0;title\a\u202e"
	shown := h.onTerminal("add", "evil", "--", "fake-server", "-tools", file, "-instructions", instructions)
	// K5: the only escapes are those of our own line of progress, before the rows.
	if !strings.Contains(shown, "\r\x1b[K0 of 1 listed, waiting for evil") || !strings.Contains(shown, "\r\x1b[KSERVER  TOOLS  CHANGES\n") {
		t.Errorf("add shows %q", shown)
	}
	shown = strings.ReplaceAll(shown, "\r\x1b[K", "")
	for _, args := range [][]string{{"tools"}, {"show", "evil"}, {"servers"}, {"show", "evil/evil\u202e"}, {"show", "evil/nosuch\x1b[2J"}} {
		shown += h.onTerminal(args...)
	}
	for _, r := range shown {
		if r != '\n' && (r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x202e || r == 0x200b) {
			t.Fatalf("%q can act on a terminal:\n%q", r, shown)
		}
	}
	for _, want := range []string{
		`a\u{1b}[2Jb\u{9b}31m\u{202e}\u{200b}`, `"instructions": "\u001b]0;title\u0007\u202e"`, `+evil\u{202e}`,
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("%s is not shown in:\n%s", want, shown)
		}
	}
}

// K2: a table on a terminal.
func TestServersTable(t *testing.T) {
	h := newHome(t)
	h.run("add", "docs", "--", "fake-server")
	shown := h.onTerminal("servers")
	if !strings.HasPrefix(shown, "SERVER  SCOPE  STATE  TRUST    CATALOG    TOOLS  NOTES  FILE\ndocs    user   idle   trusted  cached ") {
		t.Errorf("shown:\n%s", shown)
	}
}
