package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"postern/pkg/call"
	"postern/pkg/cmdmain"
	"postern/pkg/config"
	"postern/pkg/state"
)

func addVerb(env *cmdmain.Env) *cli.Command {
	return &cli.Command{
		Name: "add", Usage: "declare a server in mcp.yaml, or change its declaration",
		ArgsUsage: "NAME [-- COMMAND ARG…]",
		UsageText: "mcp-catalog add NAME [--env K=V]… [--no-refresh] [-- COMMAND ARG…]",
		Description: "Writes the entry NAME, keeping comments, order and everything else of the file, and\n" +
			"asks the server for its list. Of an entry that is there already, command and arguments\n" +
			"are replaced when a command is given, and the variables when --env is; its other\n" +
			"fields stay. Without an mcp.yaml a commented one is made, and said so.\n\n" +
			"A value may be a reference, --env TOKEN='${TOKEN}', which keeps the token out of the file:\n" +
			"it is looked up at each start, in the entry's env_file, in `secrets:`, and in the\n" +
			"environment of whoever asks for names under the entry's agent_env. A command with a\n" +
			"slash is written with its absolute path.",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "env", Usage: "start the server with this variable, `K=V`; may be repeated"},
			&cli.BoolFlag{Name: "no-refresh", Usage: "do not ask the server for its list"},
		},
		Action: func(c *cli.Context) error {
			if c.Bool("no-refresh") {
				return add(env, c)
			}
			return env.Keep(func() error { return add(env, c) })
		},
	}
}

func add(env *cmdmain.Env, c *cli.Context) error {
	args, dash := cmdmain.Positional(c)
	if dash < 0 {
		dash = len(args)
	}
	switch {
	case dash == 0:
		return cmdmain.Usagef("NAME is missing")
	case dash > 1:
		return cmdmain.Usagef("unexpected argument %q; the command follows --", args[1])
	}
	name, command := args[0], args[dash:]
	vars, err := variables(c.StringSlice("env"))
	if err != nil {
		return err
	}
	d := config.Declaration{Env: vars, KeepEnv: len(vars) == 0}
	p, err := placeOf(env, c)
	if err != nil {
		return err
	}
	if err := env.Person(p.dirs, "add", name); err != nil {
		return err
	}
	if len(command) > 0 {
		d.Args = command[1:]
		if d.Command, err = written(command[0]); err != nil {
			return err
		}
	} else if err := p.keepCommand(name, &d); err != nil {
		return err
	}
	if err := p.declare(c, name, d); err != nil {
		return err
	}
	if c.Bool("no-refresh") {
		return nil
	}
	h := env.HubLister(c.Context, p.dirs, p.project)
	defer h.Close()
	err = p.refresh(c, h, []string{name}, false, call.RefreshLimits{Jobs: 1, Timeout: config.RefreshTimeout})
	if failed := (*cmdmain.Error)(nil); errors.As(err, &failed) {
		env.Sayf("server %s is declared in %s, but its tools are not known yet", name, p.userFile(name))
	}
	return err
}

// variables takes --env apart. They stay in the order given, a later one of
// the same name wins.
func variables(given []string) ([]config.EnvVar, error) {
	var vars []config.EnvVar
	at := map[string]int{}
	for _, text := range given {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			// The text may be a value; it is not repeated.
			return nil, cmdmain.Usagef("--env wants NAME=VALUE, such as --env TOKEN='${TOKEN}'")
		}
		if i, seen := at[name]; seen {
			vars[i].Value = value
			continue
		}
		at[name] = len(vars)
		vars = append(vars, config.EnvVar{Name: name, Value: value})
	}
	return vars, nil
}

// written is a command as it goes into the file: what the shell would find
// from the current directory must be found from anywhere.
func written(command string) (string, error) {
	if !strings.ContainsRune(command, filepath.Separator) || filepath.IsAbs(command) || strings.Contains(command, "$") {
		return command, nil
	}
	return filepath.Abs(command)
}

// keepCommand fills in command and arguments of the declaration that is there.
func (p *place) keepCommand(name string, d *config.Declaration) error {
	for _, s := range config.Load(config.LoadOptions{Dirs: p.dirs}).Servers {
		if s.ID == name && !d.KeepEnv {
			d.Command, d.Args = s.Command, s.Args
			return nil
		}
	}
	return cmdmain.Usagef("a command is missing: mcp-catalog add %s -- COMMAND ARG…", name)
}

// userFile is the file of the user's that declares name, or would: mcp.yaml, or
// a drop-in that has it already.
func (p *place) userFile(name string) string {
	if file := config.Load(config.LoadOptions{Dirs: p.dirs, Project: p.project}).UserFile(name); file != "" {
		return file
	}
	return filepath.Join(p.dirs.Config, "mcp.yaml")
}

func (p *place) fileCheck() state.Check {
	return state.Check{Max: config.MaxFileBytes, Private: true, Project: p.project}
}

// declare writes the entry, under the file's lock.
func (p *place) declare(c *cli.Context, name string, d config.Declaration) error {
	path := p.userFile(name)
	if err := state.EnsureDir(p.dirs.Config); err != nil {
		return err
	}
	_, err := os.Stat(path)
	fresh := errors.Is(err, fs.ErrNotExist)
	err = state.Update(c.Context, path, p.fileCheck(), func(old []byte) ([]byte, error) {
		return config.SetServer(old, name, d)
	})
	if err != nil {
		return fileFailure(path, name, err)
	}
	if fresh {
		p.env.Sayf("made %s: its policy `everything` lets programs of this user call all tools of its servers", path)
	}
	return nil
}

// commandFailure gives what is wrong with a command its code.
func commandFailure(err error) error {
	var d config.Diagnostic
	if !errors.As(err, &d) {
		return err
	}
	field := strings.TrimPrefix(d.Field, "servers."+unnamed+".")
	d = config.Diagnostic{File: "the command", Problem: d.Problem, Field: strings.TrimPrefix(field, "command")}
	return &cmdmain.Error{Err: d, Word: "invalid_declaration", Exit: cmdmain.Usage, Hints: []string{"mcp-catalog test --help"}}
}

// fileFailure gives what is wrong with the entry or with the file its code and
// the file's whole path.
func fileFailure(path, name string, err error) error {
	var d config.Diagnostic
	if !errors.As(err, &d) {
		return err
	}
	d.File = path
	if d.Server == name {
		d.Line = 0 // of a text that was not written
		return &cmdmain.Error{Err: d, Word: "invalid_declaration", Exit: cmdmain.Usage, Hints: []string{"mcp-catalog add --help"}}
	}
	return &cmdmain.Error{Err: d, Word: "invalid_file", Exit: cmdmain.Failed}
}
