package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/urfave/cli/v2"

	"postern/pkg/call"
	"postern/pkg/cmdmain"
)

// printableLines cleans each line of a text for a terminal.
func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = cmdmain.Printable(line)
	}
	return strings.Join(lines, "\n")
}

// toolRow is one tool of a listing as JSON.
type toolRow struct {
	Server      string          `json:"server"`
	Tool        string          `json:"tool"`
	Name        string          `json:"name"`
	Tier        string          `json:"tier"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
}

// listTools prints the tools of one server that this caller may call.
func (m *caller) listTools(ctx context.Context, c *cli.Context, server string) error {
	tools, err := m.session.Tools(ctx, server)
	if err != nil {
		return cmdmain.Failure(err)
	}
	asJSON := c.String("output") == "json" || c.Bool("json")
	for _, t := range tools {
		if err := m.toolLine(t, asJSON || !m.env.IsTerminal(m.env.Stdout) && c.String("output") != "text"); err != nil {
			return err
		}
	}
	return nil
}

func (m *caller) toolLine(t *call.Tool, asJSON bool) error {
	if asJSON {
		row, err := json.Marshal(toolRow{t.Server.Declared.ID, t.Def.Name, t.Exposed, string(t.Decision.Tier),
			t.Def.Description, t.Def.InputSchema})
		if err != nil {
			return err
		}
		return m.line(row)
	}
	return m.foreign([]byte(fmt.Sprintf("%-32s %-8s %s", t.Def.Name, t.Decision.Tier, firstSentence(t.Def.Description))))
}

func firstSentence(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return cmdmain.Cut(text, 120)
}

// showParameters is --help with a tool named: what the tool takes.
func showParameters(env *cmdmain.Env, c *cli.Context) error {
	args, _ := cmdmain.Positional(c)
	m, err := open(env, c)
	if err != nil {
		return err
	}
	defer m.close()
	server, tool, _ := m.address(args)
	if tool == "" {
		return m.listTools(env.Ctx, c, server)
	}
	t, refusal := m.session.Find(env.Ctx, server, tool)
	if refusal != nil {
		return cmdmain.Failure(refusal)
	}
	return m.foreign([]byte(describeTool(t)))
}

// describeTool is the page of one tool: what it does and each parameter.
func describeTool(t *call.Tool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%s (%s)\n", t.Server.Declared.ID, t.Def.Name, t.Decision.Tier)
	if t.Def.Description != "" {
		fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(t.Def.Description))
	}
	schema := gjson.ParseBytes(t.Def.InputSchema)
	required := map[string]bool{}
	for _, name := range schema.Get("required").Array() {
		required[name.String()] = true
	}
	properties := schema.Get("properties").Map()
	names := make([]string, 0, len(properties))
	for name := range properties {
		names = append(names, name)
	}
	sort.Strings(names)
	if len(names) > 0 {
		b.WriteString("\nParameters (* is required):\n")
	}
	for _, name := range names {
		mark := " "
		if required[name] {
			mark = "*"
		}
		p := properties[name]
		fmt.Fprintf(&b, "  %s %-20s %-10s %s\n", mark, name, kindOf(p), firstSentence(p.Get("description").String()))
	}
	return b.String()
}

// kindOf is a property's types, or its allowed values when it has few.
func kindOf(p gjson.Result) string {
	if e := p.Get("enum"); e.IsArray() && len(e.Array()) <= 8 {
		return e.Raw
	}
	var list []string
	for name := range typesOf([]byte(p.Raw)) {
		list = append(list, name)
	}
	sort.Strings(list)
	return strings.Join(list, "|")
}
