//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/tidwall/gjson"

	"postern/pkg/cmdmain/cmdtest"
	"postern/pkg/mcptest"
	"postern/pkg/state"
	"postern/pkg/wire"
)

// TestScriptsThroughHub runs the scripts once more with a hub up: whoever makes the
// call, the command says and does the same (K7).
func TestScriptsThroughHub(t *testing.T) {
	scripts(t, "testdata/script", func(env *testscript.Env) error {
		end, err := cmdtest.StartHub(env.Vars, env.Getenv)
		if err == nil {
			env.Defer(func() { end(syscall.SIGTERM) })
		}
		return err
	})
}

// hub puts one up for a home.
func (h *home) hub() (end func(syscall.Signal)) {
	h.t.Helper()
	end, err := cmdtest.StartHub(h.env, h.getenv)
	if err != nil {
		h.t.Fatal(err)
	}
	return end
}

func (h *home) getenv(name string) string {
	for _, pair := range slices.Backward(h.env) {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

func (h *home) dirs() state.Dirs {
	h.t.Helper()
	dirs, err := state.Locate(h.getenv)
	if err != nil {
		h.t.Fatal(err)
	}
	return dirs
}

// A hub that takes connections and answers nothing is asked once, and for no longer
// than a hello takes: then the command does the work itself, and says why (K7).
func TestSilentHub(t *testing.T) {
	t.Parallel()
	h := newHome(t, map[string]string{"fake": ""})
	l := cmdtest.FakeHub(t, h.dirs(), nil)
	p := h.start(nil, nil, "fake", "echo", "a=1")
	if code := p.end(); code != 0 || p.stderr.String() != "mcp-call: no hub is used: the hub does not answer\n" {
		t.Errorf("%d: %s", code, &p.stderr)
	}
	asked := 0
	for ; l.SetDeadline(time.Now().Add(10*time.Millisecond)) == nil; asked++ {
		conn, err := l.Accept()
		if err != nil {
			break
		}
		conn.Close()
	}
	if asked != 1 {
		t.Errorf("it was asked %d times", asked)
	}
}

// A hub that is full is asked once; the command says so and does the work itself.
func TestFullHub(t *testing.T) {
	t.Parallel()
	h := newHome(t, map[string]string{"fake": ""})
	cmdtest.FakeHub(t, h.dirs(), func(conn net.Conn) {
		defer conn.Close()
		if _, err := bufio.NewReader(conn).ReadString('\n'); err == nil {
			_, _ = io.WriteString(conn, `{"postern":1,"error":{"word":"overload","message":"the hub is full","exit":6}}`+"\n")
		}
	})
	p := h.start(nil, nil, "fake", "echo", "a=1")
	if code := p.end(); code != 0 || p.stderr.String() != "mcp-call: no hub is used: the hub is full\n" {
		t.Errorf("%d: %s", code, &p.stderr)
	}
}

// A place that is not to be believed is told once (C1, C6).
func TestUnsafeRuntimeFolder(t *testing.T) {
	t.Parallel()
	h := newHome(t, map[string]string{"fake": ""})
	runtime := filepath.Join(h.path, "run") // its own: the default one is everybody's
	if err := os.Mkdir(runtime, 0o700); err != nil {
		t.Fatal(err)
	}
	h.env = append(h.env, "POSTERN_RUNTIME_DIR="+runtime)
	cmdtest.FakeHub(t, h.dirs(), nil)
	if err := os.Chmod(runtime, 0o755); err != nil { // whatever the umask
		t.Fatal(err)
	}
	p := h.start(nil, nil, "fake", "echo", "a=1")
	if code := p.end(); code != 0 || strings.Count(p.stderr.String(), "\n") != 1 || !strings.Contains(p.stderr.String(), "run chmod 700 "+runtime) {
		t.Errorf("%d: %s", code, &p.stderr)
	}
}

// rows are those of the call log that are about calls.
func (h *home) rows() (rows []gjson.Result) {
	h.t.Helper()
	files, _ := filepath.Glob(filepath.Join(h.path, ".local", "state", "postern", "calls", "*.jsonl"))
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			h.t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if row := gjson.Parse(line); row.Get("upstream").Exists() {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// R74: a hub that is killed in the middle of a call is an answer to it, once, which
// says that the call may have happened; nothing is repeated, and it has its row.
func TestHubKilled(t *testing.T) {
	t.Parallel()
	h := newHome(t, map[string]string{"fake": ""})
	end := h.hub()
	p := h.start(nil, nil, "fake", "never", "-o", "json")
	mcptest.WaitEvents(t, h.events, "call", 1)
	end(syscall.SIGKILL)
	if code := p.end(); code != 6 || !strings.HasPrefix(p.stderr.String(), `{"error":{"word":"hub_lost",`) || !strings.Contains(p.stderr.String(), "may have happened") {
		t.Errorf("%d: %s", code, &p.stderr)
	}
	if n := len(mcptest.Events(t, h.events, "call")); n != 1 {
		t.Errorf("it was carried out %d times", n)
	}
	rows := h.rows()
	if len(rows) != 1 {
		t.Fatal(rows)
	}
	for name, want := range map[string]string{"word": "hub_lost", "outcome": "upstream_error", "upstream": "fake", "tool": "never", "via": "mcp-call", "scope": "user"} {
		if got := rows[0].Get(name).String(); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// R74 for a prompt and a resource, whose servers are known by what was listed.
func TestHubKilledWhileReading(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ option, subject, via, tool string }{
		{"--prompt", "fake__greet", "prompt", "greet"},
		{"--resource", "fake://item/never", "resource", "fake://item/never"},
	} {
		h := newHome(t, map[string]string{"fake": "-more"})
		end := h.hub()
		if code := h.start(nil, nil, "--prompt", "fake__greet").end(); code != 0 { // it is listed by then
			t.Fatal(code)
		}
		mcptest.Eventually(func() bool { return len(h.rows()) == 1 })
		args := []string{c.option, c.subject}
		if c.via == "prompt" {
			args = append(args, "who=never")
		}
		p := h.start(nil, nil, args...)
		mcptest.Eventually(func() bool {
			return slices.ContainsFunc(mcptest.Events(t, h.events, "recv"), func(e mcptest.Event) bool { return strings.Contains(e.Data, "never") })
		})
		end(syscall.SIGKILL)
		if code := p.end(); code != 6 || !strings.Contains(p.stderr.String(), "may have happened") {
			t.Errorf("%s: %d: %s", c.via, code, &p.stderr)
		}
		rows := h.rows()
		if len(rows) != 2 {
			t.Fatal(rows)
		}
		for name, want := range map[string]string{"word": "hub_lost", "upstream": "fake", "tool": c.tool, "via": c.via, "scope": "user"} {
			if got := rows[1].Get(name).String(); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
	}
}

// R45: an interrupt ends the call at the server too, and not the server.
func TestInterruptThroughHub(t *testing.T) {
	t.Parallel()
	h := newHome(t, map[string]string{"fake": ""})
	end := h.hub()
	defer end(syscall.SIGTERM)
	p := h.start(nil, nil, "fake", "late")
	mcptest.WaitEvents(t, h.events, "call", 1)
	if err := p.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := p.end(); code != 130 {
		t.Errorf("%d: %s", code, &p.stderr)
	}
	if e := mcptest.WaitEvents(t, h.events, "cancelled", 1); !strings.Contains(fmt.Sprint(e[0]), "interrupted by the user") {
		t.Error(e)
	}
	p = h.start(nil, nil, "fake", "echo", "a=1")
	if code := p.end(); code != 0 {
		t.Errorf("%d: %s", code, &p.stderr)
	}
	if n := len(mcptest.Events(t, h.events, "start")); n != 1 {
		t.Errorf("%d servers were started", n)
	}
	mcptest.Eventually(func() bool { return len(h.rows()) == 2 })
	if rows := h.rows(); len(rows) != 2 || rows[0].Get("outcome").Str != "cancelled" || rows[1].Get("client_pid").Int() != int64(p.Process.Pid) {
		t.Error(rows)
	}
}

// A refusal is the gateway's only with the id that the call's row has: a server
// that could write one would have this command tell a person what to run.
func TestRefusalIn(t *testing.T) {
	const row = "06h2kk0x4mwg2qkghnfvayben0"
	for _, c := range []struct{ name, line, want string }{
		{"an error of the gateway", `"error":{"code":-32003,"message":"no; run it","data":{"word":"untrusted","remedy":"run it","row":"` + row + `"}}`, "untrusted no run it"},
		{"a result of the gateway", `"result":{"content":[{"type":"text","text":"gone"}],"isError":true,"_meta":{"postern/error":{"word":"closed","row":"` + row + `"}}}`, "closed gone "},
		{"an error of the server", `"error":{"code":-32003,"message":"no","data":{"word":"untrusted","remedy":"rm -rf /"}}`, ""},
		{"a result of the server", `"result":{"content":[],"_meta":{"postern/error":{"word":"closed","remedy":"rm -rf /","row":"06h2kk0x4mwg2qkghnfvayben1"}}}`, ""},
		{"a malformed one", `"error":{"code":-1,"message":"x","data":[1]}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := wire.Parse([]byte(`{"jsonrpc":"2.0","id":1,` + c.line + `}`))
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if r := refusalIn(m, row); r != nil {
				got = fmt.Sprintf("%s %s %s", r.Word, r.Message, r.Remedy)
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
