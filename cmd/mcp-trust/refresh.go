package main

import (
	"context"
	"fmt"

	"postern/pkg/call"
	"postern/pkg/cmdmain"
	"postern/pkg/config"
)

// refresh records the tools of a server that was just allowed (R66), so that
// agents see them without a start. The approval stands whatever comes of it; a
// server that does not answer is said and fails the command.
func refresh(env *cmdmain.Env, p *place, srv *config.Server) error {
	host, err := env.Host(p.dirs, config.Log{})
	if err != nil {
		return err
	}
	defer host.Close()
	session, err := host.Open(call.SessionOptions{Project: srv.Project})
	if err != nil {
		return err
	}
	defer session.Close()
	view := session.View()
	server := view.Server(srv.ID)
	if server == nil || !server.Declared.Enabled {
		return nil // disabled: allowed for when it is enabled again
	}
	limits := call.RefreshLimits{Jobs: 1, Timeout: config.RefreshTimeout}
	list := session.Refresh
	if hub := env.HubLister(env.Ctx, p.dirs, srv.Project); hub != nil { // what runs for agents is asked, and is not started twice
		defer hub.Close()
		list = func(ctx context.Context, v *call.View, servers []*call.Server, l call.RefreshLimits, done func(call.Refreshed)) {
			hub.Refresh(ctx, session, v, servers, l, done)
		}
	}
	list(env.Ctx, view, []*call.Server{server}, limits, func(r call.Refreshed) {
		if r.Err == nil {
			env.Sayf("%s offers %d tools", srv.ID, len(r.Catalog.Parsed()))
			return
		}
		err = cmdmain.Failure(r.Err)
	})
	if err != nil {
		env.Sayf("%s is allowed, but its tools are not known yet: %s", srv.ID, fmt.Sprintf("mcp-catalog refresh %s --project %s", srv.ID, call.ShellQuoted(srv.Project)))
	}
	return err
}
