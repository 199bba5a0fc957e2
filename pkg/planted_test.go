//go:build unix

package pkg

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"postern/pkg/mcptest"
	"postern/pkg/wire"
)

// planted are the secrets of TestPlantedSecrets by what they are and where they
// come from. Some look like nothing at all, some like what they are.
func planted() map[string]string {
	return map[string]string{
		// What servers are given.
		"env-literal":      "zq9-LITERAL-in-mcp-yaml",
		"env-ref":          "Zr8kLiveEnvReference+/=x",
		"env-whole":        "the.bearer.of-this~2718281828",
		"env-default":      "fallback-of-a-reference-31",
		"env-listed":       "listed by name, with blanks",
		"env-lines":        "line one of a key 4242\nline two of a key 4343",
		"env-quotes":       `quo"te\back&slash%41<x>`,
		"env-json":         `{"type":"account","private_key":"json-private-key-77","id":1}`,
		"env-url":          "postgres://me:db-Passw0rd-55@db/x",
		"env-number":       "8675309123",
		"env-long":         "long-" + strings.Repeat("aB3dE6gH9j", 15),
		"env-project":      "from-the-shell-for-a-project-8",
		"env-project-json": "literal-in-dot-mcp-json-91",
		"file-used":        "value-in-env-file-used-12",
		"file-unused":      "value-in-env-file-unused-13",
		"file-project":     "value-in-project-env-file-14",
		"secrets-cmd":      "printed-by-a-command-15",
		"secrets-file":     "kept-in-a-file-16-äöü",
		"arg-ref":          "argument-by-reference-17",
		"arg-inside":       "inside-of-an-argument-18",
		"arg-literal":      "literal-api-key-argument-19",
		"arg-project":      "project-argument-ref-20",
		// What callers put into arguments.
		"member-password": "hunter2!hunter2", "member-token": "t0ken-of-a-member", "member-header": "Basic dXNlcjpwYXNz-21", "member-object": "cred-object-inner-22",
		"query-token": "query-token-value-23", "nested-json": "nested-json-password-24", "cookie": "sid=cookie-value-25; x=y",
		"shape-github": "ghp_0123456789abcdefABCDEF0123456789abcd", "shape-pat": "github_pat_11AAAAAAA0abcdefghijkl_ABCDEFGH26", "shape-gitlab": "glpat-AbCdEf0123456789-_x",
		"shape-sk": "sk-proj-0123456789abcdefABCDEF", "shape-slack": "xoxb-210987654321-AbCdEf27", "shape-aws": "AKIAIOSFODNN7EXAMPLE", "shape-sts": "ASIAIOSFODNN7EXAMPL2",
		"shape-google": "AIzaSyD-0123456789abcdefghijklmnopqrst28", "shape-jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlMjk", "shape-own": "pst_0123456789abcdefABCDEFxyz30",
		"shape-pem":  "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIIGLV31\n-----END EC PRIVATE KEY-----",
		"shape-user": "me:uri-password-32",
	}
}

// forms are the ways in which a secret may be written down. A part of one counts
// as well: of several lines each, of a document or URL what is secret in it.
func forms(name, value string) (all []string) {
	parts := append(strings.Split(value, "\n"), value)
	switch name {
	case "env-json":
		parts = append(parts, "json-private-key-77")
	case "env-url", "shape-user":
		parts = []string{strings.TrimSuffix(strings.Split(value, ":")[strings.Count(value, ":")], "@db/x")}
	case "shape-pem":
		parts = []string{"MHcCAQEEIIGLV31"}
	}
	for _, v := range parts {
		quoted, _ := json.Marshal(v)
		inner := strings.Trim(string(quoted), `"`)
		all = append(all, v, inner, strings.Trim(string(wire.Quote(v)), `"`), url.QueryEscape(v), url.PathEscape(v), hex.EncodeToString([]byte(v)),
			strings.ToUpper(hex.EncodeToString([]byte(v))))
		for shift := range 3 { // the digits that stand for nothing but the value
			for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
				digits := enc.EncodeToString([]byte(strings.Repeat("\x00", shift) + v))
				all = append(all, digits[(shift*8+5)/6:(shift+len(v))*8/6])
			}
		}
	}
	return all
}

