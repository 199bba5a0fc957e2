package pkg

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"postern/pkg/mcptest"
)

// odd are servers, each of which does one thing that keeps clients from showing
// any tool of anybody.
func odd(f *fault) {
	tool := func(name, more string) string { return `{"name":"` + name + `"` + more + `}` }
	schema := `,"inputSchema":{"type":"object","properties":{"a":{"type":"string"}}}`
	f.write("notype.json", "["+tool("plain", `,"inputSchema":{"properties":{"a":{"type":"string"}}}`)+","+tool("other", schema)+"]")
	f.write("long.json", "["+tool("long", `,"description":"It helps. `+strings.Repeat("More words. ", 40<<10/12)+`"`+schema)+"]")
	var many []string
	for i := range 400 {
		many = append(many, tool(fmt.Sprintf("t%d", i), `,"description":"`+strings.Repeat("d", 5200)+`"`+schema))
	}
	f.write("large.json", "["+strings.Join(many, ",")+"]")
	f.declare(
		"hang [-fault, no-initialize, -fault, stderr-line=waiting for the license server] start_timeout: 8s",
		"exit [-fault, exit-at-start=3, -fault, stderr-line=no database]",
		"broken [-fault, list-error=no index]",
		"banner [-fault, banner]",
		"notype [-tools, $HOME/notype.json]",
		"large [-tools, $HOME/large.json]",
		"long [-tools, $HOME/long.json]",
		"healthy",
	)
}

// tools lists all there are, over all pages, by server.
func tools(a *mcptest.Agent) (servers map[string]int, bytes int) {
	servers = map[string]int{}
	for params := `{}`; params != ""; {
		raw := a.Ask("tools/list", params)
		bytes += len(raw)
		var page struct {
			Tools []struct {
				Name        string
				InputSchema struct{ Type string }
			}
			NextCursor string
		}
		params = ""
		if json.Unmarshal(raw, &page) != nil {
			return nil, 0
		}
		for _, tool := range page.Tools {
			server, _, _ := strings.Cut(tool.Name, "__")
			servers[server]++
			if tool.InputSchema.Type != "object" {
				servers[tool.Name+" has no type"]++
			}
		}
		if page.NextCursor != "" {
			params = `{"cursor":"` + page.NextCursor + `"}`
		}
	}
	return servers, bytes
}

// MB-059, MB-065, MB-117, MB-162, R66: of eight servers three give no list, each
// in its own way, and four give one that is odd. The first session has the tools
// of those that do within --list-wait; no later session waits for the others
// again; mcp-catalog says what is wrong with each; and a call of one says it too.
func TestFaultDiscovery(t *testing.T) {
	const wait = 6 * time.Second
	f := newFault(t)
	odd(f)
	want := fmt.Sprint(map[string]int{"banner": 17, "notype": 2, "large": 400, "long": 1, "healthy": 17})
	list := func(limit time.Duration) *mcptest.Agent {
		t.Helper()
		begin := time.Now()
		a := f.agent("--list-wait", wait.String())
		servers, size := tools(a)
		if took := time.Since(begin); took > limit {
			t.Errorf("the list took %v", took)
		}
		if fmt.Sprint(servers) != want {
			t.Errorf("listed: %v", servers)
		}
		if size > 400*800 { // 2 MB of descriptions are cut
			t.Errorf("%d bytes", size)
		}
		return a
	}
	first := list(wait + mcptest.Bound)
	second := list(wait - time.Second)
	f.call(second, "banner__echo", "")
	f.call(second, "notype__plain", "")
	f.call(second, "large__t399", "")
	f.call(second, "long__long", "")
	for server, what := range map[string]string{"exit": "no database", "broken": "no index", "hang": "initialize"} {
		m := second.Expect(f.ask(second, server+"__echo", ""))
		if word(m) == "" || !strings.Contains(string(m.Raw), "server "+server) || !strings.Contains(string(m.Raw), what) {
			t.Errorf("%s: %.400s", server, m.Raw)
		}
	}
	f.serversSay(t)
	first.Close()
	second.Close()
	third := list(wait - time.Second)
	f.sound(third)
}

// serversSay looks at what mcp-catalog servers says of the odd ones.
func (f *fault) serversSay(t *testing.T) {
	t.Helper()
	type said struct {
		Server, State, Why string
		Tools, Noise       int
		Repaired           []string
	}
	rows := map[string]said{}
	out, _ := f.run(0, "mcp-catalog", "servers", "-o", "jsonl")
	for line := range strings.Lines(out) {
		var s said
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatal(err)
		}
		rows[s.Server] = s
	}
	for server, why := range map[string]string{"hang": "initialize", "exit": "no database", "broken": "no index"} {
		s := rows[server]
		if !slices.Contains([]string{"failed", "slow"}, s.State) || !strings.Contains(s.Why, why) || s.Tools != 0 {
			t.Errorf("%+v", s)
		}
	}
	for server, tools := range map[string]int{"banner": 17, "notype": 2, "large": 400, "long": 1, "healthy": 17} {
		if s := rows[server]; s.State != "idle" || s.Why != "" || s.Tools != tools {
			t.Errorf("%+v", s)
		}
	}
	if s := rows["banner"]; s.Noise == 0 {
		t.Errorf("%+v", s)
	}
	if s := rows["notype"]; !slices.Equal(s.Repaired, []string{"plain"}) {
		t.Errorf("%+v", s)
	}
}
