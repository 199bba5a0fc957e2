package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"postern/pkg/call"
	"postern/pkg/catalog"
	"postern/pkg/cmdmain"
	"postern/pkg/config"
	"postern/pkg/trust"
)

func serversVerb(env *cmdmain.Env) *cli.Command {
	return &cli.Command{
		Name: "servers", Usage: "list the declared servers",
		Description: "A row for each server of mcp.yaml, of mcp.d and of the project, those included whose\n" +
			"declaration is wrong. Nothing is started, and no value of a variable is shown.\n\n" +
			"States: idle (can be started), failed (gave no list when it was last asked), slow (had not\n" +
			"when nobody waited any longer), disabled, unavailable (cannot be started as it is declared),\n" +
			"refused (its declaration is wrong). What runs below a hub is in `mcp-serve status`.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "check", Usage: "end with 1 when something is wrong in the files, or a pattern covers nothing"},
		},
		Action: func(c *cli.Context) error { return servers(env, c) },
	}
}

func servers(env *cmdmain.Env, c *cli.Context) error {
	if args, _ := cmdmain.Positional(c); len(args) > 0 {
		return cmdmain.Usagef("unexpected argument %q", args[0])
	}
	p, err := placeOf(env, c)
	if err != nil {
		return err
	}
	list, err := env.List(c, "SERVER", "SCOPE", "STATE", "TRUST", "CATALOG", "TOOLS", "NOTES", "FILE")
	if err != nil {
		return err
	}
	host, session, err := p.open()
	if err != nil {
		return err
	}
	defer host.Close()
	v := session.View()
	rows := serverRows(v, host.Catalogs(), time.Now())
	for _, row := range rows {
		if err := list.Row(row, row.cells()...); err != nil {
			return err
		}
	}
	if err := list.Close(); err != nil {
		return err
	}
	if len(rows) == 0 && list.Table() && !v.Config.Refused {
		p.env.Sayf("no servers are declared")
		p.env.Sayf("hint: mcp-catalog add --help")
	}
	if c.Bool("check") {
		return p.check(v, host.Catalogs())
	}
	return cmp.Or(p.notInForce(v), brokenProject(v))
}

// brokenProject is the error of a project with a file that gives no servers
// because it cannot be understood (MB-172), nil of any other.
func brokenProject(v *call.View) error {
	for _, d := range v.Config.Diagnostics {
		if !d.Warning && d.Server == "" && v.Config.Project != "" && filepath.IsLocal(relative(v.Config.Project, d.File)) {
			return &cmdmain.Error{Err: fmt.Errorf("nothing of %s is in force until it is mended", d.File), Word: "invalid_file", Exit: cmdmain.Failed}
		}
	}
	return nil
}

// check is the error of a configuration in which something is wrong. What that
// is was said when the session opened, but for patterns that cover nothing.
func (p *place) check(v *call.View, catalogs *catalog.Store) error {
	n := mistakes(v.Config.Diagnostics)
	for _, text := range idlePatterns(v, catalogs.All(p.project)) {
		p.env.Sayf("%s", text)
		n++
	}
	switch n {
	case 0:
		return nil
	case 1:
		return errors.New("1 mistake in the configuration")
	}
	return fmt.Errorf("%d mistakes in the configuration", n)
}

func mistakes(all []config.Diagnostic) (n int) {
	for _, d := range all {
		if !d.Warning {
			n++
		}
	}
	return n
}

// States of a server for a process that runs none.
const (
	stateIdle        = "idle"
	stateFailed      = "failed"
	stateSlow        = "slow"
	stateDisabled    = "disabled"
	stateUnavailable = "unavailable"
	stateRefused     = "refused"
)

// serverRow is one declared server.
type serverRow struct {
	Server      string            `json:"server"`
	Original    string            `json:"original,omitempty"` // as the file spells the id
	Scope       config.Scope      `json:"scope"`
	File        string            `json:"file"`
	Line        int               `json:"line,omitempty"`
	Project     string            `json:"project,omitempty"`
	Managed     bool              `json:"managed"` // add, rm, enable and disable change it
	Transport   string            `json:"transport,omitempty"`
	Shared      *bool             `json:"shared,omitempty"` // false: a process for each session; absent where there is no server
	Sampling    bool              `json:"sampling,omitempty"`
	State       string            `json:"state"`
	Why         string            `json:"why,omitempty"`
	FailedAt    *time.Time        `json:"failed_at,omitempty"`
	Trust       trust.Status      `json:"trust,omitempty"`
	Catalog     *catalogRow       `json:"catalog,omitempty"`
	Tools       int               `json:"tools"`
	Noise       uint64            `json:"noise,omitempty"` // lines on its stdout that were no JSON-RPC
	Repaired    []string          `json:"repaired,omitempty"`
	Refused     []catalog.Refused `json:"refused,omitempty"`
	Truncated   bool              `json:"truncated,omitempty"`
	Diagnostics []string          `json:"diagnostics,omitempty"`
}

// catalogRow says what is recorded, and how old it is.
type catalogRow struct {
	Provenance catalog.Provenance `json:"provenance"`
	At         *time.Time         `json:"at,omitempty"`
	AgeSeconds *int64             `json:"age_s,omitempty"`
	Protocol   string             `json:"protocol,omitempty"`
	Era        string             `json:"era,omitempty"`
}

