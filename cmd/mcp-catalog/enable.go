package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"postern/pkg/call"
	"postern/pkg/cmdmain"
	"postern/pkg/config"
	"postern/pkg/trust"
)

func enableVerb(env *cmdmain.Env) *cli.Command {
	return &cli.Command{
		Name: "enable", Usage: "let a server of mcp.yaml be started", ArgsUsage: "NAME",
		Description: "Changes the word behind `enabled` in the entry NAME of mcp.yaml, or of the drop-in in mcp.d\n" +
			"that has it, and nothing else of the file. A server that a project declares is not enabled\n" +
			"here: mcp-trust allow approves it.",
		Action: func(c *cli.Context) error { return setEnabled(env, c, true) },
	}
}

func disableVerb(env *cmdmain.Env) *cli.Command {
	return &cli.Command{
		Name: "disable", Usage: "keep a server of mcp.yaml from being started", ArgsUsage: "NAME",
		Description: "Writes `enabled: false` into the entry NAME of mcp.yaml, or of the drop-in in mcp.d that\n" +
			"has it, and changes nothing else of the file. Sessions that run notice it. A server that a\n" +
			"project declares is not disabled here: mcp-trust deny keeps it from ever starting.",
		Action: func(c *cli.Context) error { return setEnabled(env, c, false) },
	}
}

func setEnabled(env *cmdmain.Env, c *cli.Context, enabled bool) error {
	args, err := cmdmain.Exactly(c, "NAME")
	if err != nil {
		return err
	}
	p, err := placeOf(env, c)
	if err != nil {
		return err
	}
	instead := deny
	if enabled {
		instead = admit
		if err := env.Person(p.dirs, "enable", args[0]); err != nil {
			return err
		}
	}
	err = p.edit(c, args[0], instead, func(old []byte) ([]byte, error) { return config.SetEnabled(old, args[0], enabled) })
	if err == nil {
		env.ReloadHub(p.dirs)
	}
	return err
}

// admit is what lets a project's server be started.
func admit(s *call.Server) string {
	switch d := s.Declared; {
	case !d.Enabled:
		return fmt.Sprintf("the project disables it in %s; declare it as your own: mcp-catalog add %s -- COMMAND ARG…", d.At(), d.ID)
	case s.Status == trust.Trusted:
		return "mcp-catalog test " + d.ID
	default:
		return allow(s)
	}
}
