package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"postern/pkg/call"
	"postern/pkg/cmdmain"
	"postern/pkg/config"
	"postern/pkg/gateway"
	"postern/pkg/hub"
	"postern/pkg/state"
)

func hubVerb(env *cmdmain.Env) *cli.Command {
	return &cli.Command{
		Name: "hub", Usage: "be the process that all agents share",
		Description: "Runs in the foreground until nobody had a session for hub.idle_exit, or until it is\n" +
			"stopped. Agents start it when they need it: this is for a service manager, which may\n" +
			"hand over the socket, and for looking at what it says. Where another hub of the same\n" +
			"directories and the same build is up it ends at once, without a word.",
		Action: func(c *cli.Context) error { return runHub(env, c) },
	}
}

func runHub(env *cmdmain.Env, c *cli.Context) error {
	if _, err := cmdmain.Exactly(c); err != nil {
		return err
	}
	hub.Private() // whatever the agent that starts it lets others read
	dirs, err := env.Dirs(c)
	if err != nil {
		return err
	}
	place, err := hub.PlaceOf(dirs, cmdmain.Build())
	if err != nil {
		return err
	}
	// Of many that are started at the same time most go no further than this.
	if !env.Kept() && !hub.Activated() && !place.Free(env.Ctx) {
		return nil
	}
	return env.Keep(func() error { return serveHub(env, dirs, place) })
}

// idleExit is hub.idle_exit as it is now: a changed configuration that is refused
// leaves the one before in force (R90). It is for one goroutine.
func idleExit(host *call.Host) func() time.Duration {
	var last time.Duration
	known := false
	return func() time.Duration {
		if c := host.UserConfig(); !known || !c.Refused {
			last, known = c.Hub.IdleExit, true
		}
		return last
	}
}

// serveHub is the hub itself.
func serveHub(env *cmdmain.Env, dirs state.Dirs, place hub.Place) error {
	defer fitRuntime(env)()
	say, done := env.HubLog(dirs)
	defer done()
	cfg := config.Load(config.LoadOptions{Dirs: dirs})
	host, err := env.HubHost(dirs, cfg.Log, say)
	if err != nil {
		return err
	}
	defer host.Close()
	go host.Warm() // ends with the files of the servers
	return cmdmain.Failure(hub.Serve(env.Ctx, hub.ServeOptions{
		Place: place, Host: host, Gateway: gateway.New(host, cmdmain.Version()), IdleExit: idleExit(host),
		Control: host.Control, Say: say,
	}))
}
