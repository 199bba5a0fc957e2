package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"postern/pkg/cmdmain"
	"postern/pkg/config"
	"postern/pkg/state"
	"postern/pkg/trust"
)

func allow(env *cmdmain.Env, c *cli.Context) error {
	args, err := cmdmain.Exactly(c, "SERVER")
	if err != nil {
		return err
	}
	class := config.Class(c.String("class"))
	if class != config.ClassRead && class != config.ClassExecute && class != config.ClassUnknown {
		return cmdmain.Usagef("--class wants read, execute or unknown, not %q", class)
	}
	p, err := open(env, c)
	if err != nil {
		return err
	}
	if err := env.Person(p.dirs, "allow", args[0]); err != nil {
		return err
	}
	end, err := ends(c, time.Now())
	if err != nil {
		return err
	}
	srv, err := p.server(args[0])
	if err != nil {
		return err
	}
	if p.unread != nil {
		return p.unread
	}
	if err := bound(env, c, srv); err != nil {
		return err
	}
	d := p.describe(env, srv)
	if err := d.Cover(c.StringSlice("tree")); err != nil {
		return &cmdmain.Error{Err: err, Exit: cmdmain.Usage}
	}
	if err := describe(env.Stdout, &d); err != nil {
		return err
	}
	rec, err := d.Approval(class, c.StringSlice("env"), c.String("note"))
	if err != nil {
		return failure(err)
	}
	rec.Expires = end
	if err := pinned(c, srv); err != nil {
		return err
	}
	if err := ask(env, srv.ID, class); err != nil {
		return err
	}
	if err := trust.Allow(env.Ctx, p.dirs, rec); err != nil {
		return err
	}
	until := ""
	if end != nil {
		until = " until " + end.Local().Format(time.DateTime)
	}
	env.Sayf("allowed %s in %s%s", srv.ID, srv.Project, until)
	if err := starter(env, p.dirs); err != nil || c.Bool("no-refresh") {
		return err
	}
	return refresh(env, p, srv)
}

// ends is when --for says the approval is over; nil without it.
func ends(c *cli.Context, now time.Time) (*time.Time, error) {
	if !c.IsSet("for") {
		return nil, nil
	}
	d := c.Duration("for")
	if d < config.MinApproval || d > config.MaxApproval {
		return nil, cmdmain.Usagef("--for is between %s and %s, not %s", config.MinApproval, config.MaxApproval, d)
	}
	end := now.Add(d).UTC().Truncate(time.Second)
	return &end, nil
}

// bound holds the declaration against --digest, which stands in for the
// question where there is nobody to ask.
func bound(env *cmdmain.Env, c *cli.Context, srv *config.Server) error {
	want := c.String("digest")
	look := "mcp-trust status " + srv.ID
	switch {
	case want == "" && !env.IsTerminal(env.Stdin):
		return &cmdmain.Error{Err: errors.New("without a terminal, --digest must say which declaration is allowed"),
			Exit: cmdmain.Usage, Hints: []string{look}}
	case want != "" && want != srv.Digest:
		return &cmdmain.Error{Err: fmt.Errorf("server %s has the digest %s, not %s", srv.ID, srv.Digest, want),
			Word: string(trust.Stale), Exit: cmdmain.NotTrusted, Hints: []string{look}}
	}
	return nil
}

// pinned refuses a package runner that may fetch another version next time.
func pinned(c *cli.Context, srv *config.Server) error {
	form, unpinned := trust.Unpinned(srv)
	if !unpinned || c.Bool("unpinned") {
		return nil
	}
	return &cmdmain.Error{
		Err:  fmt.Errorf("server %s runs whatever version its package has by then", srv.ID),
		Word: "unpinned", Exit: cmdmain.Denied,
		Hints: []string{"write the version into " + srv.At() + ": " + form, "mcp-trust allow " + srv.ID + " --unpinned"},
	}
}

// ask wants a y from a person at a terminal. Without one, --digest has been
// checked and is the answer.
func ask(env *cmdmain.Env, id string, class config.Class) error {
	if !env.IsTerminal(env.Stdin) {
		return nil
	}
	if _, err := fmt.Fprintf(env.Stderr, "allow %s as class %s? [y/N] ", cmdmain.Printable(id), class); err != nil {
		return err
	}
	const longest = 64 // bytes of an answer
	answer, err := bufio.NewReader(io.LimitReader(env.Stdin, longest)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return &cmdmain.Error{Err: fmt.Errorf("nothing was decided about %s", id), Exit: cmdmain.Failed}
}

// starter writes a first mcp.yaml where there is none (C14), so that what the
// allowed server's tools may do stands where its owner can read it.
func starter(env *cmdmain.Env, dirs state.Dirs) error {
	path := filepath.Join(dirs.Config, "mcp.yaml")
	wrote := false
	err := state.Update(env.Ctx, path, state.Check{Max: config.MaxFileBytes, Private: true}, func(old []byte) ([]byte, error) {
		if old != nil {
			return old, nil
		}
		wrote = true
		return config.StarterFile(), nil
	})
	if err == nil && wrote {
		env.Sayf("wrote %s, which says what agents may call", path)
	}
	return err
}
