package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/urfave/cli/v2"

	"postern/pkg/cmdmain"
	"postern/pkg/config"
	"postern/pkg/gateway"
)

func app(env *cmdmain.Env) *cli.App {
	return &cli.App{
		Usage:     "put one gate in front of every MCP server",
		UsageText: "mcp-serve [OPTIONS]\nmcp-serve COMMAND [OPTIONS]",
		Description: "An agent spawns mcp-serve and speaks MCP with it on standard input and output.\n" +
			"It shows the tools, prompts and resources that the policy allows, and ends when its\n" +
			"standard input ends. The servers run below the hub, which all agents of this user\n" +
			"share: it is started when it is needed, starts a server when something of it is\n" +
			"first asked for, and ends by itself when nobody needs it any more.\n\n" +
			"Servers get the hub's environment, which is HOME, PATH, the language and little else,\n" +
			"and its umask, 077. What else one needs is named in mcp.yaml: env_file and secrets:\n" +
			"for a value that is the same for all agents, agent_env for one that each agent has.",
		Flags: append(cmdmain.PlaceFlags(),
			&cli.StringFlag{Name: "policy", Category: cmdmain.Own, Usage: "narrow what is allowed to what the policy `NAME` allows too"},
			&cli.StringFlag{Name: "exposure", Category: cmdmain.Own, Usage: "show tools in this `MODE` whatever the policy says: full, lazy (search_tools, describe_tool and " +
				"call_tool in their place) or auto, which decides by their size"},
			&cli.StringFlag{Name: "only", Category: cmdmain.Own, Usage: "serve the one server `SERVER` as itself: its name, instructions and capabilities, its own names for " +
				"tools and prompts, nothing trimmed but results"},
			&cli.DurationFlag{Name: "list-wait", Category: cmdmain.Own, Value: config.ListWait,
				Usage: "let the first list wait `TIME` for servers that were never listed; 0 lists none of them"},
			&cli.BoolFlag{Name: "no-hub", Category: cmdmain.Own, Usage: "serve this session by this process, with servers of its own"},
		),
		Commands: append([]*cli.Command{hubVerb(env), installVerb(env)}, controlVerbs(env)...),
		Action:   func(c *cli.Context) error { return serve(env, c) },
	}
}

// gcPercent lets the heap grow to five times of what lives before it is collected:
// what lives long here is small, and the default would collect several times while
// the first list is put together.
const gcPercent = 400

// relayShare is the part of the processors that a gateway takes for itself, one at
// least. The work of a call is little and done in turns by several goroutines: with
// more processors the runtime wakes a thread at each turn, which costs more than
// the work, and takes the processors from the servers and agents.
const relayShare = 4

// relayStart is how long it has all of them: what it reads first is what an agent
// waits for.
const relayStart = 250 * time.Millisecond

// fitRuntime fits the runtime to a process that serves sessions, none of which has
// a goroutine that waits in a system call for its agent. cancel is for its end.
func fitRuntime(env *cmdmain.Env) (cancel func() bool) {
	debug.SetGCPercent(gcPercent)
	if env.Getenv("GOMAXPROCS") != "" {
		return func() bool { return false }
	}
	return time.AfterFunc(relayStart, func() { runtime.GOMAXPROCS(max(1, runtime.GOMAXPROCS(0)/relayShare)) }).Stop
}

// serve runs one session on standard input and output: through the hub, or by this
// process and those below it.
func serve(env *cmdmain.Env, c *cli.Context) error {
	if err := cmdmain.NoVerb(c); err != nil {
		return err
	}
	wait := c.Duration("list-wait")
	if wait < 0 || wait > config.MaxListWait {
		return cmdmain.Usagef("--list-wait is between 0 and %s, not %s", config.MaxListWait, wait)
	}
	if err := checkExposure(c.String("exposure")); err != nil {
		return err
	}
	if c.String("only") != "" && c.String("exposure") != "" {
		return cmdmain.Usagef("--only and --exposure exclude each other: one server is always shown whole")
	}
	if !c.Bool("no-hub") && !env.Kept() && env.Depth() == 0 {
		if served, err := relay(env, c, wait); served {
			return err
		}
	}
	return env.Keep(func() error { return session(env, c, wait) })
}

func checkExposure(mode string) error {
	switch mode {
	case "", "auto", "full", "lazy":
		return nil
	case "top_k":
		return cmdmain.Usagef("--exposure top_k is not supported yet; it is full, lazy or auto")
	}
	return cmdmain.Usagef("--exposure is full, lazy or auto, not %q", mode)
}

// session serves the one there is, without a hub.
func session(env *cmdmain.Env, c *cli.Context, wait time.Duration) error {
	dirs, err := env.Dirs(c)
	if err != nil {
		return err
	}
	project, err := env.Project(c)
	if err != nil {
		return err
	}
	in, out, polled, back := env.Polled()
	defer back()
	if polled {
		defer fitRuntime(env)()
	}
	cfg := config.Load(config.LoadOptions{Dirs: dirs, Project: project})
	host, err := env.Host(dirs, cfg.Log)
	if err != nil {
		return err
	}
	defer host.Close()
	dir, _ := os.Getwd() // "" where it was removed: servers of this session run where shared ones do
	err = gateway.New(host, cmdmain.Version()).Serve(env.Ctx, in, out, gateway.Options{
		Project: project, Policy: c.String("policy"), ClientPID: env.ParentPID(), ListWait: wait,
		Exposure: c.String("exposure"), Only: c.String("only"), Dir: dir,
	})
	return cmdmain.Failure(err)
}
