package main

import (
	"path/filepath"

	"github.com/urfave/cli/v2"

	"postern/pkg/cmdmain"
	"postern/pkg/trust"
)

func deny(env *cmdmain.Env, c *cli.Context) error {
	args, err := cmdmain.Exactly(c, "SERVER")
	if err != nil {
		return err
	}
	p, err := open(env, c)
	if err != nil {
		return err
	}
	srv, err := p.server(args[0])
	if err != nil {
		return err
	}
	rec := trust.Record{Project: srv.Project, Source: srv.Source, Server: srv.ID, Digest: srv.Digest, Note: c.String("note")}
	if err := trust.Deny(env.Ctx, p.dirs, rec); err != nil {
		return err
	}
	env.ReloadHub(p.dirs)
	env.Sayf("denied %s in %s", srv.ID, srv.Project)
	return nil
}

// revoke needs no declaration: what was decided about can be gone.
func revoke(env *cmdmain.Env, c *cli.Context) error {
	args, err := cmdmain.Exactly(c, "SERVER")
	if err != nil {
		return err
	}
	dirs, err := env.Dirs(c)
	if err != nil {
		return err
	}
	project, err := env.Project(c)
	if dir := c.String("project"); err != nil && filepath.IsAbs(dir) {
		project, err = filepath.Clean(dir), nil // a project that is gone is named by its path
	}
	if err != nil {
		return err
	}
	if project == "" {
		return noProject()
	}
	if err := trust.Revoke(env.Ctx, dirs, project, args[0]); err != nil {
		return failure(err)
	}
	env.ReloadHub(dirs)
	env.Sayf("revoked the decision about %s in %s", args[0], project)
	return nil
}
