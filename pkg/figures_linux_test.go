package pkg

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"postern/pkg/mcptest"
)

// TestFigures measures what scripts/bench prints. It runs when POSTERN_FIGURES
// names the file that the JSON document goes to. What is compared is measured
// alternately in one run: on a busy machine only ratios say something.
func TestFigures(t *testing.T) {
	path := os.Getenv("POSTERN_FIGURES")
	if path == "" {
		t.Skip("POSTERN_FIGURES names no file: see scripts/bench")
	}
	b := newBench(t)
	all := b.starts()
	all = append(all, b.calls()...)
	all = append(all, b.crowd(), logging(t))
	slices.SortFunc(all, func(a, b figure) int { return strings.Compare(a.ID, b.ID) })
	doc := struct {
		Machine string   `json:"machine"`
		Go      string   `json:"go"`
		Time    string   `json:"time"`
		Figures []figure `json:"figures"`
	}{fmt.Sprintf("%s/%s, %d processors", runtime.GOOS, runtime.GOARCH, runtime.NumCPU()), runtime.Version(), time.Now().UTC().Format(time.RFC3339), all}
	data, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(data, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FIGURE\tVALUE\tBAR\t\tWHAT")
	for _, f := range all {
		fmt.Fprintf(w, "%s\t%.2f %s\t≤ %g\t%s\t%s\n", f.ID, f.Value, f.Unit, f.Bar, map[bool]string{true: "ok", false: "MISSED"}[f.OK], f.What)
	}
	w.Flush()
	t.Logf("\n%s", table.String())
}

// figure is one line of the table.
type figure struct {
	ID      string             `json:"id"`
	What    string             `json:"what"`
	Value   float64            `json:"value"`
	Unit    string             `json:"unit"` // x is a ratio
	Bar     float64            `json:"bar"`
	OK      bool               `json:"ok"`
	Details map[string]float64 `json:"details,omitempty"` // what it was computed from; milliseconds unless the name says otherwise
}

func judge(id, what, unit string, value, bar float64, details map[string]float64) figure {
	return figure{id, what, value, unit, bar, value <= bar, details}
}

// bench is a home with servers that were listed before, and the commands.
type bench struct {
	*home
	runtime string
	hello   string // path of an example of go-sdk: a server as there are many
}

const (
	lists      = 7  // servers with long lists; hello is the eighth
	listLength = 72 // 504 tools in all
)

func newBench(t *testing.T) *bench {
	t.Helper()
	run, err := os.MkdirTemp("", "run-") // short: paths of sockets have 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{newHome(t), run, ""}
	b.hello = b.path("hello")
	if out, err := exec.Command("go", "build", "-o", b.hello, "github.com/modelcontextprotocol/go-sdk/examples/server/hello").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b.env = append(b.env, "XDG_RUNTIME_DIR="+run)
	t.Cleanup(func() {
		b.stop()
		os.RemoveAll(run)
	})
	config := "version: 1\nservers:\n  hello: {command: " + b.hello + "}\n"
	for s := range lists {
		var tools []string
		for i := range listLength {
			tools = append(tools, fmt.Sprintf(`{"name":"tool_%d","description":"Does thing %d of server %d, %s","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}`,
				i, i, s, strings.Repeat("carefully and at length, ", 6)))
		}
		tools[1] = `{"name":"big","inputSchema":{"type":"object","properties":{"bytes":{"type":"integer"}}}}`
		b.write(fmt.Sprintf("tools%d.json", s), "["+strings.Join(tools, ",")+"]")
		config += fmt.Sprintf("  s%d: {command: $FAKE, args: [-life, 1h, -tools, $HOME/tools%d.json]}\n", s, s)
	}
	b.write(".config/postern/mcp.yaml", config+"policies: {all: {servers: [\"*\"], allow: [read, write, execute], max_result_bytes: 0}}\ndefaults: {policy: all, trust_level: 2}\n")
	b.run(0, "mcp-catalog", "refresh")
	return b
}

// stop ends the hub and waits until none answers.
func (b *bench) stop() {
	_ = b.command("mcp-serve", "stop").Run()
	mcptest.Eventually(func() bool { return b.command("mcp-serve", "status").Run() != nil })
}

// median is the middle of what was measured, in milliseconds.
func median(all []time.Duration) float64 {
	slices.Sort(all)
	return float64(all[len(all)/2].Microseconds()) / 1000
}

// client is an agent that does nothing but measure.
type client struct {
	b   *bench
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	id  int
}

// connect starts a server of MCP and shakes hands with it.
func (b *bench) connect(c *exec.Cmd) *client {
	b.t.Helper()
	in, err := c.StdinPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.t.Fatal(err)
	}
	a := &client{b: b, cmd: c, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	a.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`)
	a.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return a
}

func (a *client) write(line string) {
	a.b.t.Helper()
	if _, err := io.WriteString(a.in, line+"\n"); err != nil {
		a.b.t.Fatal(err)
	}
}

// ask makes one request and returns the line that answers it.
func (a *client) ask(method, params string) []byte {
	a.b.t.Helper()
	a.id++
	a.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, a.id, method, params))
	mine := fmt.Appendf(nil, `"id":%d,`, a.id)
	for {
		line, err := a.out.ReadBytes('\n')
		if err != nil {
			a.b.t.Fatalf("%s: %v", method, err)
		}
		if bytes.Contains(line[:min(len(line), 64)], mine) {
			if bytes.Contains(line, []byte(`"error":{`)) || bytes.Contains(line, []byte(`"isError":true`)) {
				a.b.t.Fatalf("%s: %.300s", method, line)
			}
			return line
		}
	}
}

// close ends the conversation and waits for the process.
func (a *client) close() {
	a.in.Close()
	_, _ = io.Copy(io.Discard, a.out)
	_ = a.cmd.Wait()
}

// alone is a server without postern.
func (b *bench) alone(path string, args ...string) *exec.Cmd {
	c := exec.Command(path, args...)
	c.Env = b.env
	return c
}

// serve is mcp-serve as it is, whatever home.command makes of it.
func (b *bench) serve(args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(b.bin, "mcp-serve"), args...)
	c.Dir, c.Env = b.project, b.env
	return c
}
