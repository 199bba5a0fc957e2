package cmdmain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"postern/pkg/hub"
	"postern/pkg/state"
)

// Main runs the command called name as this process and ends the process. app
// is called once, with everything that came from outside.
func Main(name string, app func(*Env) *cli.App) {
	leash := hub.Attach() // before the environment is read
	home, looked := state.Home(os.Getenv)
	if looked {
		// Servers, and commands that give secrets, look for it as well.
		looked = os.Setenv("HOME", home) == nil
	}
	ctx, stop := notify(context.Background(), leash, os.Exit)
	env := &Env{
		Name: name, Ctx: ctx, Args: os.Args[1:],
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Getenv: os.Getenv, Environ: os.Environ(),
		process: &process{leash: leash, release: stop},
	}
	if looked {
		env.Sayf("HOME is not set: %s is used, which this account has", home)
	}
	code := Run(env, app)
	stop()
	os.Exit(int(code))
}

// Run is Main without the process: it runs app in env, says what went wrong,
// and returns the code to end with.
func Run(env *Env, app func(*Env) *cli.App) Exit {
	out := &output{w: env.Stdout}
	env.Stdout = out
	err := env.run(app(env))
	if err == nil {
		err = out.err()
	}
	if err == nil || errors.Is(err, errClosedPipe) {
		return Done
	}
	failure := classify(err, env.Ctx.Err() != nil)
	env.report(failure)
	return failure.Exit
}

func (e *Env) run(app *cli.App) error {
	prepare(app, e)
	line, err := sortArgs(app, e.Args)
	e.path, e.jsonErrors = line.path, line.json
	switch {
	case line.help && e.Help != nil && len(line.positional) > 0:
		return e.ownHelp(app, line, err)
	case line.help:
		return writeHelp(e.Stdout, app, line.path)
	case line.version:
		return writeVersion(e.Stdout, e.Name)
	case err != nil:
		return err
	}
	return app.RunContext(e.Ctx, line.args)
}

// ownHelp lets the application answer --help. A mistake in the flags beside it
// is one here: they say where to look.
func (e *Env) ownHelp(app *cli.App, line commandLine, mistake error) error {
	if mistake != nil {
		return mistake
	}
	shown := false
	app.Action = func(c *cli.Context) (err error) {
		shown, err = e.Help(c)
		return err
	}
	if err := app.RunContext(e.Ctx, line.args); shown || err != nil {
		return err
	}
	return writeHelp(e.Stdout, app, line.path)
}

// prepare closes the ways by which urfave/cli would print to standard output,
// exit by itself, or cut a value at its commas.
func prepare(app *cli.App, e *Env) {
	app.Name, app.HelpName = e.Name, e.Name
	app.Reader, app.ErrWriter = e.Stdin, e.Stderr
	app.Writer = io.Discard // only its own usage texts go there
	app.HideHelp, app.HideHelpCommand, app.HideVersion = true, true, true
	app.DisableSliceFlagSeparator = true
	app.ExitErrHandler = func(*cli.Context, error) {}
	app.OnUsageError = usageError
	app.Action = needsVerb(app.Action, app.Commands)
	for _, c := range app.Commands {
		prepareCommand(c)
	}
}

func prepareCommand(c *cli.Command) {
	c.HideHelp, c.HideHelpCommand = true, true
	c.OnUsageError = usageError
	c.Action = needsVerb(c.Action, c.Subcommands)
	for _, sub := range c.Subcommands {
		prepareCommand(sub)
	}
}

// usageError keeps what the flag package said as a last resort; sortArgs finds
// every mistake it knows before and says it in better words.
func usageError(_ *cli.Context, err error, _ bool) error {
	return &Error{Err: err, Exit: Usage}
}

// needsVerb is the action where only verbs make sense and none, or an unknown
// one, was given.
func needsVerb(action cli.ActionFunc, verbs []*cli.Command) cli.ActionFunc {
	if action != nil {
		return action
	}
	return func(c *cli.Context) error {
		args, _ := Positional(c)
		if len(args) == 0 {
			return Usagef("a command is needed: %s", list(names(verbs)))
		}
		return unknownCommand(args[0], verbs)
	}
}

func unknownCommand(word string, verbs []*cli.Command) error {
	return Usagef("unknown command %q%s", word, didYouMean(word, names(verbs), plain))
}

// names are what verbs are called, hidden ones left out.
func names(verbs []*cli.Command) []string {
	var all []string
	for _, v := range verbs {
		if !v.Hidden {
			all = append(all, v.Name)
		}
	}
	return all
}

// NoVerb is nil where no argument stands, else the usage error of a command that
// takes only its verbs: the first argument is none of them.
func NoVerb(c *cli.Context) error {
	if args, _ := Positional(c); len(args) > 0 {
		return unknownCommand(args[0], c.App.Commands)
	}
	return nil
}

// Positional gives the arguments that are neither flags nor verbs, and the
// index at which `--` stood among them, -1 when there was none.
func Positional(c *cli.Context) (args []string, dash int) {
	dash = -1
	for i, a := range c.Args().Slice() {
		if a == "--" && dash < 0 {
			dash = i
			continue
		}
		args = append(args, a)
	}
	return args, dash
}

// Exactly returns the positional arguments when there are as many as names,
// and a usage error that says which is missing or too many otherwise.
func Exactly(c *cli.Context, names ...string) ([]string, error) {
	args, _ := Positional(c)
	switch {
	case len(args) < len(names):
		return nil, Usagef("%s is missing", names[len(args)])
	case len(args) > len(names):
		return nil, Usagef("unexpected argument %q", args[len(names)])
	}
	return args, nil
}

func list(names []string) string {
	switch n := len(names); n {
	case 0:
		return ""
	case 1:
		return names[0]
	default:
		return fmt.Sprintf("%s or %s", join(names[:n-1]), names[n-1])
	}
}
