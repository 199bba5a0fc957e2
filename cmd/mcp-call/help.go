package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"postern/pkg/call"
	"postern/pkg/cmdmain"
	"postern/pkg/policy"
)

// maxHelpDepth is how many objects within objects the help of a tool spells out.
const maxHelpDepth = 3

// maxColumn is how far a name or a type may push what stands beside it.
const maxColumn = 32

// help is --help beside arguments: what the tool takes, or which there are.
func (m *caller) help(ctx context.Context, args []string) error {
	t, err := address(viewed{m.session.View()}, args)
	if err != nil {
		return err
	}
	if t.tool == "" {
		return m.listTools(ctx, t.server)
	}
	found, refusal := m.session.Find(ctx, t.server, t.tool)
	if refusal != nil {
		return m.refused(ctx, refusal)
	}
	if m.out == "json" || m.out == "jsonl" {
		var row bytes.Buffer
		enc := json.NewEncoder(&row)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(rowOf(found)); err != nil {
			return err
		}
		return m.json(row.Bytes())
	}
	p := page{clean: func(s string) string { return s }}
	if m.env.IsTerminal(m.env.Stdout) {
		p.clean = cmdmain.Printable
	}
	return m.foreign(p.tool(found))
}

// page is the help of one tool under construction.
type page struct {
	b     strings.Builder
	clean func(string) string // for names, which must not break the lines they stand in
	rows  [][3]string
}

func (p *page) tool(t *call.Tool) string {
	fmt.Fprintf(&p.b, "%s/%s (%s)\n", t.Server.Declared.ID, p.clean(t.Def.Name), t.Decision.Tier)
	switch t.Decision.Verdict {
	case policy.Deny:
		fmt.Fprintf(&p.b, "may not be called: %s\n", strings.TrimSpace(t.Decision.Reason+" "+t.Decision.Rule))
	case policy.Ask:
		fmt.Fprintf(&p.b, "a person must agree before each call: %s\n", t.Decision.Rule)
	}
	if text := strings.TrimSpace(t.Def.Description); text != "" {
		fmt.Fprintf(&p.b, "\n%s\n", text)
	} else if t.Def.Title != "" {
		fmt.Fprintf(&p.b, "\n%s\n", p.clean(t.Def.Title))
	}
	p.parameters(schemaOf(t.Def.InputSchema), "", 0)
	if len(p.rows) == 0 {
		p.b.WriteString("\nIt takes no parameters.\n")
		return p.b.String()
	}
	p.b.WriteString("\nParameters (* is required):\n")
	var width [2]int
	for _, row := range p.rows {
		for i := range width {
			width[i] = max(width[i], min(len([]rune(row[i])), maxColumn))
		}
	}
	for _, row := range p.rows {
		line := fmt.Sprintf("  %-*s  %-*s  %s", width[0], row[0], width[1], row[1], row[2])
		p.b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return p.b.String()
}

// parameters lists the properties in the schema's order, those of objects below
// them as a.b, which is how they are written.
func (p *page) parameters(s schema, prefix string, depth int) {
	required := map[string]bool{}
	var names []string
	for _, n := range s.flat() {
		for _, name := range member(n, "required").Array() {
			required[name.String()] = true
		}
		member(n, "properties").ForEach(func(key, _ gjson.Result) bool {
			names = append(names, key.String())
			return true
		})
	}
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] || len(p.rows) >= maxSchemaSteps {
			continue
		}
		seen[name] = true
		property, _ := s.property(name)
		mark := "  "
		if required[name] {
			mark = "* "
		}
		p.rows = append(p.rows, [3]string{mark + p.clean(prefix+name), p.clean(property.String()), p.clean(about(property))})
		if depth+1 < maxHelpDepth {
			p.parameters(property, prefix+name+".", depth+1)
		}
	}
}

// about is what a parameter's description says, on one line, and its default.
func about(s schema) string {
	var text string
	for _, n := range s.flat() {
		if d := member(n, "description"); text == "" && d.Type == gjson.String {
			text = strings.Join(strings.Fields(d.Str), " ")
		}
	}
	for _, n := range s.nodes {
		if d := member(n, "default"); d.Exists() && d.Type != gjson.Null {
			text += " (default " + d.Raw + ")"
		}
	}
	return strings.TrimSpace(text)
}
