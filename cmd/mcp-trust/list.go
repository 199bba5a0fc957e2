package main

import (
	"slices"
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
	records, err := trust.NewStore(dirs).Records(project)
	if err != nil {
		return err
	}
	all := slices.DeleteFunc(records.All(), func(r trust.Record) bool { return r.Project != project && !c.Bool("all") })
	return show(env, c, all)
}

// prune removes what can hold for nothing any more, and prints it.
func prune(env *cmdmain.Env, c *cli.Context) error {
	if _, err := cmdmain.Exactly(c); err != nil {
		return err
	}
	dirs, err := env.Dirs(c)
	if err != nil {
		return err
	}
	gone, err := trust.Prune(env.Ctx, dirs, time.Now())
	if err != nil {
		return err
	}
	return show(env, c, gone)
}

func show(env *cmdmain.Env, c *cli.Context, records []trust.Record) error {
	out, err := env.List(c, "SERVER", "DECISION", "CLASS", "PROJECT", "AT", "UNTIL", "NOTE")
	if err != nil {
		return err
	}
	for _, r := range records {
		until := ""
		if r.Expires != nil {
			until = r.Expires.Format(time.DateTime)
		}
		if err := out.Row(r, r.Server, r.Decision, string(r.Class), r.Project, r.At.Format(time.DateTime), until, r.Note); err != nil {
			return err
		}
	}
	return out.Close()
}
