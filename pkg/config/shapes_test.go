package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// outcome is what became of one entry of a .mcp.json: "listed", "disabled",
// "unavailable: …", or what is wrong with it behind a !, and the doubts about it.
func outcomes(c *Config) map[string]string {
	out := map[string]string{}
	for _, s := range c.Servers {
		switch {
		case !s.Enabled:
			out[s.Original] = "disabled"
		case s.Unavailable != "":
			out[s.Original] = "unavailable: " + s.Unavailable
		default:
			out[s.Original] = "listed"
		}
	}
	for _, d := range c.Diagnostics {
		field := strings.TrimPrefix(strings.TrimPrefix(d.Field, "mcpServers."), "servers.")
		text := field + ": " + d.Problem
		if !d.Warning {
			text = "! " + text
		}
		if before := out[d.Server]; before != "" {
			text = before + "\n" + text
		}
		out[d.Server] = text
	}
	return out
}

// C22, and of class J MB-168, MB-172, MB-174, MB-175, MB-186: every shape that
// files of other clients have, and what comes of each of their entries.
func TestShapesOfOtherClients(t *testing.T) {
	const (
		http   = "HTTP servers are not supported yet"
		dollar = "a dollar sign begins ${NAME}; write $$ for the character itself"
		unused = "not used by postern"
		inArgv = "holds a secret that every program on this machine can see; use env if the server can"
	)
	for file, want := range map[string]map[string]string{
		"bare.json": { // variables without braces are not guessed at: a password may begin with a dollar sign
			"jira":   "! jira.env.JIRA_USER: " + dollar + "\n! jira.env.JIRA_TOKEN: " + dollar,
			"design": "! design.url: " + http, "parts": "! parts.url: " + http,
		},
		"approve.json": { // what another client lets through unasked is no permission here
			"thinking": "listed\nthinking.autoApprove: " + unused, "graph": "disabled", "slow": "listed",
			"asks": "unavailable: an editor asks a person for ${input:API_KEY}; declare the server in your own configuration instead",
		},
		"remote.json": { // a disabled one is nobody's mistake
			"here": "listed", "events": "events.url: " + http, "stream": "! stream.url: " + http,
			"cloud": "cloud.authProviderType: " + unused + "\ncloud.oauth: " + unused + "\n! cloud.url: " + http,
			"both":  "! both: write exactly one of command and url",
		},
		"defaults.json": {"vault": "listed"},
		"runners.json":  {"notebook": "listed", "ranged": "listed", "image": "listed", "relative": "listed", "options": "listed", "flow": "listed"},
		"secrets.json": {
			"pasted": "listed\npasted.args[2]: " + inArgv, "referred": "listed\nreferred.args[3]: " + inArgv,
			"assigned": "listed\nassigned.args[2]: " + inArgv, "clean": "listed",
		},
		"windows.json": {"Leave Management": "listed", "wsl-devops": "listed", "": "globalSettings: " + unused},
		"elsewhere.json": { // no servers, but not without a word
			"": "$schema: " + unused + "\nmcp: " + unused,
		},
	} {
		c := mcpJSON(t, fixture(t, "mcpjson/"+file))
		got := outcomes(c)
		for name := range got {
			if _, ok := want[name]; !ok {
				t.Errorf("%s: %s: %s", file, name, got[name])
			}
		}
		for name, outcome := range want {
			if got[name] != outcome {
				t.Errorf("%s: %s:\ngot  %s\nwant %s", file, name, got[name], outcome)
			}
		}
		if strings.Contains(strings.Join(problems(c), "\n"), "EXAMPLE-NOT") {
			t.Errorf("%s: a value is shown", file)
		}
	}
}

// What a listed entry says arrives as it was written.
func TestShapesAreKept(t *testing.T) {
	c := mcpJSON(t, fixture(t, "mcpjson/windows.json"))
	if s := c.Server(mapID("Leave Management")); s.Command != `C:\25_Codes\mcp\venv\Scripts\python.exe` || s.PackageRunner() {
		t.Errorf("MB-175: %+v", s)
	}
	c = mcpJSON(t, fixture(t, "mcpjson/defaults.json"))
	if s := c.Server("vault"); s.Command != "${VAULT_BIN:-/Applications/Vault.app/Contents/MacOS/vault}" || s.Env[0].Value != "${VAULT_NO_PROXY:-1}" {
		t.Errorf("MB-168: %+v", s)
	}
	c = mcpJSON(t, fixture(t, "mcpjson/runners.json"))
	for _, s := range c.Servers {
		if !s.PackageRunner() || s.StartTimeout != RunnerStartTimeout {
			t.Errorf("%s fetches what it runs, and gets %s for it", s.ID, s.StartTimeout)
		}
	}
	if s := c.Server("image"); !slices.Equal(s.Env, []EnvVar{{"SERVICE_TOKEN", "YOUR_TOKEN"}}) {
		t.Errorf("%+v", s.Env)
	}
	c = mcpJSON(t, fixture(t, "mcpjson/approve.json"))
	if s := c.Server("graph"); s.Env[1] != (EnvVar{"EMPTY", ""}) {
		t.Errorf("an empty value is a value: %+v", s.Env)
	}
}

// Whole folders of configuration files as they are found, named by
// POSTERN_CONFIGS: no entry vanishes without a word (MB-172).
func TestConfigsAsTheyAreFound(t *testing.T) {
	dir := os.Getenv("POSTERN_CONFIGS")
	if dir == "" {
		t.Skip("POSTERN_CONFIGS names no folder")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v: no files in %s", err, dir)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		top, err := parseJSON(data)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		c := mcpJSON(t, string(data))
		got := outcomes(c)
		if len(got) == 0 {
			t.Errorf("%s: nothing, without a word", file)
		}
		for _, key := range []string{"mcpServers", "servers"} {
			if n := top.get(key); n != nil {
				for _, m := range n.members {
					if got[m.name] == "" {
						t.Errorf("%s: %s vanishes", file, m.name)
					}
				}
			}
		}
		t.Logf("%s: %d servers, %d diagnostics", filepath.Base(file), len(c.Servers), len(c.Diagnostics))
	}
}
