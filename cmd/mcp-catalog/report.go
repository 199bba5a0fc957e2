package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"postern/pkg/call"
	"postern/pkg/catalog"
	"postern/pkg/cmdmain"
	"postern/pkg/config"
	"postern/pkg/trust"
)

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
		e.Hints = []string{allow(one.Server)}
	case e.Exit != cmdmain.NotTrusted && e.Exit != cmdmain.Denied:
		e.Exit = cmdmain.Unavailable
	}
	if fi, err := os.Stat(one.Stderr); err == nil && fi.Mode().IsRegular() {
		e.Hints = append(e.Hints, "tail "+call.ShellQuoted(one.Stderr))
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
