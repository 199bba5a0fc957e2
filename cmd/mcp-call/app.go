package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"postern/pkg/call"
	"postern/pkg/cmdmain"
	"postern/pkg/config"
	"postern/pkg/upstream"
)

func app(env *cmdmain.Env) *cli.App {
	env.Help = func(c *cli.Context) (bool, error) {
		if c.IsSet("prompt") || c.IsSet("resource") {
			return false, nil
		}
		return true, inSession(env, c, (*caller).listedByHub, (*caller).help)
	}
	return &cli.App{
		Usage: "call one tool of one server, or read one of its resources or prompts",
		UsageText: "mcp-call [OPTIONS] SERVER [TOOL [key=value | key:=json | key=@file]…]\n" +
			"mcp-call [OPTIONS] --resource URI\n" +
			"mcp-call [OPTIONS] --prompt NAME [key=value | key=@file]…",
		Description: "Prints what the tool answers. SERVER alone lists its tools, SERVER TOOL --help shows\n" +
			"the tool's parameters. SERVER__TOOL works too.\n\n" +
			"A value is typed by the tool's schema, key:=json is sent as it is, and key=@file is the\n" +
			"text of a file. A key given twice makes an array, a.b=1 an object. A prompt takes text\n" +
			"only. Resources and prompts have the URIs and names that agents know them by, which\n" +
			"mcp-catalog show SERVER lists.\n\n" +
			"What a server asks is asked on the terminal, and declined where there is none. Its log\n" +
			"and its progress go to standard error.",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "resource", Usage: "read the resource `URI`"},
			&cli.StringFlag{Name: "prompt", Usage: "get the prompt `NAME`"},
			&cli.StringFlag{Name: "args", Usage: "take the arguments as `JSON`; - reads them from standard input, @FILE from a file"},
			&cli.StringFlag{Name: "get", Usage: "print only what the gjson `PATH` finds in the result"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write `FORMAT`: text, json (the whole result) or raw (the whole answer); " +
				"of a list of tools table, json or jsonl"},
			&cli.BoolFlag{Name: "json", Usage: "the same as -o json"},
			&cli.DurationFlag{Name: "timeout", Usage: "give up after `TIME`, starting the server included"},
			&cli.StringFlag{Name: "policy", Usage: "narrow what is allowed to what the policy `NAME` allows too"},
			&cli.BoolFlag{Name: "no-hub", Usage: "start the server here even if a hub is up"},
		}, cmdmain.PlaceFlags()...),
		Action: func(c *cli.Context) error { return inSession(env, c, (*caller).throughHub, (*caller).run) },
	}
}

// caller is one invocation: where it works and what it was told.
type caller struct {
	env      *cmdmain.Env
	c        *cli.Context
	userFile string
	out      string // the format asked for, "" for none
	host     *call.Host
	session  *call.Session
	agent    *agent
	remote   *remote // in whose place the hub makes the call; nil = none
}

// inSession runs remote, and unless that did all there is to do, do below a keeper,
// and stops the servers that it started. What do printed is
// out by then.
func inSession(env *cmdmain.Env, c *cli.Context, remote func(*caller, []string) (done bool, err error),
	do func(*caller, context.Context, []string) error,
) error {
	m := &caller{env: env, c: c}
	args, _ := cmdmain.Positional(c)
	if err := m.check(args); err != nil {
		return err
	}
	m.agent = newAgent(env)
	defer m.agent.close()
	if done, err := remote(m, args); done {
		return err
	}
	return env.Keep(func() error {
		if err := m.open(); err != nil {
			return err
		}
		defer m.host.Close()
		defer m.session.Close()
		ctx, cancel := m.context()
		defer cancel()
		return do(m, ctx, args)
	})
}

// check finds the mistakes that need no look at the configuration.
func (m *caller) check(args []string) (err error) {
	if m.out, err = cmdmain.Output(m.c, "text", "json", "raw", "table", "jsonl"); err != nil {
		return err
	}
	if err := m.checkSubject(args); err != nil {
		return err
	}
	switch {
	case m.c.IsSet("timeout") && m.c.Duration("timeout") <= 0:
		return cmdmain.Usagef("--timeout wants a time above zero, not %s", m.c.Duration("timeout"))
	case m.c.IsSet("get") && m.c.String("get") == "":
		return cmdmain.Usagef("--get wants a path")
	case m.c.IsSet("get") && m.out == "raw":
		return cmdmain.Usagef("--get and -o raw exclude each other")
	}
	return nil
}

// checkSubject finds them in what is to be called or read.
func (m *caller) checkSubject(args []string) error {
	resource, prompt := m.c.IsSet("resource"), m.c.IsSet("prompt")
	switch {
	case resource && prompt:
		return cmdmain.Usagef("--resource and --prompt exclude each other")
	case !resource && !prompt:
		if len(args) == 0 || args[0] == "" {
			return cmdmain.Usagef("SERVER is missing")
		}
		return nil
	case resource && m.c.String("resource") == "":
		return cmdmain.Usagef("--resource wants a URI")
	case prompt && m.c.String("prompt") == "":
		return cmdmain.Usagef("--prompt wants a name")
	case resource && len(args) > 0:
		return cmdmain.Usagef("--resource takes no arguments, and %s is one", shown(args[0]))
	case resource && m.c.IsSet("args"):
		return cmdmain.Usagef("--resource and --args exclude each other")
	}
	_, err := cmdmain.Output(m.c, "text", "json", "raw")
	return err
}

func (m *caller) open() error {
	dirs, err := m.env.Dirs(m.c)
	if err != nil {
		return err
	}
	project, err := m.env.Project(m.c)
	if err != nil {
		return err
	}
	dir, _ := os.Getwd() // "" = none: it was removed
	m.userFile = filepath.Join(dirs.Config, "mcp.yaml")
	cfg := config.Load(config.LoadOptions{Dirs: dirs, Project: project})
	if m.host, err = m.env.Host(dirs, cfg.Log); err != nil {
		return err
	}
	m.session, err = m.host.Open(call.SessionOptions{
		Project: project, Policy: m.c.String("policy"), Via: "mcp-call", Agent: m.agent, Dir: dir,
	})
	if err != nil {
		m.host.Close()
		return cmdmain.Failure(err)
	}
	return nil
}

// timeoutError is the cause of a context that --timeout ended.
type timeoutError struct{ limit time.Duration }

func (e *timeoutError) Error() string { return fmt.Sprintf("--timeout %s is over", e.limit) }

// Unwrap makes it a timeout in the call's row, not a cancellation.
func (e *timeoutError) Unwrap() error { return context.DeadlineExceeded }

// context ends with an interrupt or with --timeout; its cause is what a server
// is told then.
func (m *caller) context() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(m.env.Ctx))
	stop := context.AfterFunc(m.env.Ctx, func() { cancel(&upstream.Cancelled{Reason: "interrupted by the user"}) })
	undo := func() { stop(); cancel(nil) }
	d := m.c.Duration("timeout")
	if d <= 0 {
		return ctx, undo
	}
	timer := time.AfterFunc(d, func() { cancel(&timeoutError{d}) })
	return ctx, func() { timer.Stop(); undo() }
}