// plant is text with each {{name}} replaced by that secret, and {{how name}} by a
// form of it.
func plant(text string) string {
	for name, value := range planted() {
		for how, form := range map[string]string{
			"": value, "base64 ": base64.StdEncoding.EncodeToString([]byte("user:" + value)), "base64url ": base64.RawURLEncoding.EncodeToString([]byte(value)),
			"hex ": hex.EncodeToString([]byte(value)), "url ": url.QueryEscape(value), "json ": strings.Trim(string(wire.Quote(value)), `"`),
			"yaml ": string(wire.Quote(value)),
		} {
			text = strings.ReplaceAll(text, "{{"+how+name+"}}", form)
		}
	}
	return text
}

const plantedConfig = `version: 1
secrets: {STORED: "cmd:cat $HOME/elsewhere/stored", KEPT: "file:$HOME/elsewhere/kept"}
servers:
  good:
    command: $FAKE
    args: [-events, $HOME/elsewhere/events, -info, '{"name":"fake","version":"${REF_KEY} ${STORED}"}', "--instructions=${ARG_TOKEN}", "-cursor-loop=false"]
    env: {LITERAL: {{yaml env-literal}}, REF: "${REF_KEY}", AUTH: "Bearer ${WHOLE}", DEFAULTED: "${NOT_SET:-{{env-default}}}", LINES: "${LINES}", QUOTES: "${QUOTES}",
      JSON: "${JSON}", DATABASE: "${DATABASE}", NUMBER: "${NUMBER}", LONG: "${LONG}", USED: "${USED}", STORED: "${STORED}", KEPT: "${KEPT}"}
    env_file: good.env
    inherit_env: [LISTED, PATH, HOME]
    agent_env: [REF_KEY, WHOLE, LINES, QUOTES, JSON, DATABASE, NUMBER, LONG, LISTED, ARG_TOKEN, ARG_IN]
    class: execute
  dies: {command: $FAKE, args: [-fault, "stderr-line=cannot sign in with {{base64 env-ref}} or ${ARG_IN} {{url env-quotes}}", -fault, exit-at-start=3, "-info=x${ARG_IN}y"], agent_env: [ARG_IN]}
  refuses: {command: $FAKE, args: [-fault, 'initialize={"protocolVersion":"{{hex env-ref}} ${ARG_TOKEN}"}'], agent_env: [ARG_TOKEN]}
  noisy: {command: $FAKE, args: [-fault, "banner=token is ${REF_KEY}\n{{json env-lines}} {{env-number}}", -fault, no-initialize], agent_env: [REF_KEY], start_timeout: 2s}
  lists: {command: $FAKE, args: [-tools, "$HOME/elsewhere/no-tools-${ARG_IN}"], agent_env: [ARG_IN]}
  poor: {command: $FAKE, env: {A: "${REF_KEY}${NOWHERE}"}, agent_env: [REF_KEY]}
  lost: {command: "/nowhere/${ARG_TOKEN}", agent_env: [ARG_TOKEN]}
  flags: {command: $FAKE, args: ["--api-key={{arg-literal}}", "-fault", "stderr-line=flag --api-key={{arg-literal}} is unknown to {{arg-literal}}", "-fault", "exit-at-start=2"]}
  wrong: {command: $FAKE, env: {NUMBER: {{env-number}}, DOLLAR: "{{env-literal}}$x"}}
policies:
  everything: {servers: ["*"], allow: [read, write, execute]}
defaults: {policy: everything, trust_level: 2}
`

const plantedProject = `{"mcpServers":{"docs":{"command":"$FAKE","args":["-fault","stderr-line=docs was given ${PROJECT_ARG}"],
 "env":{"TOKEN":"${PROJECT_TOKEN}","LITERAL":"{{env-project-json}}"}}}}`

const plantedOwn = `version: 1
servers:
  own: {command: $FAKE, env: {FILE: "${FROM_FILE}"}, env_file: own.env}
`

// plantedHome declares servers that are given the secrets and say them back.
func plantedHome(t *testing.T) *home {
	h := newHome(t)
	h.write("elsewhere/stored", plant("{{secrets-cmd}}\n"))
	h.write("elsewhere/kept", plant("{{secrets-file}}\n"))
	h.write(".config/postern/mcp.yaml", plant(plantedConfig))
	h.write(".config/postern/good.env", plant("USED={{file-used}}\nUNUSED='{{file-unused}}'\n"))
	h.write("project/.mcp.json", plant(plantedProject))
	h.write("project/.postern/mcp.yaml", plantedOwn)
	h.write("project/own.env", plant("FROM_FILE={{file-project}}\n"))
	for name, secret := range map[string]string{"REF_KEY": "env-ref", "WHOLE": "env-whole", "LISTED": "env-listed", "LINES": "env-lines", "QUOTES": "env-quotes", "JSON": "env-json",
		"DATABASE": "env-url", "NUMBER": "env-number", "LONG": "env-long", "PROJECT_TOKEN": "env-project", "PROJECT_ARG": "arg-project", "ARG_TOKEN": "arg-ref", "ARG_IN": "arg-inside"} {
		h.env = append(h.env, name+"="+planted()[secret])
	}
	return h
}