// serverRows are the servers in the order of the files, and behind them the
// declarations that gave no server, known by what is wrong with them (C11).
func serverRows(v *call.View, catalogs *catalog.Store, now time.Time) []serverRow {
	rows := make([]serverRow, 0, len(v.Servers))
	index := map[[2]string]int{}
	for _, s := range v.Servers {
		index[[2]string{s.Declared.Source, s.Declared.Original}] = len(rows)
		rows = append(rows, rowOf(v, s, catalogs, now))
	}
	for _, d := range v.Config.Diagnostics {
		if d.Server == "" {
			continue
		}
		key := [2]string{realPath(d.File), d.Server}
		i, known := index[key]
		if !known {
			i = len(rows)
			index[key] = i
			rows = append(rows, refusedDeclaration(v, d))
		}
		rows[i].Diagnostics = append(rows[i].Diagnostics, d.String())
	}
	return rows
}

// rowOf is the row of one server.
func rowOf(v *call.View, s *call.Server, catalogs *catalog.Store, now time.Time) serverRow {
	d := s.Declared
	row := serverRow{
		Server: d.ID, Scope: d.Scope, File: d.Source, Line: d.Line, Project: d.Project, Managed: d.Scope == config.User,
		Transport: "stdio", Shared: &d.Shared, Sampling: d.Sampling, Trust: trustOf(s), Tools: len(s.Tools), Catalog: catalogOf(s, now),
	}
	if d.Original != d.ID {
		row.Original = d.Original
	}
	row.judge(v, s, catalogs)
	for _, t := range s.Tools {
		if t.Def.Repaired {
			row.Repaired = append(row.Repaired, t.Def.Name)
		}
	}
	if s.Catalog != nil {
		row.Refused, row.Truncated, row.Noise = s.Catalog.Refused, s.Catalog.Truncated, s.Catalog.Noise
	}
	return row
}

// judge fills in the state and what is wrong.
func (r *serverRow) judge(v *call.View, s *call.Server, catalogs *catalog.Store) {
	r.State = stateIdle
	unready := v.Unready(s)
	switch failure, failed := catalogs.LastFailure(catalog.IdentityOf(s.Declared)); {
	case !s.Declared.Enabled:
		r.State = stateDisabled
	case s.Declared.Unavailable != "":
		r.State, r.Why = stateUnavailable, s.Declared.Unavailable
	case unready != "":
		r.State, r.Why = stateUnavailable, unready
	case failed:
		r.State, r.Why, r.FailedAt = stateFailed, failure.Why, &failure.At
		if failure.Slow {
			r.State = stateSlow
		}
	}
}

func catalogOf(s *call.Server, now time.Time) *catalogRow {
	row := &catalogRow{Provenance: s.Provenance}
	if c := s.Catalog; c != nil {
		at := c.At
		seconds := int64(now.Sub(at).Seconds())
		row.At, row.AgeSeconds, row.Protocol, row.Era = &at, &seconds, c.Protocol, c.Era
	}
	return row
}

// refusedDeclaration is the row of an entry that is no server.
func refusedDeclaration(v *call.View, d config.Diagnostic) serverRow {
	row := serverRow{Server: d.Server, Scope: config.User, File: d.File, Line: d.Line, State: stateRefused, Managed: true}
	if root := v.Config.Project; root != "" && filepath.IsLocal(relative(root, d.File)) {
		row.Scope, row.Project, row.Managed = config.Project, root, false
	}
	return row
}

// realPath follows symlinks, as the source of a declaration does, and leaves a
// path alone that leads nowhere.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// relative is path as seen from root; ".." when there is no such way.
func relative(root, path string) string {
	if rel, err := filepath.Rel(root, path); err == nil {
		return rel
	}
	return ".."
}

func (r serverRow) cells() []string {
	at := r.File
	if r.Line > 0 {
		at = fmt.Sprintf("%s:%d", r.File, r.Line)
	}
	known := ""
	if c := r.Catalog; c != nil {
		known = string(c.Provenance)
		if c.AgeSeconds != nil {
			known += " " + age(time.Duration(*c.AgeSeconds)*time.Second)
		}
	}
	return []string{r.Server, string(r.Scope), r.State, string(r.Trust), known, fmt.Sprint(r.Tools), r.notes(), at}
}

// notes counts what deserves a look; the JSON row has it in full.
func (r serverRow) notes() string {
	var notes []string
	for _, n := range []struct {
		count int
		what  string
	}{{len(r.Repaired), "repaired"}, {len(r.Refused), "refused"}, {len(r.Diagnostics), "diagnostics"}} {
		if n.count > 0 {
			notes = append(notes, fmt.Sprintf("%d %s", n.count, n.what))
		}
	}
	if r.Shared != nil && !*r.Shared {
		notes = append(notes, "not shared")
	}
	if r.Sampling {
		notes = append(notes, "sampling")
	}
	if r.Noise > 0 {
		notes = append(notes, fmt.Sprintf("%d lines of noise", r.Noise))
	}
	if r.Truncated {
		notes = append(notes, "truncated")
	}
	if r.Why != "" {
		notes = append(notes, cmdmain.Cut(cmdmain.Printable(r.Why), 60))
	}
	return strings.Join(notes, ", ")
}

// age is a duration in its largest whole unit.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// trustOf is the status as mcp-trust shows it: a changed executable or file is
// stale like a changed declaration.
func trustOf(s *call.Server) trust.Status {
	if s.Changed() != nil {
		return trust.Stale
	}
	return s.Status
}
