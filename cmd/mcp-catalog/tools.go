package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"postern/pkg/call"
	"postern/pkg/catalog"
	"postern/pkg/cmdmain"
	"postern/pkg/config"
	"postern/pkg/policy"
	"postern/pkg/trust"
)

func toolsVerb(env *cmdmain.Env) *cli.Command {
	return &cli.Command{
		Name: "tools", Usage: "list the tools that are recorded", ArgsUsage: "[PATTERN…]",
		Description: "A row for each tool of the declared servers, those included that no agent may call; the\n" +
			"verdict is what an agent without an identity is told. Nothing is started.\n\n" +
			"A PATTERN is SERVER/TOOL, or the name that agents see, with * for any run of characters\n" +
			"and ? for one. Several patterns list what fits any of them.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "tier", Usage: "only tools of the tier `T`: read, write, execute or admin"},
		},
		Action: func(c *cli.Context) error { return tools(env, c) },
	}
}

func tools(env *cmdmain.Env, c *cli.Context) error {
	patterns, _ := cmdmain.Positional(c)
	wanted, err := parseFilters(patterns)
	if err != nil {
		return err
	}
	tier := config.Tier(c.String("tier"))
	switch tier {
	case "", config.TierRead, config.TierWrite, config.TierExecute, config.TierAdmin:
	default:
		return cmdmain.Usagef("--tier is read, write, execute or admin, not %q", tier)
	}
	p, err := placeOf(env, c)
	if err != nil {
		return err
	}
	list, err := env.List(c, "NAME", "TIER", "VERDICT", "BYTES", "DESCRIPTION")
	if err != nil {
		return err
	}
	v, err := p.view()
	if err != nil {
		return err
	}
	found, shown := map[*filter]bool{}, 0
	for _, s := range v.Servers {
		for _, t := range s.Tools {
			if !matchAny(wanted, t, found) || tier != "" && t.Decision.Tier != tier {
				continue
			}
			shown++
			row := toolRowOf(t)
			if err := list.Row(row, row.cells()...); err != nil {
				return err
			}
		}
	}
	if err := list.Close(); err != nil {
		return err
	}
	sayUnlisted(env, v, wanted)
	if err := cmp.Or(p.notInForce(v), unmatched(v, wanted, found)); err != nil {
		return err
	}
	if shown == 0 && list.Table() {
		env.Sayf("no tools")
	}
	return nil
}

// toolRow is one tool in one line.
type toolRow struct {
	Name        string             `json:"name"` // as agents see it
	Server      string             `json:"server"`
	Tool        string             `json:"tool"` // as the server calls it
	Tier        config.Tier        `json:"tier"`
	Verdict     string             `json:"verdict"`
	Reason      string             `json:"reason,omitempty"`
	Rule        string             `json:"rule,omitempty"`
	Provenance  catalog.Provenance `json:"provenance"`
	Bytes       int                `json:"bytes"` // of the definition as agents see it
	Repaired    bool               `json:"repaired,omitempty"`
	Description string             `json:"description"`
}

func toolRowOf(t *call.Tool) toolRow {
	row := toolRow{
		Name: t.Exposed, Server: t.Server.Declared.ID, Tool: t.Def.Name, Tier: t.Decision.Tier,
		Provenance: t.Server.Provenance, Bytes: len(t.Def.WithName(t.Exposed)), Repaired: t.Def.Repaired,
		Description: oneLine(t.Def),
	}
	row.Verdict, row.Reason, row.Rule = verdict(t)
	return row
}

func (r toolRow) cells() []string {
	return []string{r.Name, string(r.Tier), r.Verdict, fmt.Sprint(r.Bytes), cmdmain.Cut(cmdmain.Printable(r.Description), 80)}
}

// verdict is the answer of a call by an agent without an identity, as far as
// it depends on the tool and not on its arguments; rule is where it is written.
func verdict(t *call.Tool) (word, reason, rule string) {
	d := t.Server.Declared
	switch {
	case t.Server.Status != trust.Trusted:
		return "deny", string(t.Server.Status), d.At()
	case !d.Enabled:
		return "deny", "disabled", d.At()
	case t.Shadowed:
		return "deny", "shadowed", ""
	}
	switch t.Decision.Verdict {
	case policy.Allow:
		return "allow", "", t.Decision.Rule
	case policy.Ask:
		return "ask", "", t.Decision.Rule
	}
	return "deny", t.Decision.Reason, t.Decision.Rule
}

// oneLine is the first line of a description that says something; the title
// where there is none.
func oneLine(t *catalog.Tool) string {
	for line := range strings.Lines(t.Description) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return t.Title
}