// plantedArguments hold every secret: under names, in shapes, and as values that
// servers are given, in some form.
func plantedArguments() string {
	text := `{"password":"{{json member-password}}","a":{"b":[{"Access_Token":"{{json member-token}}"}],"headers":{"Authorization":"{{json member-header}}","Cookie":"{{json cookie}}"}},
	"credentials":{"user":"u","x":["{{json member-object}}"]},"url":"https://h/?a=1&access_token={{json query-token}}&b=2","body":"{\"n\":1,\"passwd\":\"{{nested-json}}\"}",
	"remote":"https://{{json shape-user}}@h/x.git","{{json env-whole}}":1,"n":{{env-number}},"q":"see \"{{json env-quotes}}\" \\","enc":"{{base64 secrets-cmd}} {{hex secrets-file}} {{url env-quotes}}"`
	for _, name := range slices.Sorted(maps.Keys(planted())) {
		if strings.HasPrefix(name, "shape-") && name != "shape-user" {
			text += `,"` + name + `":"x={{json ` + name + `}}, {{json ` + name + `}}"`
		}
		if slices.ContainsFunc([]string{"env-", "file-", "secrets-", "arg-"}, func(p string) bool { return strings.HasPrefix(name, p) }) {
			text += `,"` + name + `":["{{json ` + name + `}}","[{{base64 ` + name + `}}]"]`
		}
	}
	var line bytes.Buffer
	if err := json.Compact(&line, []byte(plant(text+"}"))); err != nil {
		panic(err)
	}
	return line.String()
}

// said collects what the commands print, but for a tool's own result.
type said struct {
	h   *home
	all bytes.Buffer
}

// run runs a command whatever it ends with.
func (s *said) run(result bool, name string, args ...string) {
	s.h.t.Helper()
	c := s.h.command(name, args...)
	var out, errOut bytes.Buffer
	c.Stdout, c.Stderr = &out, &errOut
	_ = c.Run()
	fmt.Fprintf(&s.all, "== %s ended with %d\n%s", name, c.ProcessState.ExitCode(), errOut.String())
	if !result {
		s.all.Write(out.Bytes())
	}
}

// TestPlantedSecrets: forty and more secrets are in nothing that the five
// commands write or print, whatever goes wrong (C31, S5, S6, MB-047, MB-218).
func TestPlantedSecrets(t *testing.T) {
	h := plantedHome(t)
	s := &said{h: h}
	s.run(false, "mcp-trust", "status")
	s.run(false, "mcp-trust", "status", "-o", "table")
	h.allow("docs")
	h.allow("own")
	s.run(false, "mcp-trust", "status", "-o", "table")
	s.run(false, "mcp-trust", "list", "--all")
	s.run(false, "mcp-catalog", "refresh")
	s.run(false, "mcp-catalog", "refresh", "-o", "json")
	for _, verb := range [][]string{{"servers"}, {"servers", "-o", "table"}, {"servers", "--check"}, {"tools"}, {"show", "good"}, {"show", "dies"}, {"test", "dies"}, {"add", "dies"}} {
		s.run(false, "mcp-catalog", verb...)
	}
	arguments := plantedArguments()
	s.run(true, "mcp-call", "good", "echo", "--args", arguments)
	s.run(true, "mcp-call", "good", "env")
	s.run(true, "mcp-call", "good", "fail", "--args", plant(`{"text":"no {{json env-ref}}"}`))
	for _, line := range []string{`good rpcerror {"error":{"code":-32000,"message":"bad {{json env-ref}} {{base64 env-whole}}","data":{"token":"x","v":"{{json env-listed}}"}}}`,
		`good exit {"status":7,"stderr":"{{json env-lines}} and {{base64 env-long}} and {{json env-json}}"}`, `good exit {"stderr":"{{json secrets-cmd}} {{hex secrets-file}}"}`,
		`good fail {"text":"no {{json env-ref}}"} --get nothing.here`, `good write {"line":"not JSON {{json env-ref}}","answer":true}`, `good {{arg-ref}} {}`, `{{shape-github}} x {}`,
		`dies x {}`, `refuses x {}`, `noisy x {}`, `lists x {}`, `poor x {}`, `lost x {}`, `flags x {}`, `wrong x {}`, `docs exit {"stderr":"{{json env-project-json}}"}`, `own exit {"stderr":"{{base64url file-project}}"}`} {
		words := strings.SplitN(line, " ", 3)
		args := append([]string{plant(words[0]), plant(words[1]), "--args"}, strings.Split(plant(words[2]), " --get ")...)
		if len(args) > 4 {
			args = slices.Insert(args, 4, "--get")
		}
		s.run(false, "mcp-call", args...)
		if !strings.HasPrefix(line, "noisy") { // it takes its start_timeout
			s.run(false, "mcp-call", append(args, "-o", "json")...)
		}
	}
	plantedSession(h, s, arguments)
	s.run(false, "mcp-log")
	s.run(false, "mcp-log", "-o", "table")
	h.plantedNowhere(s)
}

