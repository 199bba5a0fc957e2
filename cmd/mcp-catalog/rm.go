package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/urfave/cli/v2"

	"postern/pkg/call"
	"postern/pkg/cmdmain"
	"postern/pkg/config"
	"postern/pkg/state"
)

func rmVerb(env *cmdmain.Env) *cli.Command {
	return &cli.Command{
		Name: "rm", Usage: "take a server's declaration out of the configuration", ArgsUsage: "NAME",
		Description: "Removes the entry NAME from mcp.yaml, or from the drop-in in mcp.d that has it, and keeps\n" +
			"everything else of the file as it is; a hub that is up ends the server. A server that a\n" +
			"project declares is not removed here: mcp-trust deny keeps it from ever starting.",
		Action: func(c *cli.Context) error { return remove(env, c) },
	}
}

func remove(env *cmdmain.Env, c *cli.Context) error {
	args, err := cmdmain.Exactly(c, "NAME")
	if err != nil {
		return err
	}
	p, err := placeOf(env, c)
	if err != nil {
		return err
	}
	err = p.edit(c, args[0], deny, func(old []byte) ([]byte, error) { return config.RemoveServer(old, args[0]) })
	if err == nil {
		env.ReloadHub(p.dirs)
	}
	return err
}

// edit changes the file of the user's that declares name, under its lock.
// instead is what to run for a server that a project declares.
func (p *place) edit(c *cli.Context, name string, instead func(*call.Server) string, change func(old []byte) ([]byte, error)) error {
	path := p.userFile(name)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return p.notDeclared(name, instead)
	}
	err := state.Update(c.Context, path, p.fileCheck(), change)
	var none *config.NoServerError
	if errors.As(err, &none) {
		return p.notDeclared(name, instead)
	}
	if err != nil {
		return fileFailure(path, name, err)
	}
	return nil
}

// notDeclared tells an unknown server from one of the project.
func (p *place) notDeclared(name string, instead func(*call.Server) string) error {
	v, err := p.view()
	if err != nil {
		return err
	}
	s := v.Server(name)
	if s == nil || s.Declared.Scope == config.User {
		return unknownServer(v, name)
	}
	return &cmdmain.Error{
		Err:  fmt.Errorf("server %s is declared by the project, in %s", name, s.Declared.At()),
		Word: "project_server", Exit: cmdmain.Usage, Hints: []string{instead(s)},
	}
}

// deny is the command that keeps a project's server from ever starting.
func deny(s *call.Server) string {
	return fmt.Sprintf("mcp-trust deny %s --project %s", s.Declared.ID, call.ShellQuoted(s.Declared.Project))
}
