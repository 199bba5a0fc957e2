package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"
	"github.com/urfave/cli/v2"

	"postern/pkg/call"
	"postern/pkg/cmdmain"
	"postern/pkg/config"
	"postern/pkg/hub"
	"postern/pkg/state"
)

// controlVerbs are what is done to a hub that is up.
func controlVerbs(env *cmdmain.Env) []*cli.Command {
	on := func(name, count, usage, description string) *cli.Command {
		return &cli.Command{
			Name: name, Usage: usage, ArgsUsage: "NAME", Description: description, Flags: cmdmain.ListFlags(),
			Action: func(c *cli.Context) error {
				args, err := cmdmain.Exactly(c, "NAME")
				if err != nil {
					return err
				}
				return act(env, c, name, args[0], "SERVER", count)
			},
		}
	}
	return []*cli.Command{
		statusVerb(env),
		on(call.VerbKill, "ENDED", "stop a server and keep it stopped",
			"Ends the server NAME with everything it started, for all sessions. Calls to it fail, and it\n"+
				"stays down until `start`, or until the hub ends."),
		on(call.VerbStart, "UP", "start a server now",
			"Takes back `kill` and connects to the server NAME at once. A disabled server stays down."),
		on(call.VerbRestart, "UP", "stop a server and start it again",
			"Calls under way of the server NAME fail; its sessions go on with the new one."),
		stopVerb(env),
		reloadVerb(env),
	}
}

func stopVerb(env *cmdmain.Env) *cli.Command {
	return &cli.Command{
		Name: call.VerbStop, Usage: "end the hub and all servers", Flags: cmdmain.ListFlags(),
		Description: "Calls under way fail; it returns when the servers are gone. The agents' sessions stay,\n" +
			"without servers, and start no other hub until the agent connects anew. Where no hub is\n" +
			"up there is nothing to do. Where systemd holds the socket, whoever connects next has it\n" +
			"start one, unless systemctl --user stop postern.socket was told first.",
		Action: func(c *cli.Context) error {
			if _, err := cmdmain.Exactly(c); err != nil {
				return err
			}
			err := act(env, c, call.VerbStop, "", "SESSIONS")
			var nobody *hub.NoHubError
			if errors.As(err, &nobody) {
				env.Sayf("%v", nobody)
				return nil
			}
			return err
		},
	}
}

func reloadVerb(env *cmdmain.Env) *cli.Command {
	return &cli.Command{
		Name: call.VerbReload, Usage: "have the hub read the configuration now", Flags: cmdmain.ListFlags(),
		Description: "It looks by itself when a call comes, at most once a second. With reload it also reads secrets,\n" +
			"env_files and the places of executables again; a server for which one is another ends with\n" +
			"its last call and starts with the next. What is wrong in the files is said, and the command\n" +
			"ends with 1. A configuration that is refused leaves the one before in force.",
		Action: func(c *cli.Context) error { return reload(env, c) },
	}
}

func reload(env *cmdmain.Env, c *cli.Context) error {
	if _, err := cmdmain.Exactly(c); err != nil {
		return err
	}
	list, err := env.List(c, "SESSIONS", "PROBLEMS")
	if err != nil {
		return err
	}
	results, err := order(env, c, call.VerbReload, "")
	if err != nil {
		return err
	}
	var said []string
	for _, result := range results {
		problems := gjson.GetBytes(result, "problems").Array()
		if err := list.Row(result, gjson.GetBytes(result, "sessions").String(), strconv.Itoa(len(problems))); err != nil {
			return err
		}
		for _, p := range problems {
			if !slices.Contains(said, p.String()) {
				said = append(said, p.String())
			}
		}
	}
	if err := list.Close(); err != nil || len(said) == 0 {
		return err
	}
	for _, text := range said {
		env.Sayf("%s", text)
	}
	return &cmdmain.Error{Err: errors.New("the configuration has mistakes"), Word: "invalid_file", Exit: cmdmain.Failed,
		Hints: []string{"mcp-catalog servers --check"}}
}

