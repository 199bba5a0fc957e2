package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const head = "version: 1\n"

// oneServer is a user's file with one server of these fields.
func oneServer(fields string) string {
	return head + "servers:\n  s:\n    " + strings.ReplaceAll(strings.TrimSpace(fields), "\n", "\n    ") + "\n"
}

// problems are the diagnostics as `line:column: field: problem`.
func problems(c *Config) []string {
	var out []string
	for _, d := range c.Diagnostics {
		out = append(out, strings.TrimPrefix(d.String(), d.File+":"))
	}
	return out
}

func TestFullServer(t *testing.T) {
	c := loadUser(t, oneServer(`
command: github-mcp-server
args: [stdio, "--x=${A:-b}"]
env: {TOKEN: "${GITHUB_TOKEN}", Z: "1", A: ""}
env_file: env/github.env
agent_env: [ONE, TWO]
inherit_env: [LANG]
cwd: /srv/repos
timeout: 30s
max_timeout: 10m
start_timeout: 5s
class: read
read_tools: ["get_*"]
write_tools: [put]
execute_tools: [run]
max_concurrency: 3
queue: 0
max_message_bytes: 1MiB
max_queue_bytes: 4096
protocol: legacy
enabled: false
start: eager
idle_stop: 0
restart_delay: 200ms
breaker: {failures: 2}`))
	if len(c.Diagnostics) > 0 || c.Refused || len(c.Servers) != 1 {
		t.Fatal(problems(c), c.Refused)
	}
	s := c.Server("s")
	if s.Command != "github-mcp-server" || !slices.Equal(s.Args, []string{"stdio", "--x=${A:-b}"}) ||
		!slices.Equal(s.Env, []EnvVar{{"TOKEN", "${GITHUB_TOKEN}"}, {"Z", "1"}, {"A", ""}}) ||
		s.EnvFile != "env/github.env" || !slices.Equal(s.AgentEnv, []string{"ONE", "TWO"}) ||
		s.InheritEnv.Mode != "list" || !slices.Equal(s.InheritEnv.Names, []string{"LANG"}) || s.CWD != "/srv/repos" {
		t.Errorf("launch: %+v", s)
	}
	if s.Timeout != 30*time.Second || s.MaxTimeout != 10*time.Minute || s.StartTimeout != 5*time.Second || s.Class != ClassRead ||
		s.MaxConcurrency != 3 || s.Queue != 0 || s.MaxMessageBytes != 1<<20 || s.MaxQueueBytes != 4096 || s.Protocol != "legacy" || s.Enabled ||
		s.Start != "eager" || s.IdleStop != 0 || s.RestartDelay != 200*time.Millisecond || s.Breaker != (Breaker{2, 30 * time.Second}) {
		t.Errorf("settings: %+v", s)
	}
	file := filepath.Join(s.Base(), "mcp.yaml")
	if s.ReadTools[0] != (Pattern{"get_*", file + ":15"}) || s.WriteTools[0].Text != "put" || s.ExecuteTools[0].Text != "run" || s.At() != file+":3" {
		t.Errorf("places: %+v %s", s.ReadTools, s.At())
	}
}

func TestDefaultsOfAServer(t *testing.T) {
	s := loadUser(t, oneServer("command: x")).Server("s")
	if s.Timeout != time.Minute || s.MaxTimeout != 15*time.Minute || s.StartTimeout != 15*time.Second || s.Class != ClassExecute ||
		s.MaxConcurrency != 8 || s.Queue != 64 || s.MaxMessageBytes != 4<<20 || s.MaxQueueBytes != 4<<20 || s.Protocol != "auto" ||
		s.Start != "lazy" || s.IdleStop != 10*time.Minute || s.RestartDelay != time.Second || s.Breaker != (Breaker{5, 30 * time.Second}) ||
		!s.Enabled || s.InheritEnv.Mode != "safe" || s.Scope != User || s.Project != "" {
		t.Errorf("%+v", s)
	}
	if s := loadUser(t, oneServer("command: x\nmax_timeout: 20s")).Server("s"); s.Timeout != 20*time.Second {
		t.Errorf("timeout %s is longer than max_timeout", s.Timeout)
	}
}

