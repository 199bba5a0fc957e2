package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"postern/pkg/call"
	"postern/pkg/cmdmain"
	"postern/pkg/config"
	"postern/pkg/upstream"
)

func app(env *cmdmain.Env) *cli.App {
	a := &cli.App{
		Usage:     "call one tool of one server",
		ArgsUsage: "SERVER [TOOL [key=value | key:=json | key=@file]…]",
		Description: "Prints what the tool answers. SERVER alone lists its tools, SERVER TOOL --help\n" +
			"shows the tool's parameters. A value is typed by the tool's schema; a key given\n" +
			"twice makes an array, a.b=1 an object. SERVER__TOOL works too.",
		Flags: append(append(cmdmain.OutputFlags("text", "json", "raw"), cmdmain.PlaceFlags()...),
			&cli.StringFlag{Name: "args", Usage: "take the arguments as `JSON`; - reads them from standard input, @FILE from a file"},
			&cli.StringFlag{Name: "get", Usage: "print only what the gjson `PATH` finds in the result"},
			&cli.DurationFlag{Name: "timeout", Usage: "give up after `TIME`, starting the server included"},
			&cli.StringFlag{Name: "policy", Usage: "narrow what is allowed to what the policy `NAME` allows too"},
		),
		Action: func(c *cli.Context) error { return run(env, c) },
	}
	env.Help = func(c *cli.Context) (bool, error) { return true, showParameters(env, c) }
	return a
}

// caller is one invocation: where it works and with what.
type caller struct {
	env     *cmdmain.Env
	host    *call.Host
	session *call.Session
}

func open(env *cmdmain.Env, c *cli.Context) (*caller, error) {
	dirs, err := env.Dirs(c)
	if err != nil {
		return nil, err
	}
	project, err := env.Project(c)
	if err != nil {
		return nil, err
	}
	if err := upstream.BecomeSubreaper(); err != nil {
		env.Sayf("servers that detach from their process group may survive: %v", err)
	}
	cfg := config.Load(config.LoadOptions{Dirs: dirs, Project: project})
	host, err := env.Host(dirs, cfg.Log)
	if err != nil {
		return nil, err
	}
	session, err := host.Open(call.SessionOptions{Project: project, Policy: c.String("policy"), Via: "mcp-call"})
	if err != nil {
		host.Close()
		return nil, cmdmain.Failure(err)
	}
	return &caller{env: env, host: host, session: session}, nil
}

// close stops the servers that this call started.
func (m *caller) close() {
	m.session.Close()
	m.host.Close()
}

func run(env *cmdmain.Env, c *cli.Context) error {
	args, _ := cmdmain.Positional(c)
	if len(args) == 0 {
		return cmdmain.Usagef("SERVER is missing")
	}
	out, err := cmdmain.Output(c, "text", "json", "raw")
	if err != nil {
		return err
	}
	m, err := open(env, c)
	if err != nil {
		return err
	}
	defer m.close()
	ctx, cancel := context.WithCancelCause(env.Ctx)
	defer cancel(nil)
	if d := c.Duration("timeout"); d > 0 {
		timer := time.AfterFunc(d, func() { cancel(&timeoutError{d}) })
		defer timer.Stop()
	}
	server, tool, rest := m.address(args)
	if tool == "" {
		if len(rest) > 0 {
			return cmdmain.Usagef("%s is no tool name", rest[0])
		}
		return m.listTools(ctx, c, server)
	}
	return m.call(ctx, c, target{server, tool, rest}, out)
}

// timeoutError is the cause of a call that --timeout ended.
type timeoutError struct{ limit time.Duration }

func (e *timeoutError) Error() string { return fmt.Sprintf("--timeout of %s is over", e.limit) }

// address splits the arguments into server, tool and the tool's own. An exact
// server id wins over SERVER__TOOL.
func (m *caller) address(args []string) (server, tool string, rest []string) {
	v := m.session.View()
	if v.Server(args[0]) == nil {
		if t := v.Exposed(args[0]); t != nil {
			return t.Server.Declared.ID, t.Def.Name, args[1:]
		}
		if s, name, found := strings.Cut(args[0], "__"); found && v.Server(s) != nil {
			return s, name, args[1:]
		}
	}
	if len(args) == 1 {
		return args[0], "", nil
	}
	return args[0], args[1], args[2:]
}

// target is the tool to call and the arguments as the shell gave them.
type target struct {
	server, tool string
	words        []string
}

// call makes the call and prints its answer.
func (m *caller) call(ctx context.Context, c *cli.Context, t target, out string) error {
	if len(t.words) > 0 && c.IsSet("args") {
		return cmdmain.Usagef("--args and key=value exclude each other")
	}
	// A refusal here comes again from Do, which writes its row.
	def, _ := m.session.Find(ctx, t.server, t.tool)
	var schema []byte
	if def != nil {
		schema = def.Def.InputSchema
	}
	arguments, err := m.arguments(c, t.words, schema)
	if err != nil {
		return err
	}
	params := append(append([]byte(`{"arguments":`), arguments...), '}')
	request := call.Request{Server: t.server, Tool: t.tool, Params: params, LineBytes: len(params)}
	if m.env.IsTerminal(m.env.Stderr) {
		request.Params, request.Progress = withProgress(params), m.progress
	}
	var result error
	m.session.Do(ctx, request, func(a call.Answer) { result = m.print(c, a, out) })
	if cause, ok := context.Cause(ctx).(*timeoutError); ok && result != nil {
		return &cmdmain.Error{Err: fmt.Errorf("server %s: %w", t.server, cause), Word: string(call.Timeout), Exit: cmdmain.Timeout}
	}
	return result
}
