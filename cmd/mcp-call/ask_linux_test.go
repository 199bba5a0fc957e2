package main

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"postern/pkg/cmdmain"
	"postern/pkg/mcptest"
)

// talk is a person at a terminal, and what was shown there so far.
type talk struct {
	outer, inner *os.File
	done         chan struct{}
	t            *testing.T
	p            *process
	out          bytes.Buffer // the command's standard output, which is no terminal

	mu   sync.Mutex
	text string
	seen int // of text, by hears
}

func newTalk(t *testing.T) *talk {
	t.Helper()
	k := &talk{t: t, done: make(chan struct{})}
	k.outer, k.inner = mcptest.Terminal(t)
	go func() { // ends when the command has ended and inner is closed
		defer close(k.done)
		for buf := make([]byte, 4096); ; {
			n, err := k.outer.Read(buf)
			k.mu.Lock()
			k.text += strings.ReplaceAll(string(buf[:n]), "\r\n", "\n")
			k.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return k
}

// talks runs mcp-call with standard input and error on a terminal.
func (h *home) talks(args ...string) *talk {
	h.t.Helper()
	k := newTalk(h.t)
	k.p = h.prepare(args...)
	k.p.Stdin, k.p.Cmd.Stderr, k.p.Stdout = k.inner, k.inner, &k.out
	if err := k.p.Start(); err != nil {
		h.t.Fatal(err)
	}
	return k
}

// hears waits until the command has shown something behind what was heard before.
func (k *talk) hears(text string) {
	k.t.Helper()
	if !mcptest.Eventually(func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		at := strings.Index(k.text[k.seen:], text)
		if at >= 0 {
			k.seen += at + len(text)
		}
		return at >= 0
	}) {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.p != nil {
			_ = k.p.Process.Kill()
		}
		k.t.Fatalf("%q was not shown but\n%s", text, k.text)
	}
}

func (k *talk) says(line string) {
	if _, err := k.outer.WriteString(line + "\n"); err != nil {
		k.t.Error(err)
	}
}

// ends waits for the command, and is its standard output and all that was shown.
func (k *talk) ends(code int) (out, shown string) {
	k.t.Helper()
	if got := k.p.end(); got != code {
		k.t.Errorf("it ended with %d, want %d", got, code)
	}
	_ = k.inner.Close()
	<-k.done
	return k.out.String(), k.text
}

const whereTo = `params:={"message":"Where\u001b[2J to?","requestedSchema":{"type":"object","required":["env","n","zone"],"properties":{` +
	`"env":{"type":"string","enum":["dev","prod"]},"n":{"type":"integer","description":"how\u202e many"},"tags":{"type":"array","items":{"enum":["a","b","c"]}},` +
	`"zone":{"type":"string","default":"eu"},"dry":{"type":"boolean"},"a.b":{"type":"string"},"note":{"type":"string"}}}}`

// MB-097: what a server asks in the middle of a call is asked on the terminal; each
// value has its type, what does not fit is asked again, and an empty line leaves
// the default that was shown, or nothing. So it is where a hub makes the call (K7).
func TestFormOnTheTerminal(t *testing.T) {
	t.Parallel()
	for n, server := range []string{"", "-era modern", "", "-era modern"} {
		h := newHome(t, map[string]string{"fake": "-more " + server})
		if n > 1 {
			defer h.hub()(syscall.SIGTERM)
		}
		args := []string{"fake", "ask", "method=elicitation/create", whereTo}
		if server != "" {
			args = []string{"fake", "rounds", `requests:={"q":{"method":"elicitation/create",` + strings.Replace(whereTo, "params:=", `"params":`, 1) + `}}`}
		}
		k := h.talks(args...)
		k.hears(`mcp-call: [server fake] Where\u{1b}[2J to?` + "\nmcp-call: answer? [y/N] ")
		k.says("y")
		for _, c := range [][2]string{
			{`env ("dev"|"prod", required): `, ""},
			{`env takes "dev"|"prod"` + "\nmcp-call: env (", "test"},
			{`env (`, "prod"},
			{`mcp-call: n: how\u{202e} many` + "\nmcp-call: n (integer, required): ", "1.5"},
			{"n takes integer\nmcp-call: n (", "9007199254740993"},
			{`tags (array of "a"|"b"|"c"): `, "a,d"},
			{`tags (`, "a, c"},
			{`zone: (default "eu")` + "\nmcp-call: zone (string, required): ", ""},
			{"dry (boolean): ", "true"},
			{"a.b (string): ", `say "x"`},
			{"note (string): ", ""},
		} {
			k.hears(c[0])
			k.says(c[1])
		}
		out, shown := k.ends(0)
		want := `{"action":"accept","content":{"env":"prod","n":9007199254740993,"tags":["a","c"],"zone":"eu","dry":true,"a.b":"say \"x\""}}`
		if !strings.Contains(out, want) {
			t.Errorf("the server was answered %s\nwant %s", out, want)
		}
		harmless(t, shown)
	}
}

// A person says no, or nothing more, or agrees to a page that nobody opens for them.
func TestOtherAnswersOnTheTerminal(t *testing.T) {
	t.Parallel()
	h := newHome(t, map[string]string{"fake": "-more"})
	const visit = `params:={"mode":"url","message":"Sign in","elicitationId":"e","url":"https://example.com/\u001b[2J"}`
	for _, c := range []struct{ params, says, want string }{
		{whereTo, "no\n", `"result":{"action":"decline"}`},
		{whereTo, "\n", `"result":{"action":"decline"}`},
		{whereTo, "\x04", `"result":{"action":"cancel"}`},
		{whereTo, "y\nprod\n\x04", `"result":{"action":"cancel"}`},
		{visit, "yes\n", `"result":{"action":"accept"}`},
		{visit, "n\n", `"result":{"action":"decline"}`},
		{`params:={"message":"Sure?","requestedSchema":{"type":"object","properties":{}}}`, "Y\n", `"result":{"action":"accept","content":{}}`},
	} {
		k := h.talks("fake", "ask", "method=elicitation/create", c.params)
		if c.params == visit {
			k.hears(`it wants you to visit https://example.com/\u{1b}[2J`)
		}
		k.hears("[y/N] ")
		for rest := c.says; rest != ""; { // a form's answers one by one
			line, more, ended := strings.Cut(rest, "\n")
			if !ended {
				_, _ = k.outer.WriteString(line)
				break
			}
			k.says(line)
			if rest = more; rest != "" {
				k.hears("): ")
			}
		}
		if out, _ := k.ends(0); !strings.Contains(out, c.want) {
			t.Errorf("%q: the server was answered %s, want %s", c.says, out, c.want)
		}
	}
}

// R44: the server's time stands still while a person is asked; an interrupt and
// --timeout end the wait for an answer all the same, and so does the server.
func TestWaitsForAPersonEnd(t *testing.T) {
	t.Parallel()
	h := newHome(t, map[string]string{"fake": "-more"})
	k := h.talks("fake", "ask", "method=elicitation/create", whereTo)
	k.hears("[y/N] ")
	if err := k.p.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_, shown := k.ends(130)
	if !strings.Contains(shown, "interrupted before server fake answered") {
		t.Errorf("shown:\n%s", shown)
	}
	k = h.talks("fake", "ask", "method=elicitation/create", whereTo, "--timeout", "3s")
	k.ends(7) // mostly while it asks
	k = h.talks("fake", "ask", "method=elicitation/create", whereTo)
	k.hears("[y/N] ")
	starts := mcptest.Events(t, h.events, "start")
	if err := syscall.Kill(starts[len(starts)-1].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	k.ends(6)
}

// A server's log goes to standard error, and does nothing to a terminal.
func TestLogOnTheTerminal(t *testing.T) {
	t.Parallel()
	h := newHome(t, map[string]string{"fake": "-more"})
	k := h.talks("fake", "notify", "method=notifications/message", `params:={"level":"info","logger":"l\u202e","data":"said\u001b[2J\nmore"}`, "times:=3")
	out, shown := k.ends(0)
	if !strings.Contains(out, "done") {
		t.Errorf("out %q", out)
	}
	harmless(t, shown)
	if n := strings.Count(shown, `mcp-call: info: l\u{202e}: said\u{1b}[2J`+"\nmcp-call: more\n"); n != 3 {
		t.Errorf("shown %d times:\n%q", n, shown)
	}
}

// What is written beside the line of progress takes it away first, and the line
// comes back.
func TestPausedProgress(t *testing.T) {
	k := newTalk(t)
	p := startProgress(&cmdmain.Env{Stderr: k.inner}, target{server: "fake", tool: "slow"})
	k.hears("waiting for fake/slow")
	resume := p.pause()
	p.draw() // as a tick does: nothing, meanwhile
	if _, err := k.inner.WriteString("a line\n"); err != nil {
		t.Fatal(err)
	}
	p.step([]byte(`{"progress":1}`))
	resume()
	p.step([]byte(`{"progress":2,"total":2}`))
	k.hears("2/2")
	p.stop()
	_ = k.inner.Close()
	<-k.done
	if !strings.Contains(k.text, "waiting for fake/slow\r\x1b[Ka line\n\r\x1b[K") || !strings.HasSuffix(k.text, "2/2\r\x1b[K") {
		t.Errorf("shown %q", k.text)
	}
	var none *progress
	none.pause()()
}
