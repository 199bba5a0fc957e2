package pkg

import (
	"slices"
	"strings"
	"testing"
)

// order is the order of packages: each may import those before it, and only
// where arrows has a line for it.
var order = []string{
	"proc", "wire", "state", "secret", "config", "trust", "policy", "catalog",
	"upstream", "pool", "calllog", "call", "gateway", "hub", "cmdmain",
}

// arrows are the imports between packages, each with its reason. A new one is
// a decision: write down why the lower package cannot do without.
var arrows = []struct{ from, to, why string }{
	{"secret", "wire", "strings of JSON are taken apart and quoted as everywhere"},
	{"secret", "state", "files of values are read with the same care as all files"},
	{"config", "wire", "digests are of canonical JSON"},
	{"config", "state", "declarations are read from checked files and remembered by stamp"},
	{"config", "secret", "references in declarations are parsed when they are read"},
	{"trust", "proc", "whose terminal this is stands in the process list"},
	{"trust", "wire", "digests are of canonical JSON"},
	{"trust", "state", "records are a locked, checked file"},
	{"trust", "secret", "what is approved is the declaration with its values"},
	{"trust", "config", "a declaration is what is approved"},
	{"policy", "config", "rules and their places come from the configuration"},
	{"catalog", "wire", "tool definitions stay bytes"},
	{"catalog", "state", "catalogs are replaced atomically"},
	{"catalog", "config", "a catalog belongs to one declaration; limits"},
	{"upstream", "proc", "descendants are found and signalled one by one"},
	{"upstream", "wire", "it speaks lines"},
	{"upstream", "secret", "what a server writes loses its secrets before it is kept"},
	{"upstream", "trust", "it starts what was approved and nothing else"},
	{"upstream", "state", "the log of a server's stderr is a private file"},
	{"upstream", "config", "limits"},
	{"pool", "proc", "the owner in the mark of a server"},
	{"pool", "wire", "replies are handed on as messages"},
	{"pool", "secret", "values that a server says back are hidden"},
	{"pool", "config", "limits and timeouts of a declaration"},
	{"pool", "trust", "only an Approved can be started"},
	{"pool", "catalog", "a started server's lists are recorded"},
	{"pool", "upstream", "it owns the connections"},
	{"calllog", "state", "rows are appended to private files"},
	{"calllog", "wire", "filters read members of rows in place"},
	{"calllog", "config", "limits"},
	{"calllog", "policy", "tool='git*' means in a filter what it means in a policy"},
	{"call", "wire", "arguments and results stay bytes"},
	{"call", "state", "the host opens the four directories"},
	{"call", "secret", "the host holds the values of references"},
	{"call", "config", "the step resolve: what is declared"},
	{"call", "trust", "the steps resolve and supply chain"},
	{"call", "policy", "the step decide"},
	{"call", "catalog", "the step resolve: which tools there are"},
	{"call", "upstream", "the step dispatch: what a server answered, and how it failed"},
	{"call", "pool", "the step dispatch: which server runs"},
	{"call", "calllog", "the row at the end of every call"},
	{"gateway", "wire", "it speaks lines"},
	{"gateway", "state", "whole results are private files"},
	{"gateway", "config", "limits"},
	{"gateway", "trust", "what an agent may see of servers that are not trusted"},
	{"gateway", "policy", "the id of the gateway's own tools"},
	{"gateway", "catalog", "the lists it shows"},
	{"gateway", "upstream", "the reason of a cancellation"},
	{"gateway", "calllog", "what bridges name rows by"},
	{"gateway", "call", "every call walks the line"},
	{"hub", "proc", "what is below the keeper, and what a gone owner left"},
	{"hub", "wire", "what runs between bridge and hub are lines"},
	{"hub", "state", "socket and lock lie in the runtime directory"},
	{"hub", "secret", "the part of an environment that a hub is started with"},
	{"hub", "config", "limits; the project that a session is in"},
	{"hub", "calllog", "the ids of rows, which bridges give"},
	{"hub", "call", "the host that all sessions of a hub share"},
	{"hub", "gateway", "what serves each of them"},
	{"hub", "upstream", "the name of the mark that servers carry"},
	{"cmdmain", "proc", "a process without a keeper adopts orphans itself"},
	{"cmdmain", "hub", "a command that may start servers runs below a keeper"},
	{"cmdmain", "secret", "messages for people hold no secrets"},
	{"cmdmain", "state", "the directories in force"},
	{"cmdmain", "config", "the project in force"},
	{"cmdmain", "trust", "exit codes of its errors"},
	{"cmdmain", "calllog", "a refusal to widen is a row"},
	{"cmdmain", "catalog", "what a hub has listed"},
	{"cmdmain", "pool", "where the stderr of a server that a hub failed to list is kept"},
	{"cmdmain", "call", "exit codes of refusals; what starts servers"},
}

