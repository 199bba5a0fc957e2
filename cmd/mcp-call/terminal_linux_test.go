package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"postern/pkg/mcptest"
)

// screen is a pseudo-terminal and what was shown on it.
type screen struct {
	outer, inner *os.File
	shown        bytes.Buffer
	done         chan struct{}
}

func newScreen(t *testing.T) *screen {
	t.Helper()
	outer, inner := mcptest.Terminal(t)
	s := &screen{outer: outer, inner: inner, done: make(chan struct{})}
	go func() { // ends when the command has ended and inner is closed
		defer close(s.done)
		_, _ = s.shown.ReadFrom(outer)
	}()
	return s
}

// onTerminal runs mcp-call with standard output and error on a terminal, and
// gives what it shows.
func (h *home) onTerminal(args ...string) string {
	h.t.Helper()
	s := newScreen(h.t)
	p := h.prepare(args...)
	p.Stdout, p.Cmd.Stderr = s.inner, s.inner
	if err := p.Start(); err != nil {
		h.t.Fatal(err)
	}
	p.end()
	_ = s.inner.Close()
	<-s.done
	return strings.ReplaceAll(s.shown.String(), "\r\n", "\n")
}

// harmless fails on what could act on a terminal. The line of progress is the
// command's own.
func harmless(t *testing.T, shown string) {
	t.Helper()
	for _, r := range strings.ReplaceAll(shown, "\r\x1b[K", "") {
		if r != '\n' && r != '\t' && (r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x202e || r == 0x200b || r == 0x2066) {
			t.Fatalf("%q can act on a terminal:\n%q", r, shown)
		}
	}
}

const hostile = "\x1b[2J\x1b]0;title\x07\x1b]52;c;eA==\x07\u009b31m\u202e\u200b\x00\x07over\rwritten"

// MB-216, S4: whatever a server says, on a terminal it does nothing; MB-217: and
// text is not spoilt.
func TestHostileOutput(t *testing.T) {
	t.Parallel()
	h := newHome(t, map[string]string{"fake": ""})
	text := "text=" + strings.ReplaceAll(hostile, "\x00", "")
	fine := "日本語 ångström 🐛\ttab\nnext\r\n"
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"fake", "fail", text}, `\u{1b}[2J\u{1b}]0;title\u{7}\u{1b}]52;c;eA==\u{7}\u{9b}31m\u{202e}\u{200b}\u{7}over\u{d}written` + "\n"},
		{[]string{"fake", "fail", text, "-o", "json"}, `"text":"\u001b[2J\u001b]0;title\u0007\u001b]52;c;eA==\u0007\u009b31m\u202e\u200b\u0007over\rwritten"`},
		{[]string{"fake", "fail", text, "-o", "raw"}, `\u009b31m\u202e\u200b\u0007over`},
		{[]string{"fake", "fail", text, "--get", "content.0.text"}, `\u{9b}31m`},
		{[]string{"fake", "fail", text, "--get", "content"}, `\u009b31m`},
		{[]string{"fake", "fail", text, "--get", "nosuch"}, `reported an error: \u{1b}[2J`},
		{[]string{"fake", "raw", `result:={"content":[{"type":"\u001b[2J","uri":"\u202e"}],"structuredContent":{"\u009b":"` + "\u202e" + `"}}`}, `{"\u009b":"\u202e"}`},
		{[]string{"fake", "raw", `result:={"content":[{"type":"\u001b[2J","uri":"\u202e"}]}`}, `not shown: \u{1b}[2J \u{202e}`},
		{[]string{"fake", "rpcerror", `error:={"code":1,"message":"\u001b[2J\u202e"}`}, `server fake: \u{1b}[2J\u{202e}`},
		{[]string{"fake", "exit", text, "stderr=\x1b[2J\u202e"}, "exit status"},
		{[]string{"fake", "\u202eecho"}, `no tool "\u202eecho"`},
		{[]string{"\u202efake"}, `\u202e`},
		{[]string{"fake", "\x1b[2J\u202e"}, `\x1b`},
		{[]string{"fake", "echo", "\x1b[2J\u202e"}, `\x1b[2J\u202e`},
		{[]string{"fake", "raw", `result:={"content":[{"type":"text","text":"日本語 ångström 🐛\ttab\nnext\r\n"}]}`}, strings.ReplaceAll(fine, "\r", "")},
		{[]string{"fake", "raw", `result:={"content":[],"structuredContent":{"a":"日本語 ångström 🐛"}}`}, `{"a":"日本語 ångström 🐛"}`},
	} {
		shown := h.onTerminal(tc.args...)
		harmless(t, shown)
		if !strings.Contains(shown, tc.want) {
			t.Errorf("%q shows\n%s\nwithout %q", tc.args, shown, tc.want)
		}
	}
}

