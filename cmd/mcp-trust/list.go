package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"postern/pkg/cmdmain"
	"postern/pkg/trust"
)

// list prints the decisions as they stand in trust.json.
func list(env *cmdmain.Env, c *cli.Context) error {
	if _, err := cmdmain.Exactly(c); err != nil {
		return err
	}
	dirs, err := env.Dirs(c)
	if err != nil {
		return err
	}
	project, err := env.Project(c)
	if err != nil {
		return err
	}
	if project == "" && !c.Bool("all") {
		return noProject()
	}
	out, err := env.List(c, "SERVER", "DECISION", "CLASS", "PROJECT", "AT", "NOTE")
	if err != nil {
		return err
	}
	records, err := trust.NewStore(dirs).Records(project)
	if err != nil {
		return err
	}
	for _, r := range records.All() {
		if r.Project != project && !c.Bool("all") {
			continue
		}
		if err := out.Row(r, r.Server, r.Decision, string(r.Class), r.Project, r.At.Format(time.DateTime), r.Note); err != nil {
			return err
		}
	}
	return out.Close()
}
