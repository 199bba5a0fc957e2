package pkg

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"postern/pkg/gateway"
	"postern/pkg/mcptest"
	"postern/pkg/wire"
)

// fidelity is two servers, one of each era, with odd lists, and the ledger.
type fidelity struct {
	*ledger
	h     *hosted
	value string // an object of everything that encoders like to change
	rows  int
}

// pair is an agent of one era in front of a server of one era.
type pair struct {
	agent, server string // old or new
	only          bool   // the server is served as itself
	a             *mcptest.Agent
}

func (p pair) String() string {
	s := p.agent + " agent, " + p.server + " server"
	if p.only {
		s += ", only"
	}
	return s
}

const modernMeta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"mcptest","x":1.0},` +
	`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}},"roots":{},"sampling":{},"x":1.0}`

const agentCapabilities = `{"roots":{"listChanged":true},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}}}`

// agentTasks is the tasks of the agent's own, as the end of its capabilities.
const agentTasks = `,"tasks":{"list":{},"cancel":{},"requests":{"elicitation":{"create":{}},"sampling":{"createMessage":{}}},"x":1.0}}`

func newFidelity(t *testing.T) *fidelity {
	t.Helper()
	value, err := os.ReadFile("testdata/fidelity/value.json")
	if err != nil {
		t.Fatal(err)
	}
	f := &fidelity{ledger: newLedger(t), value: strings.TrimSpace(string(value))}
	files := map[string]string{}
	for _, kind := range []string{"tools", "prompts", "resources", "templates"} {
		text, err := os.ReadFile("testdata/fidelity/" + kind + ".json")
		if err != nil {
			t.Fatal(err)
		}
		files[kind+".json"] = f.fill(string(text))
	}
	const lists = "-more, -tools, $WORK/tools.json, -prompts, $WORK/prompts.json, -resources, $WORK/resources.json, -templates, $WORK/templates.json"
	f.h = newHosted(t, `version: 1
servers:
  old: {command: $FAKE, shared: false, sampling: true, args: [-events, $WORK/old.events, `+lists+`]}
  new: {command: $FAKE, args: [-era, modern, -events, $WORK/new.events, `+lists+`]}
`+strings.Replace(everything, "allow:", "deny: [\"resource:*/fake://item/denied\"], allow:", 1), files)
	return f
}

// fill puts the value in place of $V.
func (f *fidelity) fill(text string) string { return strings.ReplaceAll(text, "$V", f.value) }

// open connects an agent of the pair.
func (f *fidelity) open(p pair) pair {
	o := gateway.Options{Dir: f.h.dir}
	if p.only {
		o.Only = p.server
	}
	p.a = f.h.connect(o)
	if p.agent == "old" {
		p.a.InitializeAs("2025-11-25", agentCapabilities[:len(agentCapabilities)-1]+agentTasks)
		p.a.Ask("tools/list", "")
	} else {
		p.a.Ask("tools/list", `{"_meta":{`+modernMeta+`}}`)
	}
	return p
}

// pairs opens an agent for every pair.
func (f *fidelity) pairs() (all []pair) {
	for _, only := range []bool{false, true} {
		for _, agent := range []string{"old", "new"} {
			for _, server := range []string{"old", "new"} {
				all = append(all, f.open(pair{agent: agent, server: server, only: only}))
			}
		}
	}
	return all
}

// name is what the agent calls a tool or prompt of the server.
func (p pair) name(own string) string {
	if p.only {
		return own
	}
	return p.server + "__" + own
}

// uri is what the agent calls a resource: both servers have the same, and it
// belongs to the first of them.
func (p pair) uri(own string) string {
	if p.only || p.server == "old" {
		return own
	}
	return "postern+new:" + own
}

// row is params with all that is written in them as $…; mark finds them again.
func (f *fidelity) row(p pair, params string) (filled, mark string) {
	f.rows++
	mark = fmt.Sprintf(`"vendor/row":"r%d"`, f.rows)
	meta := mark
	if p.agent == "new" {
		meta = modernMeta + "," + mark
	}
	uri := func(text string) string {
		for strings.Contains(text, "$U(") {
			head, rest, _ := strings.Cut(text, "$U(")
			own, tail, _ := strings.Cut(rest, ")")
			text = head + p.uri(own) + tail
		}
		return text
	}
	prefix := strings.TrimSuffix(p.name("x"), "x")
	return f.fill(uri(strings.NewReplacer("$M", meta, "$P", prefix).Replace(params))), mark
}

// came waits for the line with a mark that the server got.
func (f *fidelity) came(p pair, mark string) []byte {
	f.t.Helper()
	var line []byte
	if !mcptest.Eventually(func() bool {
		for _, e := range mcptest.Events(f.t, f.h.path(p.server+".events"), "recv") {
			if strings.Contains(e.Data, mark) {
				line = []byte(e.Data)
			}
		}
		return line != nil
	}) {
		f.t.Fatalf("%v: %s did not reach the server", p, mark)
	}
	return line
}

// request sends a request under an odd id and returns its line and the answer.
func (f *fidelity) request(p pair, method, params string) (sent []byte, answer wire.Message) {
	f.t.Helper()
	ids := []string{`9007199254740993`, `""`, `"1"`, `1`, `"\u0069\/d"`, `-5`, `0`, `123456789012345678901234567890`, `"é\u0000"`, `1.5`, `1e2`, `-0`}
	id := ids[f.rows%len(ids)]
	sent = wire.RequestLine([]byte(id), method, []byte(params))
	p.a.Send(string(sent))
	return sent, p.a.Expect(id)
}
