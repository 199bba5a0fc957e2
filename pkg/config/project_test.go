package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func fixture(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func mcpJSON(t testing.TB, text string) *Config {
	t.Helper()
	return loadProject(t, "", map[string]string{".mcp.json": text})
}

// C22 and MB-172: comments and trailing commas, and what only looks like them.
func TestMCPJSONWithComments(t *testing.T) {
	c := mcpJSON(t, fixture(t, "mcpjson/comments.json"))
	s := c.Server("docs")
	if len(c.Diagnostics) > 0 || s == nil {
		t.Fatal(problems(c))
	}
	if !slices.Equal(s.Args, []string{"server.js", "https://example.com//a", "a//b", "/* no comment */"}) || s.Line != 5 {
		t.Errorf("%+v", s)
	}
	if s.Scope != Project || s.Project != c.Project || s.Source != filepath.Join(c.Project, ".mcp.json") || s.Class != ClassUnknown || s.Base() != c.Project {
		t.Errorf("%+v", s)
	}
	if c.Refused || len(c.Policies) > 0 {
		t.Error("a project must not touch what the user's file says")
	}
}

func TestMCPJSONOfAnEditor(t *testing.T) {
	c := mcpJSON(t, fixture(t, "mcpjson/vscode.json"))
	got := problems(c)
	want := []string{
		`2:2: inputs: not used by postern`,
		`13:4: servers.issues.envFile: not used by postern`,
		`15:22: servers.remote.url: HTTP servers are not supported yet`,
	}
	if !slices.Equal(got, want) || len(c.Servers) != 2 {
		t.Fatalf("%d servers\n%s", len(c.Servers), strings.Join(got, "\n"))
	}
	docs := c.Server(mapID("team/Docs.v2"))
	if docs == nil || docs.ID != "team-docs-v2-a977f29f" || docs.Original != "team/Docs.v2" ||
		!slices.Equal(docs.Env, []EnvVar{{"DOCS_TOKEN", "${DOCS_TOKEN}"}, {"MODE", "${MODE:-fast}"}}) || docs.Unavailable != "" {
		t.Errorf("%+v", docs)
	}
	if s := c.Server("issues"); s.Unavailable == "" || !strings.Contains(s.Unavailable, "${input:issue-key}") || s.Digest == "" {
		t.Errorf("%+v", s)
	}
}

func TestMCPJSONOfADesktopProgram(t *testing.T) {
	c := mcpJSON(t, fixture(t, "mcpjson/desktop.json"))
	var fields []string
	for _, d := range c.Diagnostics {
		fields = append(fields, d.Field)
		if !d.Warning || d.Problem != "not used by postern" {
			t.Errorf("%+v", d)
		}
	}
	if !slices.Equal(fields, []string{"globalShortcut", "mcpServers.ahk.alwaysAllow", "mcpServers.ahk.description"}) {
		t.Errorf("other keys are named once: %v", fields)
	}
	s := c.Server("ahk")
	if s.Timeout != 2*time.Minute || !s.Enabled || s.Env[0].Value != `C:\Users\alice` {
		t.Errorf("%+v", s)
	}
	if off := c.Server("off"); off == nil || off.Enabled {
		t.Errorf("a disabled server is listed as such: %+v", off)
	}
}

// C10, MB-168, MB-174, MB-175, MB-188: one refused server never costs the others.
func TestMCPJSONRefusesServers(t *testing.T) {
	c := mcpJSON(t, fixture(t, "mcpjson/shells.json"))
	want := map[string]string{"search": "is a shell", "win": "is a shell", "line": "command: npx, args: [-y, foo]",
		"kiro": "a dollar sign begins ${NAME}", "num": `args[1]: must be a string: write "1" in quotes`}
	for _, d := range c.Diagnostics {
		if part := want[d.Server]; part != "" && strings.Contains(d.String(), part) {
			delete(want, d.Server)
		}
	}
	if len(want) > 0 || len(c.Servers) != 1 || c.Server("fine") == nil {
		t.Errorf("missing %v\n%s", want, strings.Join(problems(c), "\n"))
	}
}

// MB-186: the unit of .mcp.json is the millisecond, and doubt is said.
func TestMilliseconds(t *testing.T) {
	for text, want := range map[string]struct {
		d       time.Duration
		problem string
	}{
		"60000": {time.Minute, ""},
		"30":    {30 * time.Millisecond, "30ms is very short"},
		"1e9":   {MaxTimeout, "counts in milliseconds; more than 15m0s counts as that"},
		"1e999": {MaxTimeout, "counts in milliseconds"},
		"0":     {0, "whole number of milliseconds above 0"},
		"-1":    {0, "whole number of milliseconds above 0"},
		"0.5":   {0, "whole number of milliseconds above 0"},
		`"30s"`: {0, "must be a number of milliseconds, without quotes"},
		"true":  {0, "must be a number, not true or false"},
		"null":  {DefaultTimeout, ""},
	} {
		c := mcpJSON(t, `{"mcpServers": {"s": {"command": "x", "timeout": `+text+`}}}`)
		got := strings.Join(problems(c), "\n")
		if !strings.Contains(strings.ReplaceAll(got, "a number, not", "a number, not"), want.problem) || (want.problem == "") != (got == "") {
			t.Errorf("%s: %s", text, got)
		}
		if s := c.Server("s"); (s == nil) != (want.d == 0) || s != nil && s.Timeout != want.d {
			t.Errorf("%s: %+v", text, s)
		}
	}
}

// MB-172: never no servers without a word.
func TestBrokenMCPJSONIsNamed(t *testing.T) {
	for text, want := range map[string]string{
		`{"mcpServers": {`:                          `1:17: not valid JSON: expected a name in double quotes`,
		"{\n  'mcpServers': {}}":                    `2:3: not valid JSON: expected a name in double quotes`,
		`{"mcpServers": {"a": {"command": "x"}}} x`: `1:41: not valid JSON: text after the end of the value`,
		`[]`:                                   `1:1: must be a mapping, not a list`,
		`{"mcpServers": []}`:                   `1:16: mcpServers: must be a mapping, not a list`,
		`{"mcpservers": {}}`:                   `1:2: mcpservers: not used by postern (did you mean "mcpServers"?)`,
		`{"mcpServers": {}, "mcpServers": {}}`: `1:20: mcpServers: given twice`,
		"{\"a\": \"\xff\"}":                    `1:8: the file is not valid UTF-8 here`,
	} {
		c := mcpJSON(t, text)
		if got := problems(c); len(got) != 1 || got[0] != want || len(c.Servers) > 0 {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if c := mcpJSON(t, "\ufeff {} "); len(c.Diagnostics) > 0 {
		t.Errorf("byte order mark: %v", problems(c))
	}
	c := mcpJSON(t, `{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}, "servers": {"a": {"command": "z"}}}`)
	if len(c.Servers) != 1 || c.Server("a").Command != "x" || len(c.Diagnostics) != 2 {
		t.Errorf("the first of one id counts: %v", problems(c))
	}
}

func TestMapID(t *testing.T) {
	for name, want := range map[string]string{
		"docs": "docs", "a_b-1": "a_b-1", "gateway": "gateway-4ea5ee68", "Docs": "docs-", "日本": "server-", "": "server-",
		"--x": "x-", strings.Repeat("a", 40): strings.Repeat("a", 23) + "-", "a/": "a-",
	} {
		got := mapID(name)
		if !strings.HasPrefix(got, want) || checkID(got) != nil {
			t.Errorf("%q: %q", name, got)
		}
	}
	if mapID("a/b") == mapID("a.b") || mapID("A") == mapID("a") {
		t.Error("different names share an id")
	}
}

// C20: a repository's own file.
func TestProjectFile(t *testing.T) {
	const good = head + "servers:\n  s:\n    command: ./bin/srv\n    args: [a]\n    env_file: env/x\n    cwd: sub\n    inherit_env: none\n    write_tools: [a]\n    enabled: false\n"
	c := loadProject(t, "", map[string]string{".postern/mcp.yaml": good})
	if s := c.Server("s"); len(c.Diagnostics) > 0 || s == nil || s.Class != ClassUnknown || s.Enabled || s.Command != "./bin/srv" || s.Base() != c.Project {
		t.Fatalf("%v %+v", problems(c), s)
	}
	for change, want := range map[string]string{
		"args: [a]=>class: read":               "servers.s.class: only allowed in the user's configuration; use mcp-trust",
		"args: [a]=>agent_env: [A]":            "servers.s.agent_env: only allowed in the user's configuration; use mcp-trust",
		"args: [a]=>max_timeout: 1m":           "servers.s.max_timeout: only allowed in the user's configuration",
		"args: [a]=>path_args: {}":             "servers.s.path_args: only allowed in the user's configuration",
		"args: [a]=>shared: true":              "servers.s.shared: only false may be written here; without the field the server is shared",
		"args: [a]=>sampling: true":            "servers.s.sampling: only allowed in the user's configuration; use mcp-trust",
		"env_file: env/x=>env_file: ../x":      "servers.s.env_file: must be a relative path inside the project",
		"env_file: env/x=>env_file: /etc/x":    "servers.s.env_file: must be a relative path inside the project",
		"cwd: sub=>cwd: ../..":                 "servers.s.cwd: leads out of the project",
		"version: 1=>policies: {}":             "policies: only allowed in the user's configuration; use mcp-trust",
		"version: 1=>version: 1\nsecrets: {}":  "secrets: only allowed in the user's configuration; use mcp-trust",
		"version: 1=>version: 1\npoliciez: {}": "policiez: unknown field",
	} {
		old, now, _ := strings.Cut(change, "=>")
		c := loadProject(t, "", map[string]string{".postern/mcp.yaml": strings.Replace(good, old, now, 1)})
		if got := strings.Join(problems(c), "\n"); !strings.Contains(got, want) || len(c.Servers) > 0 || c.Refused {
			t.Errorf("%q: %q, %d servers", change, got, len(c.Servers))
		}
	}
}

// C13: who has an id keeps it, a mistyped declaration too.
func TestPrecedence(t *testing.T) {
	user := head + "servers: {a: {command: mine}, bad: {comand: mine}}\n"
	c := loadProject(t, user, map[string]string{
		".postern/mcp.yaml": head + "servers: {a: {command: p}, b: {command: p}, bad: {command: p}}\n",
		".mcp.json":         `{"mcpServers": {"a": {"command": "j"}, "b": {"command": "j"}, "c": {"command": "j"}}}`,
	})
	var got []string
	for _, s := range c.Servers {
		got = append(got, s.ID+"="+s.Command)
	}
	if !slices.Equal(got, []string{"a=mine", "b=p", "c=j"}) {
		t.Errorf("%v", got)
	}
	lost := 0
	for _, d := range c.Diagnostics {
		if d.Warning && strings.Contains(d.Problem, "is taken by") && d.Line > 0 {
			lost++
		}
	}
	if lost != 4 {
		t.Errorf("losers are named: %v", problems(c))
	}
}

// C21: files of a project are read by handle and only when they are plain.
func TestProjectFilesThatLeadOut(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "x.json")
	write(t, outside, `{"mcpServers": {"s": {"command": "x"}}}`)
	root := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(root, ".mcp.json")); err != nil {
		t.Fatal(err)
	}
	c := Load(LoadOptions{Dirs: userDir(t, ""), Project: root})
	if len(c.Servers) > 0 || len(c.Diagnostics) != 1 {
		t.Errorf("%v", problems(c))
	}
	c = Load(LoadOptions{Dirs: userDir(t, policed), Project: filepath.Join(root, "gone")})
	if len(c.Diagnostics) != 1 || c.Server("s") == nil {
		t.Errorf("a project that is gone costs itself only: %v", problems(c))
	}
}

// An operator whose dotfiles moved hears of it.
func TestDanglingLinkIsNamed(t *testing.T) {
	dirs := userDir(t, "")
	path := filepath.Join(dirs.Config, "mcp.yaml")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/no/such/dotfiles/mcp.yaml", path); err != nil {
		t.Fatal(err)
	}
	c := Load(LoadOptions{Dirs: dirs})
	if !c.Refused || len(c.Diagnostics) != 1 || !strings.HasSuffix(c.Diagnostics[0].String(), "is a link to a file that does not exist") {
		t.Errorf("%v", problems(c))
	}
}

func TestCurrentAndHash(t *testing.T) {
	dirs := userDir(t, policed)
	root := t.TempDir()
	load := func() *Config { return Load(LoadOptions{Dirs: dirs, Project: root}) }
	c := load()
	if !c.Current() || c.Hash != load().Hash || !strings.HasPrefix(c.Hash, "sha256:") {
		t.Fatal("nothing changed")
	}
	for _, path := range []string{filepath.Join(root, ".mcp.json"), filepath.Join(root, ".postern", "mcp.yaml"),
		filepath.Join(dirs.Config, "mcp.d", "x"), filepath.Join(dirs.Config, "mcp.yaml")} {
		write(t, path, head+"#")
		now := load()
		if c.Current() {
			t.Errorf("a new %s is not noticed", path)
		}
		if now.Hash == c.Hash && !strings.Contains(path, "mcp.d") {
			t.Errorf("the hash leaves out %s", path)
		}
		c = now
	}
}
