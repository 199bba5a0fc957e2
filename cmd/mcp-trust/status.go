package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"postern/pkg/cmdmain"
	"postern/pkg/config"
	"postern/pkg/secret"
	"postern/pkg/trust"
)

// statusRow is one server as JSON.
type statusRow struct {
	Server        string             `json:"server"`
	Original      string             `json:"original"`
	Status        trust.Status       `json:"status"`
	Changed       []string           `json:"changed"`
	Enabled       bool               `json:"enabled"`
	Project       string             `json:"project"`
	Source        string             `json:"source"`
	Line          int                `json:"line"`
	Digest        string             `json:"digest"`
	Command       string             `json:"command"`
	Args          []string           `json:"args"`
	Shared        bool               `json:"shared"`
	Dir           string             `json:"dir"` // "" = that of its agent, or unknown
	Executable    *trust.Executable  `json:"executable"`
	Files         []trust.FileRecord `json:"files"`
	NotCovered    []string           `json:"not_covered"`
	Variables     []variable         `json:"variables"`
	CodeVariables []string           `json:"code_variables"`
	Class         config.Class       `json:"class,omitempty"`
	Note          string             `json:"note,omitempty"`
	Problem       string             `json:"problem,omitempty"`
	Beware        []string           `json:"beware,omitempty"`
}

type variable struct {
	Name   string        `json:"name"`
	Origin secret.Origin `json:"origin"` // "" = not set
}

func status(env *cmdmain.Env, c *cli.Context) error {
	p, err := open(env, c)
	if err != nil {
		return err
	}
	servers, err := p.chosen(c)
	if err != nil {
		return err
	}
	out, err := env.List(c, "SERVER", "STATUS", "COMMAND", "VARIABLES", "CHANGED OR WRONG", "DIGEST")
	if err != nil {
		return err
	}
	if p.unread != nil {
		env.Sayf("nothing is trusted: %v", p.unread)
	}
	var refused []*trust.Description
	for _, srv := range servers {
		d := p.describe(env, srv)
		if d.Status != trust.Trusted && srv.Enabled {
			refused = append(refused, &d)
		}
		if err := out.Row(row(env, &d), cells(env, &d)...); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	return notTrusted(refused, c.String("project"))
}

// chosen are the servers named by the arguments, or all of the project.
func (p *place) chosen(c *cli.Context) ([]*config.Server, error) {
	var servers []*config.Server
	ids, _ := cmdmain.Positional(c)
	for _, id := range ids {
		srv, err := p.server(id)
		if err != nil {
			return nil, err
		}
		servers = append(servers, srv)
	}
	if len(ids) > 0 {
		return servers, nil
	}
	if p.cfg.Project == "" {
		return nil, noProject()
	}
	for _, srv := range p.cfg.Servers {
		if srv.Scope == config.Project {
			servers = append(servers, srv)
		}
	}
	return servers, nil
}

// notTrusted ends status with 3. project is --project, to be repeated in hints.
func notTrusted(refused []*trust.Description, project string) error {
	if len(refused) == 0 {
		return nil
	}
	e := &cmdmain.Error{Exit: cmdmain.NotTrusted}
	var ids []string
	for _, d := range refused {
		ids = append(ids, d.Server.ID)
		if d.Status != trust.Denied {
			hint := "mcp-trust allow " + d.Server.ID
			if project != "" {
				hint += " --project " + d.Server.Project
			}
			e.Hints = append(e.Hints, hint)
		}
	}
	e.Err = fmt.Errorf("not trusted: %s", strings.Join(ids, ", "))
	return e
}

func row(env *cmdmain.Env, d *trust.Description) statusRow {
	s := d.Server
	r := statusRow{
		Server: s.ID, Original: s.Original, Status: d.Status, Changed: list0(d.Why), Enabled: s.Enabled,
		Project: s.Project, Source: s.Source, Line: s.Line, Digest: s.Digest,
		Command: command(d), Args: list0(arguments(s)), Dir: d.Dir, Executable: d.Executable, Files: list0(d.Files),
		NotCovered: list0(d.NotCovered), Variables: []variable{}, CodeVariables: list0(d.CodeVariables),
	}
	if r.Shared = s.Shared; agentDir(s) {
		r.Dir = ""
	}
	for _, v := range d.Variables {
		r.Variables = append(r.Variables, variable(v))
	}
	if d.Record != nil {
		r.Class, r.Note = d.Record.Class, d.Record.Note
	}
	if d.Problem != nil {
		r.Problem = env.Clean(d.Problem.Error())
	}
	r.Beware = lookalikes(s)
	return r
}

// list0 makes an absent list an empty one: [] in JSON, never null.
func list0[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func cells(env *cmdmain.Env, d *trust.Description) []string {
	names := make([]string, 0, len(d.Variables))
	for _, v := range d.Variables {
		names = append(names, v.Name)
	}
	wrong := d.Why
	if d.Problem != nil {
		wrong = []string{env.Clean(d.Problem.Error())}
	}
	wrong = append(wrong[:len(wrong):len(wrong)], lookalikes(d.Server)...)
	word := string(d.Status)
	if !d.Server.Enabled {
		word += ", disabled"
	}
	if !d.Server.Shared {
		word += ", not shared"
	}
	line := cmdmain.Printable(command(d))
	for _, arg := range arguments(d.Server) {
		line += " " + cmdmain.Cut(cmdmain.Printable(arg), shown)
	}
	return []string{d.Server.ID, word, line, strings.Join(names, " "), strings.Join(wrong, "; "), d.Server.Digest}
}