func TestPackageRunnersMayTakeLonger(t *testing.T) {
	for fields, want := range map[string]bool{
		"command: npx\nargs: [-y, a]": true, "command: /usr/bin/uvx": true, "command: docker\nargs: [run, x]": true,
		"command: pnpm\nargs: [--silent, dlx, a]": true, "command: npx.cmd": true, "command: bun\nargs: [x, a]": true,
		"command: pnpm\nargs: [start]": false, "command: node\nargs: [a.js]": false, "command: bun\nargs: [run, a.ts]": false,
	} {
		s := loadUser(t, oneServer(fields)).Server("s")
		if s.PackageRunner() != want || (s.StartTimeout == RunnerStartTimeout) != want {
			t.Errorf("%q: %v, %s", fields, s.PackageRunner(), s.StartTimeout)
		}
	}
}

// C10, C12, C34 and MB-168, MB-170, MB-174, MB-186: one mistake, where it is,
// and what to write instead. The server s is left out, the file counts.
func TestOneMistakeInAServer(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for fields, want := range map[string]string{
		"comand: x\ncommand: y":                                `4:5: servers.s.comand: unknown field (did you mean "command"?)`,
		"command: y\nstartTimeout: 5s":                         `5:5: servers.s.startTimeout: unknown field (did you mean "start_timeout"?)`,
		"command: y\nzzzz: 1":                                  `5:5: servers.s.zzzz: unknown field`,
		"command: y\ncommand: z":                               `5:5: servers.s.command: given twice`,
		"command: y\nsampling: true":                           `3:3: servers.s: sampling: true needs shared: false, because nobody could tell whose model is asked`,
		"command: y\nshared: no":                               `5:13: servers.s.shared: must be true or false, without quotes`,
		"command: y\nstart: always":                            `5:12: servers.s.start: must be one of lazy, eager`,
		"command: y\nidle_stop: 10":                            `5:16: servers.s.idle_stop: a duration needs a unit: write 10s or 10ms`,
		"command: y\nidle_stop: 25h":                           `5:16: servers.s.idle_stop: must be above 0 and at most 24h0m0s`,
		"command: y\nrestart_delay: 0s":                        `5:20: servers.s.restart_delay: must be above 0 and at most 1m0s`,
		"command: y\nbreaker: 5":                               `5:14: servers.s.breaker: must be a mapping, not a number`,
		"command: y\nbreaker: {failures: 0}":                   `5:25: servers.s.breaker.failures: must be a whole number from 1 to 1000`,
		"command: y\nbreaker: {cooldwn: 1s}":                   `5:15: servers.s.breaker.cooldwn: unknown field (did you mean "cooldown"?)`,
		"command: y\nbreaker: {cooldown: 30}":                  `5:25: servers.s.breaker.cooldown: a duration needs a unit: write 30s or 30ms`,
		"command: y\nargs: [a, 8080]":                          `5:15: servers.s.args[1]: must be a string: write "8080" in quotes`,
		"command: y\nargs: a b":                                `5:11: servers.s.args: must be a list, not a string`,
		"command: y\nargs: [a, [b]]":                           `5:15: servers.s.args[1]: must be a string, not a list`,
		"command: y\nargs:":                                    `5:10: servers.s.args: has no value; write one or take the field away`,
		"command: [y]":                                         `4:14: servers.s.command: must be a string, not a list`,
		"command: y\nenv: {A-B: x}":                            `5:11: servers.s.env.A-B: not a variable's name: letters, digits and _ only, no digit first`,
		"command: y\nenv: {A: 1}":                              `5:14: servers.s.env.A: must be a string: write it in quotes`,
		"command: y\nenv: {A: x, A: y}":                        `5:17: servers.s.env.A: given twice`,
		"command: y\nenv: {POSTERN_DEPTH: x}":                  `5:11: servers.s.env.POSTERN_DEPTH: reaches no server: it steers postern itself`,
		"command: y\nagent_env: [GODEBUG]":                     `5:17: servers.s.agent_env[0]: reaches no server: it steers postern itself`,
		"command: y\nenv: {A: \"a\\0b\"}":                      `5:14: servers.s.env.A: holds a NUL character`,
		"command: y\nenv: &e {A: x}":                           `5:10: servers.s.env: anchors are not read; take away &e`,
		"command: y\nenv:\n  <<: {A: x}":                       `6:7: servers.s.env: merge keys are not read; write the fields out`,
		"command: !x y":                                        `4:14: servers.s.command: the tag !x is not read`,
		"command: y\ncwd: \"\"":                                `5:10: servers.s.cwd: is empty; take the field away`,
		"command: y\ncwd: ~/x":                                 `5:10: servers.s.cwd: ~ is not expanded; write ${HOME}/x`,
		"command: y\nenv_file: ${A}":                           `is not expanded; write the path as it is, relative to`,
		"command: y\ntimeout: 30":                              `5:14: servers.s.timeout: a duration needs a unit: write 30s or 30ms`,
		"command: y\ntimeout: 0s":                              `5:14: servers.s.timeout: must be above 0 and at most 15m0s`,
		"command: y\ntimeout: -1s":                             `5:14: servers.s.timeout: must be above 0 and at most 15m0s`,
		"command: y\ntimeout: 16m":                             `5:14: servers.s.timeout: must be above 0 and at most 15m0s`,
		"command: y\ntimeout: 1 minute":                        `5:14: servers.s.timeout: "1 minute" is no duration: write one like 500ms, 60s or 15m`,
		"command: y\ntimeout: 30s\nmax_timeout: 20s":           `3:3: servers.s: timeout is longer than max_timeout, so it could never pass`,
		"command: y\nclass: exec":                              `5:12: servers.s.class: must be one of read, execute, unknown`,
		"command: y\nclass: exceute":                           `5:12: servers.s.class: must be one of read, execute, unknown (did you mean "execute"?)`,
		"command: y\nenabled: yes":                             `5:14: servers.s.enabled: must be true or false, without quotes`,
		"command: y\nenabled: 1":                               `5:14: servers.s.enabled: must be true or false, not a number`,
		"command: y\nqueue: 1e3":                               `5:12: servers.s.queue: must be a whole number from 0 to 4096`,
		"command: y\nqueue: 010":                               `5:12: servers.s.queue: must be a whole number from 0 to 4096`,
		"command: y\nmax_concurrency: 0":                       `5:22: servers.s.max_concurrency: must be a whole number from 1 to 256`,
		"command: y\nmax_message_bytes: 4MB":                   `5:24: servers.s.max_message_bytes: "4MB" is no size: write bytes, or a number with KiB, MiB or GiB`,
		"command: y\nmax_message_bytes: 65MiB":                 `5:24: servers.s.max_message_bytes: must be from 4KiB to 64MiB`,
		"command: y\nread_tools: [\"\"]":                       `5:18: servers.s.read_tools[0]: an empty pattern matches nothing; take it away`,
		"command: y\ninherit_env: all":                         `5:18: servers.s.inherit_env: must be one of safe, none`,
		"command: y\ninherit_env: {}":                          `5:18: servers.s.inherit_env: must be safe, none, or a list of names`,
		"args: [x]":                                            `3:3: servers.s: command is missing`,
		"command: bash\nargs: [-c, x]":                         `4:14: servers.s.command: "bash" is a shell; name the program that it would start, with its args`,
		`command: C:\Windows\System32\CMD.EXE`:                 `is a shell`,
		"command: /usr/bin/pwsh":                               `is a shell`,
		"command: npx -y foo":                                  `4:14: servers.s.command: must be one executable; write command: npx, args: [-y, foo] before any other args`,
		"command: /no such/prog":                               `must be one executable`,
		"command: ./srv":                                       `4:14: servers.s.command: a relative path; write the absolute one, or a bare name that is looked up in path`,
		"command: ~/bin/srv":                                   `4:14: servers.s.command: ~ is not expanded; write ${HOME}/bin/srv`,
		`command: ""`:                                          `4:14: servers.s.command: is empty`,
		"command: " + long[:513]:                               `4:14: servers.s.command: longer than 512 bytes`,
		"command: y\nargs: [" + long + "]":                     `5:12: servers.s.args[0]: longer than 4096 bytes`,
		"command: y\nargs: [" + strings.Repeat("a,", 65) + "]": `5:11: servers.s.args: more than 64 entries`,
		"command: y\nargs: [\"$A\"]":                           `5:12: servers.s.args[0]: "$A": a dollar sign begins ${NAME}; write $$ for the character itself`,
		"command: y\nargs: [\"${_R%/}\"]":                      `5:12: servers.s.args[0]: "${_R%/}": only ${NAME} and ${NAME:-default} are known; write $${ for the characters themselves`,
		"command: y\nenv: {K: \"$(touch /tmp/pwn)\"}":          `5:14: servers.s.env.K: a dollar sign begins ${NAME}; write $$ for the character itself`,
		"url: https://example.com/mcp":                         `4:10: servers.s.url: HTTP servers are not supported yet`,
		"url: https://example.com/mcp\ncommand: x":             `4:5: servers.s: write exactly one of command and url`,
	} {
		c := loadUser(t, oneServer(fields))
		got := problems(c)
		if len(got) != 1 || !strings.Contains(got[0], want) || c.Refused || c.Server("s") != nil {
			t.Errorf("%.80q: got %q (refused %v), want %q", fields, got, c.Refused, want)
		}
		if len(c.Diagnostics) == 1 && (c.Diagnostics[0].Server != "s" || c.Diagnostics[0].Warning) {
			t.Errorf("%.80q: %+v", fields, c.Diagnostics[0])
		}
	}
}

