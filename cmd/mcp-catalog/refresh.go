package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"postern/pkg/call"
	"postern/pkg/catalog"
	"postern/pkg/cmdmain"
	"postern/pkg/config"
	"postern/pkg/trust"
	"postern/pkg/upstream"
)

func refreshVerb(env *cmdmain.Env) *cli.Command {
	return &cli.Command{
		Name: "refresh", Usage: "ask servers for their lists and record them", ArgsUsage: "[SERVER…]",
		Description: "Starts every enabled and trusted server (or those named), records what it lists, and\n" +
			"stops it. Prints a row for a server whose tools changed and says on standard error\n" +
			"which failed; their last good lists are kept. Otherwise it is silent.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "stale", Usage: "only servers whose list is missing or too old"},
			&cli.IntFlag{Name: "jobs", Value: config.RefreshJobs, Usage: "start `N` servers at the same time"},
			&cli.DurationFlag{Name: "timeout", Value: config.RefreshTimeout, Usage: "give each server `TIME` from its start to its list"},
		},
		Action: func(c *cli.Context) error { return refresh(env, c) },
	}
}

func refresh(env *cmdmain.Env, c *cli.Context) error {
	limits := call.RefreshLimits{Jobs: c.Int("jobs"), Timeout: c.Duration("timeout")}
	if limits.Jobs < 1 || limits.Jobs > config.MaxRefreshJobs {
		return cmdmain.Usagef("--jobs is between 1 and %d, not %d", config.MaxRefreshJobs, limits.Jobs)
	}
	if limits.Timeout <= 0 || limits.Timeout > config.MaxTimeout {
		return cmdmain.Usagef("--timeout is between 1ms and %s, not %s", config.MaxTimeout, limits.Timeout)
	}
	ids, _ := cmdmain.Positional(c)
	p, err := placeOf(env, c)
	if err != nil {
		return err
	}
	return p.refresh(c, ids, c.Bool("stale"), limits)
}

// refresh lists the servers with these ids, all that may start when there are
// none, and reports what changed and what failed.
func (p *place) refresh(c *cli.Context, ids []string, stale bool, limits call.RefreshLimits) error {
	out, err := newReport(p.env, c)
	if err != nil {
		return err
	}
	host, session, err := p.open()
	if err != nil {
		return err
	}
	defer host.Close()
	if err := upstream.BecomeSubreaper(); err != nil {
		p.env.Sayf("servers that detach from their process group may survive: %v", err)
	}
	v := session.View()
	servers, err := p.chosen(v, ids)
	if err != nil {
		return err
	}
	if stale {
		servers = slices.DeleteFunc(servers, func(s *call.Server) bool { return s.Provenance == catalog.Cached })
	}
	progress := newProgress(p.env, servers)
	session.Refresh(c.Context, v, servers, limits, func(r call.Refreshed) {
		progress.ended(r.Server)
		out.add(r)
	})
	progress.clear()
	if err := c.Context.Err(); err != nil {
		return err
	}
	return out.finish(v)
}

// chosen are the servers named by ids or, without any, those that may start.
// Of the others a person is told what to decide, once; who was denied or
// disabled was decided about.
func (p *place) chosen(v *call.View, ids []string) ([]*call.Server, error) {
	var servers []*call.Server
	for _, id := range ids {
		s, err := findServer(v, id)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(servers, s) {
			servers = append(servers, s)
		}
	}
	if len(ids) > 0 {
		return servers, nil
	}
	for _, s := range v.Servers {
		switch {
		case s.Usable():
			servers = append(servers, s)
		case s.Declared.Enabled && s.Status != trust.Denied:
			p.env.Sayf("server %s is %s and is not asked", s.Declared.ID, s.Status)
			p.env.Sayf("hint: %s", allowCommand(s))
		}
	}
	return servers, nil
}

// allowCommand is how a project's server is approved.
func allowCommand(s *call.Server) string {
	return fmt.Sprintf("mcp-trust allow %s --project %s", s.Declared.ID, quoted(s.Declared.Project))
}

