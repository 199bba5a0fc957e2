package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"postern/pkg/cmdmain"
	"postern/pkg/config"
	"postern/pkg/secret"
	"postern/pkg/state"
	"postern/pkg/trust"
)

func app(env *cmdmain.Env) *cli.App {
	note := &cli.StringFlag{Name: "note", Usage: "keep `TEXT` with the decision"}
	return &cli.App{
		Usage:       "decide which servers of a project may start",
		Description: "A server that a repository declares starts only after `mcp-trust allow`.\nServers of your own mcp.yaml need no decision.",
		Flags:       cmdmain.PlaceFlags(),
		Commands: []*cli.Command{
			{Name: "status", Usage: "show the project's servers, what each would run, and what was decided", ArgsUsage: "[SERVER…]",
				Description: "Ends with 3 when a server that is not disabled is not trusted. Starts nothing.",
				Flags:       cmdmain.ListFlags(), Action: func(c *cli.Context) error { return status(env, c) }},
			{Name: "allow", Usage: "let a server of the project start as it is now", ArgsUsage: "SERVER",
				Description: "Shows what would run and asks. Without a terminal it wants --digest. What was\nallowed stops being so when it changes. Starts it once to record its tools.",
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "class", Value: string(config.ClassUnknown),
						Usage: "believe the hints of its tools as far as `CLASS` says: read, execute or unknown"},
					&cli.StringFlag{Name: "digest", Usage: "allow it only if its declaration has this `DIGEST`"},
					&cli.StringSliceFlag{Name: "env", Usage: "let it set or inherit `NAME`, which can change what code runs; may be repeated"},
					&cli.DurationFlag{Name: "for", Usage: "let the approval end after `TIME`, such as 8h"},
					&cli.StringSliceFlag{Name: "tree", Usage: "cover all of the folder `DIR` of the project too; may be repeated"},
					&cli.BoolFlag{Name: "no-refresh", Usage: "do not start it once to record its tools"},
					&cli.BoolFlag{Name: "unpinned", Usage: "accept a package runner that chooses the version itself"},
					note,
				}, Action: func(c *cli.Context) error {
					if c.Bool("no-refresh") {
						return allow(env, c)
					}
					return env.Keep(func() error { return allow(env, c) })
				}},
			{Name: "deny", Usage: "refuse a server of the project, however it changes", ArgsUsage: "SERVER",
				Flags: []cli.Flag{note}, Action: func(c *cli.Context) error { return deny(env, c) }},
			{Name: "revoke", Usage: "take the decision about a server of the project back", ArgsUsage: "SERVER",
				Action: func(c *cli.Context) error { return revoke(env, c) }},
			{Name: "list", Usage: "show the decisions about the project's servers",
				Flags:  append(cmdmain.ListFlags(), &cli.BoolFlag{Name: "all", Usage: "of all projects"}),
				Action: func(c *cli.Context) error { return list(env, c) }},
			{Name: "prune", Usage: "remove decisions that can hold for nothing any more",
				Description: "Removes decisions about projects whose folder is gone, and approvals that have\nended, and shows what it removed.",
				Flags:       cmdmain.ListFlags(), Action: func(c *cli.Context) error { return prune(env, c) }},
		},
	}
}

// place is where one invocation works: what is declared there and what was
// decided about it.
type place struct {
	dirs    state.Dirs
	cfg     *config.Config
	records *trust.Records
	unread  error // why trust.json cannot be believed; nothing is trusted then
	environ *trust.Environ
}

func open(env *cmdmain.Env, c *cli.Context) (*place, error) {
	dirs, err := env.Dirs(c)
	if err != nil {
		return nil, err
	}
	project, err := env.Project(c)
	if err != nil {
		return nil, err
	}
	p := &place{dirs: dirs, cfg: config.Load(config.LoadOptions{Dirs: dirs, Project: project})}
	p.records, p.unread = trust.NewStore(dirs).Records(project)
	// Without a shared process the reduced list is the gateway's environment, and
	// the agent's is taken to be this shell's (C30).
	p.environ = &trust.Environ{Hub: secret.ReducedEnvironment(env.Environ), Agent: env.Environ,
		Path: p.cfg.Path, Self: cmdmain.SelfPaths(), Redactor: &secret.Redactor{}}
	env.Redact(p.environ.Redactor)
	for _, d := range p.cfg.Diagnostics {
		if !d.Warning {
			env.Sayf("%s", d)
		}
	}
	return p, nil
}

// server finds a server of the project by its id.
func (p *place) server(id string) (*config.Server, error) {
	if p.cfg.Project == "" {
		return nil, noProject()
	}
	srv := p.cfg.Server(id)
	switch {
	case srv == nil:
		return nil, &cmdmain.Error{Err: fmt.Errorf("%s declares no server %s", p.cfg.Project, id),
			Exit: cmdmain.Usage, Hints: []string{"mcp-trust status"}}
	case srv.Scope == config.User:
		return nil, &cmdmain.Error{Err: fmt.Errorf("server %s stands in your own file and needs no decision: %s", id, srv.At()),
			Exit: cmdmain.Usage, Hints: []string{"mcp-trust status"}}
	}
	return srv, nil
}

func noProject() error {
	return &cmdmain.Error{Err: errors.New("there is no project here: no .git, .postern or .mcp.json in this directory or above"),
		Exit: cmdmain.Usage, Hints: []string{"mcp-trust COMMAND --project DIR"}}
}

// failure gives the errors of package trust their exit code and hint.
func failure(err error) error {
	var (
		unavailable *trust.UnavailableError
		executable  *trust.ExecutableError
		self        *trust.SelfError
		code        *trust.CodeVariablesError
		unused      *trust.UnusedVariableError
		none        *trust.NoRecordError
	)
	switch {
	case errors.As(err, &unavailable):
		e := &cmdmain.Error{Err: err, Exit: cmdmain.Unavailable}
		if unavailable.Hint != "" {
			e.Hints = []string{unavailable.Hint}
		}
		return e
	case errors.As(err, &executable), errors.As(err, &self):
		return &cmdmain.Error{Err: err, Exit: cmdmain.Unavailable}
	case errors.As(err, &code):
		hint := "mcp-trust allow " + code.Server
		for _, name := range code.Names {
			hint += " --env " + name
		}
		return &cmdmain.Error{Err: err, Exit: cmdmain.Denied, Hints: []string{hint}}
	case errors.As(err, &unused):
		return &cmdmain.Error{Err: err, Exit: cmdmain.Usage}
	case errors.As(err, &none):
		return &cmdmain.Error{Err: err, Exit: cmdmain.Failed, Hints: []string{"mcp-trust list --all"}}
	}
	return err
}
