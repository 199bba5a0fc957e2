package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/urfave/cli/v2"

	"postern/pkg/call"
	"postern/pkg/cmdmain"
)

func showVerb(env *cmdmain.Env) *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "show one tool or one server in full", ArgsUsage: "NAME",
		Description: "NAME is a server, SERVER/TOOL, or the name that agents see. Of a tool its definition is\n" +
			"shown as the server sent it, with tier, verdict, the rule behind it and the digest of the\n" +
			"definition; of a server, what its record says. It is JSON: indented on a terminal, where\n" +
			"characters that could act on it are written as \\uXXXX, else one line. Nothing is started.",
		Action: func(c *cli.Context) error { return show(env, c) },
	}
}

func show(env *cmdmain.Env, c *cli.Context) error {
	args, err := cmdmain.Exactly(c, "NAME")
	if err != nil {
		return err
	}
	format, err := cmdmain.Output(c, "table", "json", "jsonl")
	if err != nil {
		return err
	}
	p, err := placeOf(env, c)
	if err != nil {
		return err
	}
	host, session, err := p.open()
	if err != nil {
		return err
	}
	defer host.Close()
	v := session.View()
	var line []byte
	if s := v.Server(args[0]); s != nil {
		line, err = serverDetail(v, serverRows(v, host.Catalogs(), time.Now()), s)
	} else if t := findTool(v, args[0]); t != nil {
		line, err = toolDetail(t)
	} else {
		err = cmp.Or(p.notInForce(v), unknownTool(v, args[0]))
	}
	if err != nil {
		return err
	}
	terminal := env.IsTerminal(env.Stdout)
	if format == "table" || format == "" && terminal {
		var b bytes.Buffer
		if err := json.Indent(&b, line, "", "  "); err != nil {
			return err
		}
		line = b.Bytes()
	}
	if terminal {
		line = visible(line)
	}
	_, err = env.Stdout.Write(append(line, '\n'))
	return err
}

// findTool finds a tool by the name agents see or by SERVER/TOOL.
func findTool(v *call.View, name string) *call.Tool {
	id, tool, pair := strings.Cut(name, "/")
	for _, s := range v.Servers {
		for _, t := range s.Tools {
			if pair && s.Declared.ID == id && t.Def.Name == tool || !pair && t.Exposed == name && !t.Shadowed {
				return t
			}
		}
	}
	return nil
}

// toolDetail is the tool's row with the definition as it was sent.
func toolDetail(t *call.Tool) ([]byte, error) {
	row := struct {
		toolRow
		Description string    `json:"description,omitempty"` // the definition has it whole
		At          time.Time `json:"at"`
		Digest      string    `json:"digest"`
	}{toolRow: toolRowOf(t), At: t.Server.Catalog.At, Digest: t.Def.Digest()}
	return withRaw(row, member{"definition", t.Def.Raw})
}

// serverDetail is the server's row with what the server said of itself.
func serverDetail(v *call.View, rows []serverRow, s *call.Server) ([]byte, error) {
	detail := struct {
		serverRow
		ToolNames         []string `json:"tool_names,omitempty"`
		Prompts           int      `json:"prompts,omitempty"`
		PromptNames       []string `json:"prompt_names,omitempty"` // of those that are listed, as agents know them
		Resources         int      `json:"resources,omitempty"`
		ResourceURIs      []string `json:"resource_uris,omitempty"`
		ResourceTemplates int      `json:"resource_templates,omitempty"`
		TemplateURIs      []string `json:"template_uris,omitempty"`
		Instructions      string   `json:"instructions,omitempty"`
	}{ToolNames: toolNames(s)}
	for _, row := range rows {
		if row.Server == s.Declared.ID && row.State != stateRefused {
			detail.serverRow = row
		}
	}
	if s.Catalog == nil {
		return withRaw(detail)
	}
	c := s.Catalog
	detail.Prompts, detail.Resources, detail.ResourceTemplates = len(c.Prompts), len(c.Resources), len(c.ResourceTemplates)
	detail.PromptNames, detail.ResourceURIs, detail.TemplateURIs = exposed(v.VisiblePrompts(), s), exposed(v.VisibleResources(), s), exposed(v.VisibleTemplates(), s)
	detail.Instructions = c.Instructions
	return withRaw(detail, member{"server_info", c.ServerInfo}, member{"capabilities", c.Capabilities})
}

// exposed is what agents know the items of s by.
func exposed(items []*call.Item, s *call.Server) (names []string) {
	for _, i := range items {
		if i.Server == s {
			names = append(names, i.Exposed)
		}
	}
	return names
}

// member is a member of an object whose value stays the bytes it is.
type member struct {
	name string
	raw  []byte
}

// withRaw is v, an object with at least one member, on one line, with members
// appended to it; those without a value are left out.
func withRaw(v any, members ...member) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	b.Truncate(b.Len() - len("}\n"))
	for _, m := range members {
		if len(m.raw) > 0 {
			fmt.Fprintf(&b, ",%q:%s", m.name, m.raw)
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// visible writes every character that a terminal would not simply show as
// \uXXXX, as JSON means it: outside of ASCII such characters stand in strings
// only, so the text keeps its meaning.
func visible(line []byte) []byte {
	var out bytes.Buffer
	for _, r := range string(line) {
		s := string(r)
		switch {
		case r == '\n' || cmdmain.Printable(s) == s:
			out.WriteString(s)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.Bytes()
}