// quoted is a path as a POSIX shell reads it back.
func quoted(path string) string {
	if path != "" && strings.IndexFunc(path, func(r rune) bool {
		return !(r == '/' || r == '.' || r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
	}) < 0 {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// report collects what became of the servers of one refresh and tells it in
// the order of the configuration.
type report struct {
	env    *cmdmain.Env
	list   *cmdmain.List
	asJSON bool // -o json or jsonl was asked for: standard error is for programs too
	all    []call.Refreshed
}

func newReport(env *cmdmain.Env, c *cli.Context) (*report, error) {
	format, err := cmdmain.Output(c, "table", "json", "jsonl")
	if err != nil {
		return nil, err
	}
	list, err := env.List(c, "SERVER", "TOOLS", "CHANGES")
	if err != nil {
		return nil, err
	}
	return &report{env: env, list: list, asJSON: format == "json" || format == "jsonl"}, nil
}

func (r *report) add(one call.Refreshed) { r.all = append(r.all, one) }

// finish writes the rows and returns how the command ends.
func (r *report) finish(v *call.View) error {
	slices.SortFunc(r.all, func(a, b call.Refreshed) int {
		return slices.Index(v.Servers, a.Server) - slices.Index(v.Servers, b.Server)
	})
	var failed []*cmdmain.Error
	for _, one := range r.all {
		if one.Err != nil {
			failed = append(failed, failure(one))
		}
		if err := r.row(one); err != nil {
			return err
		}
	}
	if err := r.list.Close(); err != nil {
		return err
	}
	return r.verdict(failed)
}

// verdict tells the failures. One is the command's own; of several each is
// said, and the code is the greatest.
func (r *report) verdict(failed []*cmdmain.Error) error {
	switch len(failed) {
	case 0:
		return nil
	case 1:
		return failed[0]
	}
	whole := &cmdmain.Error{}
	for _, f := range failed {
		whole.Exit = max(whole.Exit, f.Exit)
		if r.asJSON {
			continue
		}
		r.env.Sayf("%s", f.Error())
		for _, hint := range f.Hints {
			r.env.Sayf("hint: %s", hint)
		}
	}
	if r.asJSON {
		whole.Err = fmt.Errorf("%d of %d servers failed", len(failed), len(r.all))
	}
	return whole
}

// failure gives a server that was not listed its message, code and hints. What
// is neither a matter of trust nor of what was approved counts as unavailable.
func failure(one call.Refreshed) *cmdmain.Error {
	var e *cmdmain.Error
	if !errors.As(cmdmain.Failure(one.Err), &e) {
		e = &cmdmain.Error{Err: one.Err}
	}
	switch {
	case one.Server.Status != trust.Trusted && one.Server.Status != trust.Denied:
		e.Hints = []string{allowCommand(one.Server)}
	case e.Exit != cmdmain.NotTrusted && e.Exit != cmdmain.Denied:
		e.Exit = cmdmain.Unavailable
	}
	return e
}

// refreshRow is one server whose tools changed or that failed.
type refreshRow struct {
	Server    string            `json:"server"`
	Scope     config.Scope      `json:"scope"`
	Tools     int               `json:"tools"`
	Added     []string          `json:"added,omitempty"`
	Removed   []string          `json:"removed,omitempty"`
	Changed   []string          `json:"changed,omitempty"`
	Refused   []catalog.Refused `json:"refused,omitempty"`
	Truncated bool              `json:"truncated,omitempty"`
	Error     *rowError         `json:"error,omitempty"`
}

type rowError struct {
	Word    string `json:"word"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

func (r *report) row(one call.Refreshed) error {
	row := refreshRow{Server: one.Server.Declared.ID, Scope: one.Server.Declared.Scope}
	if one.Err != nil {
		if r.list.Table() {
			return nil // standard error has it
		}
		e := failure(one)
		row.Error = &rowError{Word: e.Word, Message: e.Error(), Hint: strings.Join(e.Hints, "\n")}
		row.Tools = len(one.Server.Tools)
		return r.list.Row(row)
	}
	if one.Change.Empty() {
		return nil
	}
	row.Tools, row.Refused, row.Truncated = len(one.Catalog.Tools), one.Catalog.Refused, one.Catalog.Truncated
	row.Added, row.Removed, row.Changed = one.Change.Added, one.Change.Removed, one.Change.Changed
	return r.list.Row(row, row.Server, fmt.Sprint(row.Tools), changes(one.Change))
}

// changes is a Change in one cell: + new, - gone, ~ different.
func changes(c catalog.Change) string {
	var words []string
	for _, part := range []struct {
		sign  string
		names []string
	}{{"+", c.Added}, {"-", c.Removed}, {"~", c.Changed}} {
		for _, name := range part.names {
			words = append(words, part.sign+cmdmain.Printable(name))
		}
	}
	return cmdmain.Cut(strings.Join(words, " "), changesWidth)
}

// changesWidth keeps the first listing of a large server on a few lines.
const changesWidth = 300