// MB-216: neither do names, descriptions and schemas.
func TestHostileTools(t *testing.T) {
	t.Parallel()
	h := newHome(t, map[string]string{"evil": "-tools tools.json"})
	tools := `[{"name":"evil\u202e","title":"\u001b[2J","description":"a\u001b[2Jb\u009b31m` + "\u202e\u200b" + `\r\nc\td","inputSchema":{"type":"object",` +
		`"properties":{"p\n\u001b[2J":{"enum":["\u001b[2J","` + "\u202e" + `"],"description":"x\u001b]0;t\u0007\ny","default":"` + "\u202e" + `"}}}}]`
	if err := os.WriteFile(filepath.Join(h.path, "tools.json"), []byte(tools), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"evil"}, "TOOL          TIER   VERDICT  DESCRIPTION\nevil\\u{202e}  write  allow    a\\u{1b}[2Jb\\u{9b}31m\\u{202e}\\u{200b}\n"},
		{[]string{"evil", "-o", "jsonl"}, `\u202e`},
		{[]string{"evil", "evil\u202e", "--help"}, `  p\u{a}\u{1b}[2J  "\u001b[2J"|"\u{202e}"  x\u{1b}]0;t\u{7} y (default "\u{202e}")` + "\n"},
		{[]string{"evil", "evil\u202e", "--help"}, "a\\u{1b}[2Jb\\u{9b}31m\\u{202e}\\u{200b}\nc\td\n"},
		{[]string{"evil", "evil\u202e", "--help", "--json"}, `\u001b[2Jb\u009b31m\u202e\u200b`},
	} {
		shown := h.onTerminal(tc.args...)
		harmless(t, shown)
		if !strings.Contains(shown, tc.want) {
			t.Errorf("%q shows\n%s\nwithout %q", tc.args, shown, tc.want)
		}
	}
}

// K5: on a terminal a long call shows how far it is, on one line that is gone
// when the result comes.
func TestProgressLine(t *testing.T) {
	t.Parallel()
	h := newHome(t, map[string]string{"fake": ""})
	shown := h.onTerminal("fake", "progress", "steps:=4", "ms:=150")
	if !strings.Contains(shown, "/4\r\x1b[K") || !strings.HasSuffix(shown, "\r\x1b[Kdone\n") {
		t.Errorf("it shows %q", shown)
	}
	shown = h.onTerminal("fake", "slow", "ms:=900")
	if shown != "\r\x1b[Kwaiting for fake/slow\r\x1b[Kdone\n" {
		t.Errorf("a call without progress shows %q", shown)
	}
}

// MB-216: progress is one short line, whatever its server makes of it.
func TestHostileProgress(t *testing.T) {
	t.Parallel()
	h := newHome(t, map[string]string{"fake": ""})
	s := newScreen(t)
	p := h.prepare("fake", "notify", "method=notifications/progress",
		`params:={"progressToken":3,"progress":1,"total":"\u001b[2J","message":"\u001b[2J\u202e`+strings.Repeat("x", 200)+`\n\n"}`, "times:=50", "after:=false")
	p.Cmd.Stderr = s.inner
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	if code := p.end(); code != 0 {
		t.Errorf("code %d", code)
	}
	_ = s.inner.Close()
	<-s.done
	harmless(t, s.shown.String())
	if got := progressLine("1/2 \x1b[2J\u202e\n\n  x\t\r" + strings.Repeat("y", 100)); got != `1/2 \u{1b}[2J\u{202e} x `+strings.Repeat("y", progressWidth-24)+"…" {
		t.Errorf("the line is %q", got)
	}
	for line := range strings.SplitSeq(s.shown.String(), "\r\x1b[K") {
		if len([]rune(line)) > progressWidth+1 {
			t.Errorf("a line of %d characters: %q", len(line), line)
		}
	}
}

// K5: a terminal that was stopped, as Ctrl-S does, does not keep the result.
func TestStoppedTerminal(t *testing.T) {
	t.Parallel()
	h := newHome(t, map[string]string{"fake": ""})
	s := newScreen(t)
	if err := unix.IoctlSetInt(int(s.inner.Fd()), unix.TCXONC, unix.TCOOFF); err != nil {
		t.Fatal(err)
	}
	p := h.start(nil, s.inner, "fake", "slow", "ms:=900")
	var out bytes.Buffer
	if _, err := out.ReadFrom(p.out); err != nil || out.String() != "done\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	if code := p.end(); code != 0 {
		t.Errorf("code %d", code)
	}
	if err := unix.IoctlSetInt(int(s.inner.Fd()), unix.TCXONC, unix.TCOON); err != nil {
		t.Fatal(err)
	}
	_ = s.inner.Close()
	<-s.done
}

// K2: in a pipe nothing is added and nothing is made harmless.
func TestRawInPipe(t *testing.T) {
	t.Parallel()
	h := newHome(t, map[string]string{"fake": ""})
	p := h.start(nil, nil, "fake", "raw", `result:={"content":[{"type":"text","text":"\u001b[2J\u202e\r\n"}]}`)
	var out bytes.Buffer
	if _, err := out.ReadFrom(p.out); err != nil || out.String() != "\x1b[2J\u202e\r\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	if code := p.end(); code != 0 || p.stderr.Len() > 0 {
		t.Errorf("code %d: %s", code, &p.stderr)
	}
}