// MB-168, MB-170, MB-174, MB-175: what looks dangerous and is only text.
func TestLiteralValues(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my dir")
	write(t, filepath.Join(dir, "srv"), "x")
	for _, fields := range []string{
		"command: y\nargs: [\"`touch /tmp/pwn`\", \"%A%\", \"$$HOME\", \"${A:-${HOME}/x}\", \"${A:-}\", \"${A:-a:b}\", \"\"]",
		"command: " + filepath.Join(dir, "srv"),
		"command: 'C:\\Program Files\\nodejs\\node.exe'",
		"command: ${HOME}/bin/x",
		"command: y\nenv: {A: 2020-01-01}",
		"command: y\nargs: [!!str 8080]",
	} {
		if c := loadUser(t, oneServer(fields)); len(c.Diagnostics) > 0 || c.Server("s") == nil {
			t.Errorf("%q: %v", fields, problems(c))
		}
	}
}

// C31, C33, MB-186: doubts that leave the server in.
func TestWarnings(t *testing.T) {
	for fields, want := range map[string]string{
		"command: y\ntimeout: 30ms":            "5:14: servers.s.timeout: 30ms is very short; is the unit right?",
		"command: y\nenv: {LD_PRELOAD: /x}":    "5:11: servers.s.env.LD_PRELOAD: changes which code the server runs or whom it talks to",
		"command: y\nargs: [\"--t=${TOKEN}\"]": "5:12: servers.s.args[0]: holds a secret that every program on this machine can see; use env if the server can",
	} {
		c := loadUser(t, oneServer(fields)+"secrets: {TOKEN: 'cmd:pass show x'}\n")
		if got := problems(c); len(got) != 1 || got[0] != want || !c.Diagnostics[0].Warning || c.Server("s") == nil {
			t.Errorf("%q: got %q", fields, got)
		}
	}
}

