package main

import (
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"postern/pkg/calllog"
	"postern/pkg/cmdmain"
	"postern/pkg/config"
)

const description = `A row is shown when all FILTERs hold. A FILTER is NAME=VALUE; NAME is one of
NAMES,
or text~REGEX, which is looked for in the row as it stands in the log.
VALUE is patterns with commas between them, one of which must match; * is any run of
characters and ? is one. An empty VALUE finds rows without the member. outcome is one of
OUTCOMES.
latency is an interval whose upper end is outside: 500ms.. or ..2s or 100ms..1s.

A time T is a duration before now (90m, 2d, 1w), today or yesterday, a date, a date and a
time, or these with an offset (2026-03-08T14:30Z). Without an offset it is in the time
zone of this machine, or of TZ. A call counts by when it began: rows from --since on and
before --until are shown; a date alone, today and yesterday in --until include that day.

With -f rows follow as they are written, over midnight and from every writer, looked for
FOLLOW; without --since or -n it begins with the newest LAST rows.

The log is in calls/ below the state directory, a file for each UTC date. Its lines that
are no rows are counted on standard error; verify says where they are.`

func app(env *cmdmain.Env) *cli.App {
	return &cli.App{
		Usage:       "show the calls that were made",
		UsageText:   "mcp-log [OPTIONS] [FILTER…]\nmcp-log verify [--repair]\nmcp-log prune\nmcp-log path",
		Description: describe(),
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "since", Category: cmdmain.Own, Usage: "only calls that began at `T` or later"},
			&cli.StringFlag{Name: "until", Category: cmdmain.Own, Usage: "only calls that began before `T`"},
			&cli.IntFlag{Name: "limit", Category: cmdmain.Own, Aliases: []string{"n"}, Usage: "only the newest `N` rows"},
			&cli.BoolFlag{Name: "reverse", Category: cmdmain.Own, Aliases: []string{"r"}, Usage: "newest first"},
			&cli.BoolFlag{Name: "follow", Category: cmdmain.Own, Aliases: []string{"f"}, Usage: "go on with rows as they are written"},
		}, cmdmain.ListFlags()...),
		Action: func(c *cli.Context) error { return show(env, c) },
		Commands: []*cli.Command{
			verifyVerb(env), pruneVerb(env), pathVerb(env),
		},
	}
}

// describe fills in the closed lists, so that they are written down once.
func describe() string {
	outcomes := make([]string, 0, len(calllog.Outcomes()))
	for _, o := range calllog.Outcomes() {
		outcomes = append(outcomes, string(o))
	}
	return strings.NewReplacer(
		"NAMES", strings.Join(calllog.FilterNames(), " "),
		"OUTCOMES", strings.Join(outcomes, " "),
		"FOLLOW", "every "+config.LogFollowEvery.String(),
		"LAST", strconv.Itoa(config.LogFollowRows),
	).Replace(description)
}