// order has every hub that is up carry out one verb, also one that only finishes its
// sessions, and gives their answers. One that cannot, while another could, is said.
func order(env *cmdmain.Env, c *cli.Context, verb, name string) (results []json.RawMessage, err error) {
	dirs, err := env.Dirs(c)
	if err != nil {
		return nil, err
	}
	limit := &slowHubError{verb, config.ControlWait}
	if verb == call.VerbStatus {
		limit.wait = config.StatusWait
	}
	ctx, cancel := context.WithTimeoutCause(c.Context, limit.wait, limit)
	defer cancel()
	defer time.AfterFunc(config.ControlSay, func() {
		env.Sayf("still waiting for the hub's answer to %s: it is busy with that, or it is suspended", verb)
	}).Stop()
	conns, err := hub.DialAll(ctx, dirs)
	if err != nil {
		return nil, noHub(dirs, err)
	}
	all, failed := make([]json.RawMessage, len(conns)), make([]error, len(conns))
	var wg sync.WaitGroup
	for i, conn := range conns {
		wg.Go(func() { all[i], failed[i] = hub.Control(ctx, conn, verb, name) }) // ends with the answer, or with ctx
	}
	wg.Wait()
	results = slices.DeleteFunc(all, func(r json.RawMessage) bool { return r == nil })
	for _, err := range failed {
		refused, _ := errors.AsType[*hub.RemoteError](err)
		unknown := refused != nil && cmdmain.Exit(refused.Exit) == cmdmain.Usage && refused.Remedy == ""
		switch {
		case err == nil:
		case len(results) > 0:
			if !unknown { // else another knows the server
				env.Sayf("another hub: %v", err)
			}
		case errors.Is(err, limit):
			return nil, &cmdmain.Error{Err: err, Exit: cmdmain.Timeout}
		case unknown:
			return nil, &cmdmain.Error{Err: err, Word: refused.Word, Exit: cmdmain.Usage, Hints: []string{"mcp-catalog servers"}}
		default:
			return nil, cmdmain.Failure(err)
		}
	}
	return results, nil
}

// noHub is why no hub was reached. Where there is none it may be that none can be,
// and that is told instead: agents have no hub for the same reason.
func noHub(dirs state.Dirs, err error) error {
	var nobody *hub.NoHubError
	if !errors.As(err, &nobody) {
		return cmdmain.Failure(err)
	}
	if unsafe := state.CheckRuntime(dirs.Runtime, ""); unsafe != nil && !errors.Is(unsafe, fs.ErrNotExist) {
		return cmdmain.Failure(unsafe)
	}
	failure := cmdmain.Failure(err)
	if e, ok := errors.AsType[*cmdmain.Error](failure); ok {
		e.Hints = []string{"agents start it when they connect; without one: mcp-serve hub"}
	}
	return failure
}

// slowHubError says that a hub which is up does not answer.
type slowHubError struct {
	verb string
	wait time.Duration
}

func (e *slowHubError) Error() string {
	text := fmt.Sprintf("the hub did not answer %s within %s; it may be suspended", e.verb, e.wait)
	if e.verb != call.VerbStatus {
		text += ", and it may still do it"
	}
	return text
}

// act carries out one verb and prints the answers as a list, of one row for each hub.
func act(env *cmdmain.Env, c *cli.Context, verb, name string, columns ...string) error {
	list, err := env.List(c, columns...)
	if err != nil {
		return err
	}
	results, err := order(env, c, verb, name)
	if err != nil {
		return err
	}
	for _, result := range results {
		cells := make([]string, len(columns))
		for i, column := range columns {
			cells[i] = gjson.GetBytes(result, strings.ToLower(column)).String()
		}
		if err := list.Row(result, cells...); err != nil {
			return err
		}
	}
	return list.Close()
}
