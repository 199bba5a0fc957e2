package pkg

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"postern/pkg/mcptest"
)

func TestMain(m *testing.M) { mcptest.Main(m) }

// binaries builds the five commands once for all tests of this package.
var binaries = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "postern-bin-")
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-buildvcs=false", "-tags", "urfave_cli_no_docs", "-o", dir, "postern/cmd/...")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %v\n%s", err, out)
	}
	return dir, nil
})

// home is a scratch home with a project in it, and the real commands.
type home struct {
	t                 *testing.T
	dir, project, bin string
	fake              string // path of the fake server
	env               []string
	hub               bool // agents of this home have a hub; else each has all in its own process
}

func newHome(t *testing.T) *home {
	t.Helper()
	bin, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &home{t: t, dir: dir, project: filepath.Join(dir, "project"), bin: bin, fake: mcptest.FakeServerCommand(t)}
	h.env = []string{"HOME=" + dir, "PATH=" + bin + ":" + os.Getenv("PATH"), "LANG=C"}
	h.write("project/.git/HEAD", "ref: refs/heads/main\n")
	return h
}

func (h *home) path(name string) string { return filepath.Join(h.dir, filepath.FromSlash(name)) }

// write writes a file; $FAKE, $HOME and $PROJECT in its text are replaced.
func (h *home) write(name, text string) {
	h.t.Helper()
	text = strings.NewReplacer("$FAKE", h.fake, "$HOME", h.dir, "$PROJECT", h.project).Replace(text)
	if err := os.MkdirAll(filepath.Dir(h.path(name)), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(h.path(name), []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h *home) command(name string, args ...string) *exec.Cmd {
	if name == "mcp-serve" && !h.hub && (len(args) == 0 || strings.HasPrefix(args[0], "--")) {
		args = append([]string{"--no-hub"}, args...)
	}
	c := exec.Command(filepath.Join(h.bin, name), args...)
	c.Dir, c.Env = h.project, h.env
	return c
}

// run runs a command in the project and wants this exit code.
func (h *home) run(code int, name string, args ...string) (stdout, stderr string) {
	h.t.Helper()
	var out, errOut bytes.Buffer
	c := h.command(name, args...)
	c.Stdout, c.Stderr = &out, &errOut
	_ = c.Run()
	if got := c.ProcessState.ExitCode(); got != code {
		h.t.Fatalf("%s %s ended with %d, not %d\n%s%s", name, strings.Join(args, " "), got, code, out.String(), errOut.String())
	}
	return out.String(), errOut.String()
}

// allow approves a server of the project as it is now.
func (h *home) allow(server string) {
	h.t.Helper()
	h.run(0, "mcp-trust", "allow", server, "--class", "execute", "--digest", h.digest(server))
}

// digest is what mcp-trust status shows for the declaration.
func (h *home) digest(server string) string {
	h.t.Helper()
	c := h.command("mcp-trust", "status", server, "-o", "jsonl")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, _ := c.Output() // ends with 3: not trusted yet
	var row struct{ Digest string }
	if err := json.Unmarshal(bytes.TrimSpace(out), &row); err != nil || row.Digest == "" {
		h.t.Fatalf("no digest in %q: %v\n%s", out, err, &stderr)
	}
	return row.Digest
}

func (h *home) starts(events string) int {
	return len(mcptest.Events(h.t, h.path(events), "start"))
}

// projectServer is a project whose server runs a program of the repository and
// reads a file of it.
func projectServer(h *home, extra string) {
	h.write("project/.mcp.json", `{"mcpServers":{"docs":{"command":"./fake-server","args":["-events","$HOME/events","-tools","tools.json"`+extra+`]}}}`)
}

// TestProjectIsInert: a repository's server starts nothing, whatever is run in
// the repository, until its record exists; then an edit of its arguments, of a
// file they name, or of the executable takes the approval away (S1, C51, C52,
// MB-188, MB-190, MB-193).
func TestProjectIsInert(t *testing.T) {
	for _, change := range []struct {
		name, word string
		edit       func(h *home)
	}{
		{"arguments", "stale", func(h *home) { projectServer(h, `,"-page","1"`) }},
		{"file", "supply_chain_denied", func(h *home) { h.write("project/tools.json", `[{"name":"evil","inputSchema":{"type":"object"}}]`) }},
		{"executable", "supply_chain_denied", func(h *home) { h.appendTo("project/fake-server", "x") }},
	} {
		t.Run(change.name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			h.write("project/tools.json", `[{"name":"echo","inputSchema":{"type":"object"}}]`)
			h.copy(h.fake, "project/fake-server")
			projectServer(h, "")

			h.run(3, "mcp-trust", "status")
			h.run(0, "mcp-catalog", "servers")
			h.run(0, "mcp-catalog", "tools")
			h.run(0, "mcp-catalog", "refresh")
			h.run(3, "mcp-call", "docs", "echo")
			h.run(3, "mcp-call", "docs")
			early := mcptest.Start(t, h.command("mcp-serve"))
			early.Initialize()
			if got := early.Ask("tools/list", ""); string(got) != `{"tools":[]}` {
				t.Errorf("%s", got)
			}
			if m := early.Expect(early.Request("tools/call", mcptest.CallParams("docs__echo", ""))); !bytes.Contains(m.ErrorBytes(), []byte("ask the user to run: mcp-trust allow docs --project")) {
				t.Errorf("%s", m.Raw)
			}
			if n := h.starts("events"); n != 0 {
				t.Fatalf("%d starts before the approval", n)
			}
			early.Close() // whoever runs an agent may approve nothing (S3)

			h.allow("docs")
			h.run(0, "mcp-call", "docs", "echo", "a=1")
			agent := mcptest.Start(t, h.command("mcp-serve"))
			agent.Initialize()
			agent.Call("docs__echo", `{"a":2}`)

			calls := len(mcptest.Events(t, h.path("events"), "call"))
			change.edit(h)
			h.run(map[string]int{"stale": 3, "supply_chain_denied": 4}[change.word], "mcp-call", "docs", "echo", "a=3")
			fresh := mcptest.Start(t, h.command("mcp-serve"))
			fresh.Initialize()
			for who, a := range map[string]*mcptest.Agent{"a new session": fresh, "the open session": agent} {
				var last []byte
				refused := mcptest.Eventually(func() bool { // configuration files are looked at once a second
					m := a.Expect(a.Request("tools/call", mcptest.CallParams("docs__echo", `{"a":4}`)))
					last = m.Raw
					return bytes.Contains(m.ErrorBytes(), []byte(change.word))
				})
				if !refused {
					t.Errorf("%s: %s", who, last)
				}
			}
			if change.word != "stale" { // the declaration is the old one: nothing may pass even once
				if n := len(mcptest.Events(t, h.path("events"), "call")); n != calls {
					t.Errorf("%d calls after the change", n-calls)
				}
			}
			h.run(3, "mcp-trust", "status", "docs")
		})
	}
}

// TestRevokeHoldsForOpenSessions: the next call is refused (R90, MB-196).
func TestRevokeHoldsForOpenSessions(t *testing.T) {
	h := newHome(t)
	h.write("project/.mcp.json", `{"mcpServers":{"docs":{"command":"$FAKE","args":["-events","$HOME/events"]}}}`)
	h.allow("docs")
	agent := mcptest.Start(t, h.command("mcp-serve"))
	agent.Initialize()
	agent.Call("docs__echo", `{"a":1}`)
	h.run(0, "mcp-trust", "revoke", "docs")
	if m := agent.Expect(agent.Request("tools/call", mcptest.CallParams("docs__echo", ""))); !bytes.Contains(m.ErrorBytes(), []byte(`"untrusted"`)) {
		t.Errorf("%s", m.Raw)
	}
	h.run(0, "mcp-trust", "deny", "docs")
	if m := agent.Expect(agent.Request("tools/call", mcptest.CallParams("docs__echo", ""))); !bytes.Contains(m.ErrorBytes(), []byte(`"denied"`)) {
		t.Errorf("%s", m.Raw)
	}
}

// TestAgentTerminal is S3: below a program that runs mcp-serve nothing that
// widens is carried out, and the refusal is a row; what narrows is. This test is
// that program.
func TestAgentTerminal(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the process list is read on Linux only")
	}
	h := newHome(t)
	h.write("project/.mcp.json", `{"mcpServers":{"docs":{"command":"$FAKE","args":["-events","$HOME/events"]}}}`)
	digest := h.digest("docs")
	agent := mcptest.Start(t, h.command("mcp-serve"))
	agent.Initialize()
	for _, args := range [][]string{
		{"mcp-trust", "allow", "docs", "--digest", digest},
		{"mcp-catalog", "add", "mine", "--", h.fake},
		{"mcp-catalog", "enable", "mine"},
	} {
		_, stderr := h.run(4, args[0], args[1:]...)
		if !strings.Contains(stderr, "this terminal belongs to an agent: pkg.test") || !strings.Contains(stderr, "hint: run this in a terminal of your own") {
			t.Errorf("%v: %s", args, stderr)
		}
	}
	rows, _ := h.run(0, "mcp-log", "word=agent_terminal", "via=control")
	if strings.Count(rows, "\n") != 3 || !strings.Contains(rows, `"tool":"mcp-trust allow"`) {
		t.Errorf("rows: %s", rows)
	}
	h.run(0, "mcp-trust", "deny", "docs")
	h.write(".config/postern/mcp.yaml", "version: 1\nsessions: {terminal_hosts: [pkg.test]}\n")
	h.run(0, "mcp-trust", "allow", "docs", "--digest", digest)
	h.write(".config/postern/mcp.yaml", "version: 1\n")
	agent.Close()
	h.run(0, "mcp-trust", "allow", "docs", "--digest", digest)
	h.env = append(h.env, "POSTERN_TOKEN_FILE=/nowhere")
	h.run(4, "mcp-trust", "allow", "docs", "--digest", digest)
}

func (h *home) appendTo(name, text string) {
	h.t.Helper()
	f, err := os.OpenFile(h.path(name), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(text)
		f.Close()
	}
	if err != nil { // a running executable cannot be written: replace it, as an installer does
		data, rerr := os.ReadFile(h.path(name))
		if rerr != nil {
			h.t.Fatal(rerr)
		}
		os.Remove(h.path(name))
		if err := os.WriteFile(h.path(name), append(data, text...), 0o700); err != nil {
			h.t.Fatal(err)
		}
	}
}

func (h *home) copy(from, to string) {
	h.t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(h.path(to), data, 0o700); err != nil {
		h.t.Fatal(err)
	}
}
