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
		Name: "rm", Usage: "take a server's declaration out of mcp.yaml", ArgsUsage: "NAME",
		Description: "Removes the entry NAME and keeps everything else of the file as it is. A server that a\n" +
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
	path, name := p.userFile(), args[0]
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return p.notDeclared(name)
	}
	err = state.Update(c.Context, path, p.fileCheck(), func(old []byte) ([]byte, error) {
		return config.RemoveServer(old, name)
	})
	var none *config.NoServerError
	if errors.As(err, &none) {
		return p.notDeclared(name)
	}
	if err != nil {
		return fileFailure(path, name, err)
	}
	return nil
}

// notDeclared tells an unknown server from one of the project.
func (p *place) notDeclared(name string) error {
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
		Word: "project_server", Exit: cmdmain.Usage,
		Hints: []string{fmt.Sprintf("mcp-trust deny %s --project %s", name, call.ShellQuoted(s.Declared.Project))},
	}
}
