package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"postern/pkg/call"
	"postern/pkg/catalog"
	"postern/pkg/cmdmain"
	"postern/pkg/config"
	"postern/pkg/trust"
)

func testVerb(env *cmdmain.Env) *cli.Command {
	return &cli.Command{
		Name: "test", Usage: "start a server once and say what it offers", ArgsUsage: "NAME | -- COMMAND…",
		UsageText: "mcp-catalog test NAME | [--env K=V]… -- COMMAND ARG…",
		Description: "Starts the declared server NAME, or COMMAND as `add` would declare it, reads its lists and\n" +
			"stops it again. Nothing is saved, and of a server that runs already nothing changes. Ends with\n" +
			"6 and the reason when it cannot be started or does not list; how long it may take is the\n" +
			"entry's start_timeout. A project's server has to be approved like for any other start.",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "env", Usage: "start COMMAND with this variable, `K=V`; may be repeated"},
		},
		Action: func(c *cli.Context) error { return test(env, c) },
	}
}

func test(env *cmdmain.Env, c *cli.Context) error {
	args, dash := cmdmain.Positional(c)
	vars, err := variables(c.StringSlice("env"))
	switch {
	case err != nil:
		return err
	case len(args) == 0:
		return cmdmain.Usagef("NAME or -- COMMAND is missing")
	case dash < 0 && len(args) > 1, dash > 0:
		return cmdmain.Usagef("unexpected argument %q; a command stands alone behind --", args[1])
	case dash < 0 && len(vars) > 0:
		return cmdmain.Usagef("--env is for a command; a declared server has variables of its own")
	}
	list, err := env.List(c, "FOUND", "")
	if err != nil {
		return err
	}
	return env.Keep(func() error {
		p, err := placeOf(env, c)
		if err != nil {
			return err
		}
		row, err := p.test(c, args, vars, dash < 0)
		if err != nil {
			return err
		}
		if err := row.write(list); err != nil {
			return err
		}
		return list.Close()
	})
}

// test starts the server args[0], or the command args.
func (p *place) test(c *cli.Context, args []string, vars []config.EnvVar, declared bool) (*testRow, error) {
	host, session, err := p.open()
	if err != nil {
		return nil, err
	}
	defer host.Close()
	v := session.View()
	var srv *call.Server
	var tried call.Tried
	var refusal *call.Refusal
	if declared {
		if srv = v.Server(args[0]); srv == nil {
			if err := p.notInForce(v); err != nil {
				return nil, err
			}
			return nil, p.refusedOrUnknown(v, args[0])
		}
		tried, refusal = session.Try(c.Context, v, srv)
	} else {
		d, err := asDeclared(args, vars)
		if err != nil {
			return nil, err
		}
		srv = &call.Server{Declared: d, Status: trust.Trusted}
		tried, refusal = session.Try(c.Context, v, srv)
	}
	if err := c.Context.Err(); err != nil {
		return nil, err
	}
	if refusal != nil {
		return nil, failure(call.Refreshed{Server: srv, Err: refusal})
	}
	return testRowOf(srv.Declared.ID, tried), nil
}

// refusedOrUnknown tells a server whose declaration is wrong from one that
// nobody declares.
func (p *place) refusedOrUnknown(v *call.View, name string) error {
	for _, d := range v.Config.Diagnostics {
		if d.Server == name && !d.Warning {
			return &cmdmain.Error{Err: d, Word: "invalid_declaration", Exit: cmdmain.Failed, Hints: []string{"mcp-catalog servers --check"}}
		}
	}
	return unknownServer(v, name)
}

// unnamed is the id that a command has while it is tried.
const unnamed = "test"

// asDeclared is the server that `add` would write.
func asDeclared(command []string, vars []config.EnvVar) (*config.Server, error) {
	path, err := written(command[0])
	if err != nil {
		return nil, err
	}
	s, err := config.Declaration{Command: path, Args: command[1:], Env: vars}.Server(unnamed)
	if err != nil {
		return nil, commandFailure(err)
	}
	return s, nil
}

// testRow is what was found.
type testRow struct {
	Server        string            `json:"server"`
	Name          string            `json:"name,omitempty"` // as it calls itself
	Version       string            `json:"version,omitempty"`
	Protocol      string            `json:"protocol"`
	Era           string            `json:"era"`
	Tools         []string          `json:"tools"`
	Repaired      []string          `json:"repaired,omitempty"`
	Refused       []catalog.Refused `json:"refused,omitempty"`
	Truncated     bool              `json:"truncated,omitempty"`
	Noise         uint64            `json:"noise,omitempty"` // lines on its stdout that were no JSON-RPC
	Bytes         int               `json:"bytes"`           // of its definitions
	InstructBytes int               `json:"instructions_bytes,omitempty"`
	StartMS       float64           `json:"start_ms"`
}

func testRowOf(id string, t call.Tried) *testRow {
	c := t.Catalog
	row := &testRow{
		Server: id, Protocol: c.Protocol, Era: c.Era, Tools: []string{}, Refused: c.Refused, Truncated: c.Truncated,
		Noise: c.Noise, InstructBytes: len(c.Instructions), StartMS: float64(t.Took.Microseconds()) / 1000,
	}
	var info struct{ Name, Version string }
	if json.Unmarshal(c.ServerInfo, &info) == nil {
		row.Name, row.Version = info.Name, info.Version
	}
	for _, tool := range c.Parsed() {
		row.Tools = append(row.Tools, tool.Name)
		row.Bytes += len(tool.Raw)
		if tool.Repaired {
			row.Repaired = append(row.Repaired, tool.Name)
		}
	}
	return row
}

// write is one row for a program, and a row for each fact for a person.
func (r *testRow) write(list *cmdmain.List) error {
	if !list.Table() {
		return list.Row(r)
	}
	facts := [][2]string{
		{"server", strings.TrimSpace(r.Name + " " + r.Version)},
		{"revision", r.Protocol + ", " + r.Era},
		{"tools", fmt.Sprintf("%d, %d bytes: %s", len(r.Tools), r.Bytes, strings.Join(r.Tools, " "))},
		{"repaired", strings.Join(r.Repaired, " ")},
	}
	for _, no := range r.Refused {
		facts = append(facts, [2]string{"refused", no.Name + ": " + no.Why})
	}
	if r.Truncated {
		facts = append(facts, [2]string{"truncated", "its lists go on"})
	}
	if r.Noise > 0 {
		facts = append(facts, [2]string{"noise", fmt.Sprintf("%d lines on its stdout that are no JSON-RPC", r.Noise)})
	}
	took := time.Duration(r.StartMS * float64(time.Millisecond)).Round(time.Millisecond)
	facts = append(facts, [2]string{"time", took.String()})
	facts = slices.DeleteFunc(facts, func(f [2]string) bool { return f[1] == "" })
	for _, f := range facts {
		if err := list.Row(nil, f[0], cmdmain.Cut(cmdmain.Printable(f[1]), changesWidth)); err != nil {
			return err
		}
	}
	return nil
}
