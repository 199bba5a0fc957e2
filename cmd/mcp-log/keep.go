package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"postern/pkg/calllog"
	"postern/pkg/cmdmain"
	"postern/pkg/config"
)

func verifyVerb(env *cmdmain.Env) *cli.Command {
	return &cli.Command{
		Name: "verify", Usage: "read the whole log and list what is wrong with it",
		Description: "Found are lines that are no rows (damaged), a last line without an end (torn), rows that\n" +
			"are not there (missing) or that their writer could not write (dropped), ids that come\n" +
			"twice within a day (repeated), rows behind later ones (order), in the file of another\n" +
			"day (date), and files of days to come (future). Exit 1 when there is any.\n\n" +
			"--repair ends a torn last line. It changes nothing else and never removes anything:\n" +
			"half a row stays, as a damaged line.",
		Flags:  append([]cli.Flag{&cli.BoolFlag{Name: "repair", Usage: "end torn last lines"}}, cmdmain.ListFlags()...),
		Action: func(c *cli.Context) error { return verify(env, c) },
	}
}

func verify(env *cmdmain.Env, c *cli.Context) error {
	if _, err := cmdmain.Exactly(c); err != nil {
		return err
	}
	dir, err := folder(env)
	if err != nil {
		return err
	}
	list, err := env.List(c, "FILE", "OFFSET", "PROBLEM", "DETAIL")
	if err != nil {
		return err
	}
	repaired := 0
	v, err := calllog.Verify(env.Ctx, dir, time.Now(), c.Bool("repair"), func(f calllog.Finding) error {
		problem := string(f.Problem)
		if f.Repaired {
			repaired++
			problem += " (repaired)"
		}
		return list.Row(f, f.File, strconv.FormatInt(f.Offset, 10), problem, f.Detail)
	})
	if closed := list.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return failure(err)
	}
	env.Sayf("%d rows in %d files, %d problems, %d repaired", v.Rows, v.Files, v.Problems, repaired)
	if v.Problems > 0 {
		return &cmdmain.Error{Exit: cmdmain.Failed} // the list has told it
	}
	return nil
}

func pruneVerb(env *cmdmain.Env) *cli.Command {
	return &cli.Command{
		Name: "prune", Usage: "remove the days that are older than log.days and list their files",
		Description: "Whoever begins a day's file does the same, so this is for a log that is not written any\n" +
			"more. A day is too old by the date in its file's name. Today's date is believed once\n" +
			strconv.Itoa(config.LogPruneDays) + " days of the time that is kept have files: a clock that is far ahead removes nothing.",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "config-dir", Usage: "read the configuration in `DIR`"},
		}, cmdmain.ListFlags()...),
		Action: func(c *cli.Context) error { return prune(env, c) },
	}
}

func prune(env *cmdmain.Env, c *cli.Context) error {
	if _, err := cmdmain.Exactly(c); err != nil {
		return err
	}
	dir, err := folder(env)
	if err != nil {
		return err
	}
	dirs, err := env.Dirs(c)
	if err != nil {
		return err
	}
	cfg := config.Load(config.LoadOptions{Dirs: dirs})
	for _, d := range cfg.Diagnostics {
		if cfg.Refused || strings.HasPrefix(d.Field, "log") {
			return &cmdmain.Error{Err: fmt.Errorf("how many days are kept is not known: %s", d), Exit: cmdmain.Failed}
		}
	}
	list, err := env.List(c, "REMOVED")
	if err != nil {
		return err
	}
	pruned, err := calllog.Prune(dir, time.Now(), cfg.Log.Days)
	for _, name := range pruned.Removed {
		err = errors.Join(err, list.Row(map[string]string{"removed": name}, name))
	}
	err = errors.Join(err, list.Close())
	env.Sayf("%d files removed, of days more than %d days ago", len(pruned.Removed), cfg.Log.Days)
	if pruned.Held > 0 {
		env.Sayf("%d older files stay until %d days have files since: is the date right", pruned.Held, config.LogPruneDays)
		env.Sayf("hint: ls %s", filepath.Join(dir, "*"))
	}
	return err
}

func pathVerb(env *cmdmain.Env) *cli.Command {
	return &cli.Command{
		Name: "path", Usage: "print the folder of the log",
		Action: func(c *cli.Context) error {
			if _, err := cmdmain.Exactly(c); err != nil {
				return err
			}
			dir, err := folder(env)
			if err == nil {
				_, err = fmt.Fprintln(env.Stdout, dir)
			}
			return err
		},
	}
}
