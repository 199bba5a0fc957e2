package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"postern/pkg/calllog"
	"postern/pkg/cmdmain"
	"postern/pkg/config"
	"postern/pkg/state"
)

func show(env *cmdmain.Env, c *cli.Context) error {
	q, err := query(c, time.Now())
	if err != nil {
		return err
	}
	dir, err := folder(env)
	if err != nil {
		return err
	}
	list, err := env.List(c, "TIME", "CALLER", "TOOL", "OUTCOME", "MS", "WHY")
	if err != nil {
		return err
	}
	row := func(row []byte) error { return list.Row(json.RawMessage(row), cells(list, row)...) }
	var stats calllog.Stats
	if c.Bool("follow") {
		stats, err = calllog.Follow(env.Ctx, dir, q, row, func() error {
			return errors.Join(list.Flush(), env.CheckStdout())
		})
	} else {
		stats, err = calllog.Scan(env.Ctx, dir, q, row)
	}
	// What was found is shown even when reading on failed.
	if closed := list.Close(); err == nil {
		err = closed
	}
	if stats.Skipped > 0 {
		env.Sayf("%d skipped: lines of the log that are no rows", stats.Skipped)
	}
	if c.Bool("follow") && errors.Is(err, context.Canceled) {
		return &cmdmain.Error{Exit: cmdmain.Interrupted} // the way it ends; nothing to be said
	}
	if err == nil && stats.Rows == 0 && list.Table() {
		env.Sayf("no calls")
	}
	return failure(err)
}

// folder is where the log is.
func folder(env *cmdmain.Env) (string, error) {
	dirs, err := state.Locate(env.Getenv)
	return filepath.Join(dirs.State, "calls"), err
}

// query reads the command line.
func query(c *cli.Context, now time.Time) (calllog.Query, error) {
	q := calllog.Query{Limit: c.Int("limit"), Newest: c.Bool("reverse")}
	if c.IsSet("limit") && q.Limit < 1 {
		return q, cmdmain.Usagef("-n wants 1 or more, not %d", q.Limit)
	}
	if c.Bool("follow") {
		if q.Newest || c.IsSet("until") {
			return q, cmdmain.Usagef("-f goes on at the end of the log: it excludes -r and --until")
		}
		if format, _ := cmdmain.Output(c, "table", "json", "jsonl"); format == "json" {
			return q, cmdmain.Usagef("-f has no end, which a JSON list needs: use -o jsonl")
		}
		if !c.IsSet("since") && !c.IsSet("limit") {
			q.Limit = config.LogFollowRows
		}
	}
	for _, end := range []struct {
		flag  string
		parse func(string, time.Time) (time.Time, error)
		to    *time.Time
	}{{"since", calllog.ParseSince, &q.Since}, {"until", calllog.ParseUntil, &q.Until}} {
		if !c.IsSet(end.flag) {
			continue
		}
		t, err := end.parse(c.String(end.flag), now)
		if err != nil {
			return q, cmdmain.Usagef("--%s: %w", end.flag, err)
		}
		*end.to = t
	}
	if !q.Until.IsZero() && q.Since.After(q.Until) {
		return q, cmdmain.Usagef("--since %s lies after --until %s", c.String("since"), c.String("until"))
	}
	args, _ := cmdmain.Positional(c)
	for _, arg := range args {
		f, err := calllog.ParseFilter(arg)
		if err != nil {
			return q, cmdmain.Usagef("%w", err)
		}
		q.Filters = append(q.Filters, f)
	}
	return q, nil
}

// cells is a row as columns of the table.
func cells(list *cmdmain.List, line []byte) []string {
	if !list.Table() {
		return nil
	}
	var r calllog.Row
	// A later version may have changed a member's type: what can be read is shown.
	_ = json.Unmarshal(line, &r)
	tool := r.Tool
	if r.Upstream != "" {
		tool = r.Upstream + "/" + r.Tool
	}
	return []string{
		r.TS.Local().Format(time.DateTime), r.Caller, tool, string(r.Outcome),
		strconv.FormatFloat(r.LatencyMS, 'f', 1, 64), why(&r),
	}
}

// why is the reason of what did not go well: its word, details, and the rule.
func why(r *calllog.Row) string {
	text := r.Word
	for _, more := range []string{r.Reason, r.Rule} {
		switch {
		case more == "":
		case text == "":
			text = more
		default:
			text += ", " + more
		}
	}
	return text
}

// failure turns what has a remedy into a hint.
func failure(err error) error {
	var unsafe *state.UnsafeError
	if errors.As(err, &unsafe) && unsafe.Fix != "" {
		return &cmdmain.Error{Err: fmt.Errorf("%s %s", unsafe.Path, unsafe.Why), Exit: cmdmain.Failed, Hints: []string{unsafe.Fix}}
	}
	return err
}
