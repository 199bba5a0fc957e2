package cmdmain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"postern/pkg/call"
	"postern/pkg/config"
	"postern/pkg/hub"
	"postern/pkg/state"
	"postern/pkg/trust"
)

// commands are the programs of postern: a server that is one of them is
// postern itself (C23).
var commands = [...]string{"mcp-serve", "mcp-trust", "mcp-catalog", "mcp-call", "mcp-log"}

// SelfPaths are the real paths of postern's commands beside this one.
func SelfPaths() []string { return call.SelfPaths(commands[:]) }

// PlaceFlags are the flags that say whose files and which project a command
// works with.
func PlaceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "config-dir", Usage: "read the configuration in `DIR`"},
		&cli.StringFlag{Name: "project", Usage: "work in the project at `DIR`; default: the one around the current directory"},
		&cli.BoolFlag{Name: "no-project", Usage: "work in no project"},
	}
}

// Dirs are the directories in force: of the environment, and --config-dir.
func (e *Env) Dirs(c *cli.Context) (state.Dirs, error) {
	e.keepPlace(c)
	dirs, err := state.Locate(e.Getenv)
	if err != nil {
		return dirs, err
	}
	if dir := c.String("config-dir"); dir != "" {
		if dirs.Config, err = filepath.Abs(dir); err != nil {
			return dirs, err
		}
	}
	return dirs, nil
}

// placeFlag is a flag that says where the command works, as a shell reads it.
type placeFlag struct {
	name, value string
	project     bool
}

// keepPlace notes the flags that say where the command works, for hints.
func (e *Env) keepPlace(c *cli.Context) {
	e.place = nil
	for _, name := range []string{"project", "config-dir"} {
		if value := c.String(name); value != "" {
			e.place = append(e.place, placeFlag{" --" + name, " " + call.ShellQuoted(value), name == "project"})
		}
	}
	if c.Bool("no-project") {
		e.place = append(e.place, placeFlag{" --no-project", "", true})
	}
}

// placed is a hint as it has to be typed: a command of this project works at the
// same place as this one.
func (e *Env) placed(hint string) string {
	if !strings.HasPrefix(hint, "mcp-") || strings.Contains(hint, "--help") {
		return hint
	}
	for _, flag := range e.place {
		if !strings.Contains(hint+" ", flag.name+" ") && (!flag.project || !strings.Contains(hint, " --project ")) {
			hint += flag.name + flag.value
		}
	}
	return hint
}

// Project is the real path of the project in force, "" for none (C21).
func (e *Env) Project(c *cli.Context) (string, error) {
	if c.Bool("no-project") {
		if c.String("project") != "" {
			return "", Usagef("--project and --no-project exclude each other")
		}
		return "", nil
	}
	home := e.Getenv("HOME")
	if dir := c.String("project"); dir != "" {
		root, err := config.FindProject(dir, home)
		if err == nil && root == "" {
			err = fmt.Errorf("%s is in no project: no .git, .postern or .mcp.json there or above", dir)
		}
		return root, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", nil // a directory that is gone is in no project
	}
	root, err := config.FindProject(dir, home)
	if err != nil {
		e.Sayf("no project: %v", err)
		return "", nil
	}
	return root, nil
}

// Host opens what a command that starts servers needs: configuration, trust,
// catalogs, pool and log; the zero log is for commands that make no call and
// writes no rows. The caller closes it. A process that was started by
// postern three levels deep is refused (C23).
func (e *Env) Host(dirs state.Dirs, log config.Log) (*call.Host, error) {
	return e.host(dirs, log, call.HostOptions{Warn: func(text string) { e.Sayf("%s", text) }})
}

// host opens a host with o, in which the rest is filled in.
func (e *Env) host(dirs state.Dirs, log config.Log, o call.HostOptions) (*call.Host, error) {
	depth := e.Depth()
	if depth >= config.MaxPosternDepth {
		return nil, &Error{Err: fmt.Errorf("postern runs inside itself %d levels deep: a declared server starts it again", depth),
			Word: string(call.Self), Exit: Unavailable}
	}
	o.Dirs, o.Environ, o.Depth, o.Self = dirs, e.Environ, depth, SelfPaths()
	o.Version, o.NoLog = Version(), log == (config.Log{})
	o.Sweep = func(ctx context.Context) { e.sweep(ctx, dirs) }
	host := call.OpenHost(o, log)
	e.Redact(host.Redactor())
	return host, nil
}

// Depth is how many processes of postern this one runs below (C23). Below any of
// them no hub is used: there the depth would be lost, and with it the bound.
func (e *Env) Depth() int {
	depth, _ := strconv.Atoi(e.Getenv("POSTERN_DEPTH"))
	return depth
}

// Failure gives an error of the packages below the word, the exit code and the
// hints that its type calls for (K1, K4). Errors it does not know pass as they are.
func Failure(err error) error {
	var r *call.Refusal
	var noPolicy *call.UnknownPolicyError
	var noServer *call.UnknownServerError
	var untrusted *trust.NotTrustedError
	var remote *hub.RemoteError
	var lost *hub.LostError
	var noHub *hub.NoHubError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &r):
		return &Error{Err: errors.New(r.Message), Word: string(r.Word), Exit: Exit(r.ExitCode()), Hints: hint(r.Remedy)}
	case errors.As(err, &remote):
		return &Error{Err: err, Word: remote.Word, Exit: Exit(remote.Exit), Hints: hint(remote.Remedy)}
	case errors.As(err, &lost):
		return &Error{Err: err, Word: string(call.HubLost), Exit: Unavailable}
	case errors.As(err, &noHub):
		return &Error{Err: err, Word: "no_hub", Exit: Unavailable}
	case errors.As(err, &noPolicy):
		return &Error{Err: err, Exit: Usage}
	case errors.As(err, &noServer):
		return &Error{Err: err, Exit: Usage, Hints: []string{"mcp-catalog servers"}}
	case errors.As(err, &untrusted):
		return &Error{Err: err, Word: string(untrusted.Status), Exit: NotTrusted,
			Hints: []string{fmt.Sprintf("mcp-trust status %s", untrusted.Server)}}
	}
	return err
}

// hint is a remedy as what a person can run next (K1), nil where it is nothing of
// the kind.
func hint(remedy string) []string {
	if remedy == "" || remedy == call.TriesAgain {
		return nil
	}
	return []string{strings.TrimPrefix(remedy, call.AskUser)}
}