// plantedSession is an agent that puts secrets wherever it may write.
func plantedSession(h *home, s *said, arguments string) {
	a := mcptest.Start(h.t, h.command("mcp-serve"))
	a.Ask("initialize", plant(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"agent {{json env-ref}}","version":"{{json shape-github}}"}}`))
	a.Send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	a.Ask("tools/list", "{}")
	a.Call("good__echo", arguments)
	for _, name := range []string{"dies__x", "refuses__x", "poor__x", "good__" + plant("{{arg-ref}}"), plant("{{shape-github}}"), "good__exit", "docs__exit"} {
		m := a.Expect(a.Request("tools/call", mcptest.CallParams(name, plant(`{"stderr":"{{json env-ref}} {{json env-project}}"}`))))
		s.all.Write(bytes.ReplaceAll(m.Raw, []byte(name), nil)) // an agent's own word may come back to it
	}
	id := a.Request("tools/call", mcptest.CallParams("good__never", ""))
	mcptest.WaitEvents(h.t, h.path("elsewhere/events"), "call", len(mcptest.Events(h.t, h.path("elsewhere/events"), "call")))
	a.Send(plant(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"because {{json env-ref}}"}}`))
	a.Ask("ping", "")
	if code := a.Close(); code != 0 {
		h.t.Errorf("mcp-serve ended with %d", code)
	}
	s.all.WriteString(a.Stderr())
}

// plantedNowhere looks for every form of every secret.
func (h *home) plantedNowhere(s *said) {
	h.t.Helper()
	written := map[string][]byte{"the output": s.all.Bytes()}
	declared := []string{".config/postern/mcp.yaml", ".config/postern/good.env"}
	for _, dir := range []string{".config", ".local", ".cache"} {
		err := filepath.WalkDir(h.path(dir), func(path string, d fs.DirEntry, err error) error {
			if rel, _ := filepath.Rel(h.dir, path); err != nil || d.IsDir() || slices.Contains(declared, rel) {
				return err
			}
			raw, err := os.ReadFile(path)
			written[path] = raw
			return err
		})
		if err != nil {
			h.t.Error(err)
		}
	}
	for _, want := range []string{"/calls/", "/stderr/", "/catalogs/", "trust.json"} {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(written)), func(path string) bool { return strings.Contains(path, want) }) {
			h.t.Errorf("nothing was written to %s: the test tests too little", want)
		}
	}
	sown := plantedConfig + plantedProject + strings.Join(h.env, " ") + plantedArguments() // or files that are written by name
	found := 0
	for name, value := range planted() {
		if !strings.Contains(sown, "{{"+name+"}}") && !strings.Contains(sown, value) && !strings.Contains(plantedArguments(), name) && !strings.HasPrefix(name, "file-") {
			h.t.Errorf("%s is planted nowhere", name)
		}
		for path, text := range written {
			for _, form := range forms(name, value) {
				if i := bytes.Index(text, []byte(form)); i >= 0 {
					h.t.Errorf("%s is in %s: …%q…", name, path, text[max(0, i-60):min(len(text), i+len(form)+40)])
					found++
					break
				}
			}
		}
	}
	if len(planted()) < 40 {
		h.t.Errorf("%d secrets only", len(planted()))
	}
	h.t.Logf("%d secrets, %d places, %d bytes of output, %d found", len(planted()), len(written), s.all.Len(), found)
}
