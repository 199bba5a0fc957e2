package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"postern/pkg/call"
	"postern/pkg/catalog"
	"postern/pkg/cmdmain"
	"postern/pkg/config"
	"postern/pkg/policy"
)

// aboutWidth is how much of a description a table shows.
const aboutWidth = 80

// toolRow is one tool as JSON.
type toolRow struct {
	Server      string          `json:"server"`
	Tool        string          `json:"tool"`
	Name        string          `json:"name"` // as agents see it
	Tier        config.Tier     `json:"tier"`
	Verdict     string          `json:"verdict"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
}

func rowOf(t *call.Tool) toolRow {
	return toolRow{t.Server.Declared.ID, t.Def.Name, t.Exposed, t.Decision.Tier, verdict(t), t.Def.Description, t.Def.InputSchema}
}

func verdict(t *call.Tool) string {
	switch t.Decision.Verdict {
	case policy.Allow:
		return "allow"
	case policy.Ask:
		return "ask"
	}
	return "deny"
}

// listTools prints the tools of one server that this caller may call.
func (m *caller) listTools(ctx context.Context, server string) error {
	for _, flag := range []string{"args", "get"} {
		if m.c.IsSet(flag) {
			return cmdmain.Usagef("--%s needs a TOOL", flag)
		}
	}
	if m.out == "text" { // what a person reads of a list
		if err := m.c.Set("output", "table"); err != nil {
			return err
		}
	}
	list, err := m.env.List(m.c, "TOOL", "TIER", "VERDICT", "DESCRIPTION")
	if err != nil {
		return err
	}
	tools, err := m.session.Tools(ctx, server)
	var refusal *call.Refusal
	if errors.As(err, &refusal) {
		return m.refused(ctx, refusal)
	}
	if err != nil {
		return err
	}
	for _, t := range tools {
		if err := list.Row(rowOf(t), t.Def.Name, string(t.Decision.Tier), verdict(t), beginning(firstLine(t.Def), aboutWidth)); err != nil {
			return err
		}
	}
	if len(tools) == 0 {
		m.env.Sayf("server %s has no tool that may be called", server)
		m.env.Sayf("hint: mcp-catalog tools %s%s", call.ShellQuoted(server+"/*"), m.place())
	}
	return list.Close()
}

// firstLine is the first line of a description that says something; the title
// where there is none.
func firstLine(t *catalog.Tool) string {
	for line := range strings.Lines(t.Description) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return t.Title
}