// C11: a bad server costs itself; C13: it keeps its id.
func TestBadServersLeaveTheOthers(t *testing.T) {
	c := loadUser(t, head+`
servers:
  good: {command: x}
  Bad Id: {command: x}
  gateway: {command: x}
  text: x
  none:
  good: {command: other}
  aa-bb_1: {command: z}
`)
	want := []string{
		`5:3: servers."Bad Id": an id is a lower-case letter or digit, then those, _ and - (did you mean "bad-id"?)`,
		`6:3: servers.gateway: this id is reserved; choose another`,
		`7:9: servers.text: must be a mapping, not a string`,
		`8:8: servers.none: has no value; write one or take the field away`,
	}
	got := problems(c)
	if len(got) != 5 || !slices.Equal(got[:4], want) || !strings.Contains(got[4], "the id good is taken by") || c.Diagnostics[4].Warning {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	if len(c.Servers) != 2 || c.Server("good").Command != "x" || c.Server("aa-bb_1") == nil || c.Refused {
		t.Errorf("%+v", c.Servers)
	}
}

func TestTooManyServers(t *testing.T) {
	var b strings.Builder
	b.WriteString(head + "servers:\n")
	for i := range MaxServers + 2 {
		b.WriteString("  s" + string(rune('a'+i/26)) + string(rune('a'+i%26)) + ": {command: x}\n")
	}
	c := loadUser(t, b.String())
	if len(c.Servers) != MaxServers || len(c.Diagnostics) != 1 || c.Refused {
		t.Errorf("%d servers, %v", len(c.Servers), problems(c))
	}
}

const policed = head + `
servers: {s: {command: x}}
policies:
  all:
    servers: ["*"]
  most:
    servers: [s, "git*"]
    tools: ["s/*", "git__x"]
    deny: ["s/del_*", "exec:*--privileged*", "s__drop"]
    ask: ["s/create_*"]
    allow: [execute, read, read]
    exposure: lazy
    max_description_chars: 0
    max_result_bytes: 64KiB
defaults: {policy: most, trust_level: 2}
path: [/usr/bin, /opt/bin]
log: {args: none, days: 3, max_file: 1MiB}
names: {max: 40}
secrets: {T: "cmd:pass show 'my wiki'", F: "file:~/x"}
`

func TestPoliciesAndTheRest(t *testing.T) {
	c := loadUser(t, policed)
	if len(c.Diagnostics) > 0 || c.Refused {
		t.Fatal(problems(c))
	}
	p := c.Policies["most"]
	if len(c.Policies) != 2 || !slices.Equal(p.Allow, []Tier{TierRead, TierExecute}) || len(p.Deny) != 3 || len(p.Tools) != 2 || len(p.Ask) != 1 ||
		p.Servers[1].Text != "git*" || !strings.HasSuffix(p.Deny[1].At, "mcp.yaml:10") || !strings.HasSuffix(p.At, ":7") {
		t.Errorf("%+v", p)
	}
	if p.Exposure != "lazy" || p.MaxDescriptionChars != 0 || p.MaxResultBytes != 64<<10 {
		t.Errorf("what is shown: %+v", p)
	}
	if p := c.Policies["all"]; !slices.Equal(p.Allow, []Tier{TierRead}) || p.Tools != nil ||
		p.Exposure != "auto" || p.MaxDescriptionChars != 300 || p.MaxResultBytes != 16<<10 {
		t.Errorf("R52: %+v", p)
	}
	if c.Defaults.Policy != "most" || c.Defaults.TrustLevel != 2 {
		t.Errorf("%+v", c.Defaults)
	}
	if c.Log != (Log{"none", 3, 1 << 20}) || c.NamesMax != 40 || len(c.Path) != 2 || len(c.Secrets) != 2 {
		t.Errorf("%+v", c)
	}
}

func TestAbsentFileHasNoPolicy(t *testing.T) {
	for _, text := range []string{"", "# only a comment\n"} {
		c := loadUser(t, text)
		if c.Refused || len(c.Diagnostics) > 0 || len(c.Policies) > 0 || c.Defaults != nil || c.NamesMax != 50 || c.Log != (Log{"redacted", 30, 64 << 20}) {
			t.Errorf("%q: %+v", text, c)
		}
	}
	c := loadUser(t, head+"defaults: {policy: p}\npolicies: {p: {}}\n")
	if c.Defaults == nil || c.Defaults.TrustLevel != 1 {
		t.Errorf("R52: anonymous callers have level 1: %+v %v", c.Defaults, problems(c))
	}
}

// C11: no policy is half-read.
func TestMistakesThatRefuseTheFile(t *testing.T) {
	for change, want := range map[string]string{
		"deny: [\"s/del_*\"=>deny: [\"\"":                   "an empty pattern matches nothing",
		"servers: [s, \"git*\"]=>server: [s]":               `unknown field (did you mean "servers"?)`,
		"ask: [=>asks: [":                                   `unknown field (did you mean "ask"?)`,
		"allow: [execute=>allow: [exec":                     "must be one of read, write, execute, admin",
		"allow: [execute, read, read]=>allow: []":           `is empty; to allow nothing deny "*"`,
		"ask: [=>ask: [\"resource:s\", ":                    "policies.most.ask[0]: SERVER/ must follow the prefix",
		"deny: [=>deny: [\"prompt:s/\", ":                   "policies.most.deny[0]: a part beside the / is empty; write * for any",
		"allow: [=>models: [":                               "models is not supported yet",
		"allow: [=>exposure: top_k\n    allow: [":           "top_k is not supported yet; write auto, full or lazy",
		"allow: [=>exposure: ful\n    allow: [":             `exposure: must be one of auto, full, lazy (did you mean "full"?)`,
		"allow: [=>max_result_bytes: 1\n    allow: [":       "max_result_bytes: must be from 1KiB to 64MiB",
		"allow: [=>max_description_chars: -1\n    allow: [": "max_description_chars: must be a whole number from 0 to 65536",
		"policy: most=>policy: mots":                        `defaults.policy: there is no policy of this name (did you mean "most"?)`,
		"policy: most, =>":                                  "policy is missing",
		"trust_level: 2=>trust_level: 4":                    "must be a whole number from 0 to 3",
		"  most:=>  Most:":                                  "a name is a lower-case letter or digit",
		"  most:=>  all:":                                   "policies.all: given twice",
		"policies:=>polices:":                               `unknown field (did you mean "policies"?)`,
		"names: {max: 40}=>callers: {}":                     "callers is not supported yet",
		"max: 40=>max: 31":                                  "must be a whole number from 32 to 64",
		"args: none=>args: redact":                          `log.args: must be one of redacted, hash, none`,
		"version: 1=>version: 2":                            "must be 1",
		"version: 1=>":                                      "version: is missing",
		"/opt/bin=>opt/bin":                                 "path[1]: must be one absolute directory",
		"cmd:pass show 'my wiki'=>cmd:pass show 'my":        "secrets.T: a quote in the command is not closed",
		"file:~/x=>hunter2":                                 "an entry begins with cmd: or file:",
		"file:~/x=>file:x":                                  "a file: entry needs an absolute path",
		"servers: {s: {command: x}}=>servers: [s]":          "servers: must be a mapping, not a list",
		"servers: {s: {command: x}}=>servers: {s: {":        "not valid YAML",
		"names: {max: 40}=>names: {max: 40}\n---\na: 1":     "a second document begins",
		"  all:=>  all: &x":                                 "policies.all: anchors are not read",
		"version: 1=>- version: 1":                          "not valid YAML",
	} {
		old, now, _ := strings.Cut(change, "=>")
		text := strings.Replace(policed, old, now, 1)
		if text == policed {
			t.Fatalf("%q does not occur", old)
		}
		c := loadUser(t, text)
		got := strings.Join(problems(c), "\n")
		if !strings.Contains(got, want) || strings.Contains(got, "hunter2") {
			t.Errorf("%q: got %s", change, got)
		}
		if !c.Refused || len(c.Policies) > 0 || c.Defaults != nil || len(c.Servers) > 0 || c.Log != (Log{"none", 0, DefaultLogFile}) {
			t.Errorf("%q: something of the file is in force", change)
		}
	}
}

// C5, C12.
func TestFilesThatAreNotBelieved(t *testing.T) {
	c := loadUser(t, policed+"#"+strings.Repeat("x", MaxFileBytes))
	if got := problems(c); !c.Refused || len(got) != 1 || !strings.HasSuffix(got[0], "larger than 256KiB") {
		t.Errorf("too large: %v", got)
	}
	c = loadUser(t, head+"# \xff\n")
	if got := problems(c); !c.Refused || got[0] != "2:3: the file is not valid UTF-8 here" {
		t.Errorf("invalid: %v", got)
	}

	dirs := userDir(t, policed)
	path := filepath.Join(dirs.Config, "mcp.yaml")
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	c = Load(LoadOptions{Dirs: dirs})
	if got := problems(c); !c.Refused || len(got) != 1 || !strings.Contains(got[0], "run chmod") || len(c.Policies) > 0 {
		t.Errorf("writable by others: %v", got)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if c.Current() {
		t.Error("mending the mode is not noticed")
	}

	if c = Load(LoadOptions{Dirs: userDir(t, policed), Project: dirs.Config}); c.Refused {
		t.Error(problems(c))
	}
	if c = Load(LoadOptions{Dirs: dirs, Project: dirs.Config}); !c.Refused {
		t.Error("C5: a configuration inside the session's project is believed")
	}
}

func TestStarterFile(t *testing.T) {
	c := loadUser(t, string(StarterFile()))
	p := c.Policies["everything"]
	if len(c.Diagnostics) > 0 || p == nil || p.Servers[0].Text != "*" || len(p.Allow) != 3 || slices.Contains(p.Allow, TierAdmin) ||
		c.Defaults.Policy != "everything" || c.Defaults.TrustLevel != 2 || len(c.Servers) != 0 {
		t.Errorf("C14: %v %+v", problems(c), c)
	}
}
