package pkg

import (
	"fmt"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"postern/pkg/mcptest"
)

// everythingRun is the same agent in front of the public server "everything", in
// one way of reaching it.
type everythingRun struct {
	t      *testing.T
	name   string
	direct bool   // without postern
	shared bool   // a process for all agents, which asks nobody for what is one agent's own
	prefix string // in front of the names of tools and prompts
	page   string // an address with many bytes
	record string // file with what the server got
	a      *mcptest.Agent
	own    map[string]bool     // ids of requests whose answers no row shows
	saw    map[string][]string // what each row showed
	lines  int                 // lines of the agent that rows have shown
	heard  int                 // lines of the record, likewise
	hello  string              // the result of initialize
}

// TestEverything drives the public server "everything" with the same agent
// directly and through mcp-serve: as itself, among others, and as a server that
// agents share. Both sides see the same, in the same order, but for what package
// gateway lists as its changes. POSTERN_EVERYTHING is the path of the server.
func TestEverything(t *testing.T) {
	server := os.Getenv("POSTERN_EVERYTHING")
	if server == "" {
		t.Skip("POSTERN_EVERYTHING is no path of mcp-server-everything")
	}
	many := make([]byte, 6<<20) // 8 MiB in base64
	rand.New(rand.NewSource(1)).Read(many)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(many) }))
	defer page.Close()
	runs := []*everythingRun{{name: "direct", direct: true}, {name: "only"}, {name: "prefix", prefix: "everything__"}, {name: "shared", shared: true}}
	t.Run("runs", func(t *testing.T) { // returns when all of them have ended
		for _, r := range runs {
			r.page = page.URL
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				r.through(t, server)
			})
		}
	})
	if t.Failed() {
		return
	}
	for _, row := range everythingRows() {
		want, equal := runs[0].saw[row.name], []string(nil)
		for _, r := range runs[1:] {
			if row.in(r) && r.same(t, row, want) {
				equal = append(equal, r.name)
			}
		}
		fmt.Printf("ok: row %s: %d messages or items as direct: %s\n", row.name, len(want), strings.Join(equal, ", "))
	}
}

// through does all rows.
func (r *everythingRun) through(t *testing.T, server string) {
	r.t = t
	r.open(server)
	r.hello = string(r.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":`+agentCapabilities+`,"clientInfo":{"name":"agent","version":"1"}}`))
	r.a.Notify("notifications/initialized", "")
	for _, row := range everythingRows() {
		if row.in(r) {
			r.show(row)
		}
	}
	if !r.direct && r.a.Close() != 0 { // the server alone would go on for minutes
		t.Error("mcp-serve did not end well")
	}
}

// open starts the server, which keeps a record of all it gets, and the agent.
func (r *everythingRun) open(server string) {
	h := newHome(r.t)
	r.record, r.own, r.saw = h.path("record"), map[string]bool{}, map[string][]string{}
	preload, err := filepath.Abs("testdata/everything/record.cjs")
	if err != nil {
		r.t.Fatal(err)
	}
	if r.direct {
		c := exec.Command("node", "-r", preload, server)
		c.Dir, c.Env = h.project, append(h.env, "RECORD="+r.record)
		r.a = mcptest.Start(r.t, c)
		return
	}
	sharing := "shared: false, sampling: true"
	if r.shared {
		sharing = "shared: true"
	}
	h.write(".config/postern/mcp.yaml", fmt.Sprintf("version: 1\nservers:\n  everything: {%s, command: node, args: [-r, '%s', '%s'], env: {RECORD: '%s'}, max_message_bytes: 16MiB}\n%s",
		sharing, preload, server, r.record, everything))
	args := []string{"--no-project", "--list-wait", mcptest.Bound.String()}
	if r.prefix == "" {
		args = append(args, "--only", "everything")
	}
	r.a = mcptest.Start(r.t, h.command("mcp-serve", args...))
}

// same compares what a row showed with what it showed directly.
func (r *everythingRun) same(t *testing.T, row everythingRow, want []string) bool {
	got := r.saw[row.name]
	if r.shared && row.shared != nil {
		want = slices.DeleteFunc(slices.Clone(want), row.shared)
	}
	if slices.Equal(want, got) && len(want) > 0 {
		return true
	}
	at := 0
	for at < len(want) && at < len(got) && want[at] == got[at] {
		at++
	}
	line := func(all []string) string { return strings.Join(all[at:min(at+1, len(all))], "") }
	t.Errorf("row %s, %s: other than direct, at %d of %d and %d\ndirect: %.1500s\n%s: %.1500s", row.name, r.name, at, len(want), len(got), line(want), r.name, line(got))
	return false
}
