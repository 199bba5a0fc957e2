package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"postern/pkg/call"
	"postern/pkg/cmdmain"
	"postern/pkg/config"
	"postern/pkg/state"
)

func app(env *cmdmain.Env) *cli.App {
	return &cli.App{
		Usage: "say which servers there are and what they offer",
		Description: "Servers are declared in mcp.yaml and in a project's own files. What each offers is\n" +
			"recorded when it is asked; only add, test and refresh ask, everything else reads.",
		Flags: append(cmdmain.PlaceFlags(), cmdmain.ListFlags()...),
		Commands: []*cli.Command{
			addVerb(env), rmVerb(env), enableVerb(env), disableVerb(env), testVerb(env),
			refreshVerb(env), serversVerb(env), toolsVerb(env), showVerb(env),
		},
	}
}

// place is whose files and which project a verb works with.
type place struct {
	env     *cmdmain.Env
	dirs    state.Dirs
	project string
}

func placeOf(env *cmdmain.Env, c *cli.Context) (*place, error) {
	dirs, err := env.Dirs(c)
	if err != nil {
		return nil, err
	}
	project, err := env.Project(c)
	if err != nil {
		return nil, err
	}
	return &place{env, dirs, project}, nil
}

// open gives the host and the session that a verb sees the servers through. The
// caller closes the host. It starts nothing.
func (p *place) open() (*call.Host, *call.Session, error) {
	host, err := p.env.Host(p.dirs, config.Log{})
	if err != nil {
		return nil, nil, err
	}
	session, err := host.Open(call.SessionOptions{Project: p.project})
	if err != nil {
		host.Close()
		return nil, nil, err
	}
	return host, session, nil
}

// view is the present view of a verb that only reads.
func (p *place) view() (*call.View, error) {
	host, session, err := p.open()
	if err != nil {
		return nil, err
	}
	defer host.Close()
	return session.View(), nil
}

// notInForce is the error of a verb that found the user's file refused as a
// whole, nil when it is not: that no server is there must not look like one
// (MB-172). What is wrong was said when the session opened.
func (p *place) notInForce(v *call.View) error {
	if !v.Config.Refused {
		return nil
	}
	file := p.userFile("")
	for _, d := range v.Config.Diagnostics {
		if !d.Warning && d.Server == "" && strings.HasPrefix(d.File, p.dirs.Config) {
			file = d.File
			break
		}
	}
	return &cmdmain.Error{
		Err:  fmt.Errorf("nothing of %s is in force until it is mended", file),
		Word: "invalid_file", Exit: cmdmain.Failed, Hints: []string{"mcp-catalog servers --check"},
	}
}

// allow is the command that approves a project's server.
func allow(s *call.Server) string {
	return strings.TrimPrefix(call.AllowRemedy(s.Declared), call.AskUser)
}

// findServer is the server with this id; an unknown one is a usage error that
// names the nearest.
func findServer(v *call.View, id string) (*call.Server, error) {
	if s := v.Server(id); s != nil {
		return s, nil
	}
	return nil, unknownServer(v, id)
}

func unknownServer(v *call.View, id string) error {
	known := make([]string, len(v.Servers))
	for i, s := range v.Servers {
		known[i] = s.Declared.ID
	}
	return &cmdmain.Error{
		Err:  fmt.Errorf("there is no server %q%s", id, cmdmain.DidYouMean(id, known)),
		Word: "unknown_server", Exit: cmdmain.Usage, Hints: []string{"mcp-catalog servers"},
	}
}