// modules are the modules of others: where they may be imported and why there.
// Paths ending in /* are folders. Tests may import more, see TestModules.
var modules = []struct {
	path, why string
	packages  []string
}{
	{"github.com/urfave/cli/v2", "command lines end in the commands", []string{"pkg/cmdmain", "pkg/cmdmain/cmdtest", "cmd/*"}},
	{"github.com/modelcontextprotocol/go-sdk", "typed messages must not reach the path of bytes", []string{"pkg/upstream", "pkg/gateway"}},
	{"github.com/google/renameio/v2", "its defaults do not suit private files; one place knows that", []string{"pkg/state"}},
	{"go.yaml.in/yaml/v4", "one reader of configuration", []string{"pkg/config"}},
	{"github.com/tidwall/gjson", "single members of JSON in place", []string{"pkg/*", "cmd/*"}},
	{"golang.org/x/sync", "groups, semaphores, single flight", []string{"pkg/*", "cmd/*"}},
	{"golang.org/x/sys", "system calls", []string{"pkg/*", "cmd/*"}},
	{"github.com/rogpeppe/go-internal", "scripts that test commands", nil},
}

// Imports between packages go one way, and each has a reason.
func TestArrows(t *testing.T) {
	_, files := parseModule(t)
	used := map[string]bool{}
	for _, f := range files {
		for _, p := range f.imports() {
			to, ours := strings.CutPrefix(p, "postern/pkg/")
			from, inPkg := strings.CutPrefix(f.dir, "pkg/")
			if !ours {
				if strings.HasPrefix(p, "postern/") {
					t.Errorf("%s imports %s: only packages below pkg can be imported", f.name, p)
				}
				continue
			}
			if f.forTests() {
				continue
			}
			if to == "mcptest" || to == "cmdmain/cmdtest" {
				t.Errorf("%s imports %s, which is for tests", f.name, p)
			}
			if inPkg {
				used[from+" "+to] = true
				checkArrow(t, f.name, from, to)
			}
		}
	}
	for _, a := range arrows {
		if !used[a.from+" "+a.to] {
			t.Errorf("the arrow %s → %s is in the table and nowhere else: remove its line", a.from, a.to)
		}
	}
}

func checkArrow(t *testing.T, file, from, to string) {
	t.Helper()
	down, up := slices.Index(order, from), slices.Index(order, to)
	if down < 0 || up < 0 {
		t.Errorf("%s: a package of %s → %s has no place in the order", file, from, to)
	} else if up >= down {
		t.Errorf("%s: %s imports %s, which comes after it", file, from, to)
	}
	for _, a := range arrows {
		if a.from == from && a.to == to {
			return
		}
	}
	t.Errorf("%s: %s imports %s without a line in the table", file, from, to)
}

// Modules of others stay where they were let in.
func TestModules(t *testing.T) {
	_, files := parseModule(t)
	used := map[string]bool{}
	for _, f := range files {
		for _, p := range f.imports() {
			first, _, _ := strings.Cut(p, "/")
			if !strings.Contains(first, ".") {
				continue // the standard library and our own
			}
			i := slices.IndexFunc(modules, func(m struct {
				path, why string
				packages  []string
			}) bool {
				return p == m.path || strings.HasPrefix(p, m.path+"/")
			})
			if i < 0 {
				t.Errorf("%s imports %s: no module of the table", f.name, p)
				continue
			}
			m := modules[i]
			used[m.path] = true
			tests := f.forTests() && (m.packages == nil || m.path == "github.com/modelcontextprotocol/go-sdk")
			if !tests && !slices.ContainsFunc(m.packages, func(pattern string) bool { return within(pattern, f.dir) }) {
				t.Errorf("%s imports %s (%s)", f.name, p, m.why)
			}
		}
	}
}

func within(pattern, dir string) bool {
	if folder, ok := strings.CutSuffix(pattern, "/*"); ok {
		return strings.HasPrefix(dir, folder+"/")
	}
	return pattern == dir
}

// restricted are packages of the standard library that few may import.
var restricted = []struct {
	path     string
	packages []string
	why      string
}{
	{"os/exec", []string{"pkg/upstream", "pkg/secret", "pkg/hub", "cmd/mcp-serve"}, "only approved servers, commands that print a value and postern itself are started"},
	{"unsafe", []string{"pkg/upstream"}, "reading the kernel's siginfo of a child has no other way"},
	{"testing", nil, "commands do not link it"},
	{"plugin", nil, "code is linked, not loaded"},
	{"net/http/pprof", nil, "it registers handlers by being imported"},
}

// Processes are started where a rule says so and nowhere else.
func TestSystemImports(t *testing.T) {
	_, files := parseModule(t)
	for _, f := range files {
		for _, p := range f.imports() {
			for _, r := range restricted {
				if p == r.path && !f.forTests() && !slices.Contains(r.packages, f.dir) {
					t.Errorf("%s imports %s: %s", f.name, p, r.why)
				}
			}
		}
	}
}
