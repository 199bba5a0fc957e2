package main

import (
	"cmp"
	"slices"

	"github.com/urfave/cli/v2"

	"postern/pkg/call"
	"postern/pkg/catalog"
	"postern/pkg/cmdmain"
	"postern/pkg/config"
	"postern/pkg/trust"
)

func refreshVerb(env *cmdmain.Env) *cli.Command {
	return &cli.Command{
		Name: "refresh", Usage: "ask servers for their lists and record them", ArgsUsage: "[SERVER…]",
		Description: "Starts every enabled and trusted server (or those named), records what it lists, and\n" +
			"stops it. Where a hub is up, the hub asks those that run and starts the others. Prints a\n" +
			"row for a server whose tools changed and says on standard error which failed; their last\n" +
			"good lists are kept. Otherwise it is silent.",
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
	if !env.Kept() { // else it was looked for before there was a keeper
		if h := env.HubLister(c.Context, p.dirs, p.project); h != nil { // nothing is started here
			defer h.Close()
			return p.refresh(c, h, ids, c.Bool("stale"), limits)
		}
	}
	return env.Keep(func() error { return p.refresh(c, nil, ids, c.Bool("stale"), limits) })
}

// refresh lists the servers with these ids, all that may start when there are
// none, by the hub h unless that is nil, and reports what changed and what failed.
func (p *place) refresh(c *cli.Context, h *cmdmain.HubLister, ids []string, stale bool, limits call.RefreshLimits) error {
	out, err := newReport(p.env, c)
	if err != nil {
		return err
	}
	host, session, err := p.open()
	if err != nil {
		return err
	}
	defer host.Close()
	v := session.View()
	broken := p.notInForce(v)
	servers, err := p.chosen(v, ids)
	if err != nil {
		return cmp.Or(broken, err)
	}
	if stale {
		servers = slices.DeleteFunc(servers, func(s *call.Server) bool { return s.Provenance == catalog.Cached })
	}
	progress := newProgress(p.env, servers)
	ended := func(r call.Refreshed) {
		progress.ended(r.Server)
		out.add(r)
	}
	if h != nil {
		h.Refresh(c.Context, session, v, servers, limits, ended)
	} else {
		session.Refresh(c.Context, v, servers, limits, ended)
	}
	progress.clear()
	if err := c.Context.Err(); err != nil {
		return err
	}
	return cmp.Or(out.finish(v), broken)
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
			p.env.Sayf("hint: %s", allow(s))
		}
	}
	return servers, nil
}
