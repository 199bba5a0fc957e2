package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"postern/pkg/call"
	"postern/pkg/calllog"
	"postern/pkg/catalog"
	"postern/pkg/cmdmain"
	"postern/pkg/config"
)

// has reports whether a server is declared.
func (r *remote) has(id string) bool { return r.cfg.Server(id) != nil }

// exposed finds a tool by the name that agents see, among what is recorded.
func (r *remote) exposed(name string) (server, tool string) {
	for _, s := range r.cfg.Servers {
		c, _ := r.catalogs.Read(catalog.IdentityOf(s))
		if c == nil {
			continue
		}
		for _, t := range c.Parsed() {
			if catalog.Exposed(s.ID, t.Name, r.cfg.NamesMax) == name {
				return s.ID, t.Name
			}
		}
	}
	return "", ""
}

// find is what the arguments name: a server that is declared and enabled.
func (r *remote) find(args []string) (target, error) {
	r.cfg = config.Load(config.LoadOptions{Dirs: r.dirs, Project: r.project})
	if r.cfg.Refused {
		return target{}, errHere
	}
	t, err := address(r, args)
	if err != nil {
		return t, err
	}
	if r.srv = r.cfg.Server(t.server); r.srv == nil || !r.srv.Enabled {
		return t, errHere
	}
	return t, nil
}

// target is what the arguments name, and the tool as it was listed where a value has
// to be typed: by the hub now if it never was. What needs no schema is for the hub
// to find.
func (r *remote) target(ctx context.Context, args []string) (target, error) {
	t, err := r.find(args)
	switch {
	case err != nil:
		return t, err
	case t.tool == "":
		return t, errHere
	case !slices.ContainsFunc(t.words, isTyped):
		return t, nil
	}
	recorded, err := r.listed(ctx)
	if err != nil {
		return t, err
	}
	def := recorded.Tool(t.tool)
	if def == nil {
		return t, errHere // nobody has it, and this command knows which there are
	}
	r.tool = &call.Tool{Server: &call.Server{Declared: r.srv, Catalog: recorded}, Def: def}
	return t, nil
}

// isTyped tells a word whose value is typed by the schema.
func isTyped(word string) bool {
	key, _, _ := strings.Cut(word, "=")
	return !strings.HasSuffix(key, ":")
}

// listed is what is recorded of the server. One that was never listed is listed by
// the hub, once, if this caller may use it (R40).
func (r *remote) listed(ctx context.Context) (*catalog.Catalog, error) {
	id := catalog.IdentityOf(r.srv)
	if c, _ := r.catalogs.Read(id); c != nil {
		return c, nil
	}
	conn := r.dial(ctx)
	if conn == nil {
		return nil, errHere
	}
	session, err := r.open(ctx, conn, r.srv.ID, config.MaxListWait)()
	if err != nil {
		return nil, err
	}
	defer session.Close()
	begin := time.Now()
	_, err = session.Do(ctx, calllog.NewID(begin), "tools/list", []byte("{}"), func([]byte) {})
	if ctx.Err() != nil {
		return nil, r.m.ended(ctx, "before server "+r.srv.ID+" answered")
	}
	if c, _ := r.catalogs.Read(id); c != nil {
		return c, nil
	}
	if f, failed := r.catalogs.LastFailure(id); failed && err == nil {
		return nil, unlisted(r.srv, f, time.Since(begin))
	}
	return nil, errHere // it may not start, or the cache cannot be written
}

// unlisted is the error of a server that gave no list.
func unlisted(s *config.Server, f catalog.Failure, took time.Duration) error {
	e := &cmdmain.Error{Err: errors.New(f.Why), Word: string(call.Unavailable), Exit: cmdmain.Unavailable}
	if f.Slow {
		e.Err = fmt.Errorf("server %s did not start and list its tools within %s; the hub still waits for it", s.ID, config.MaxListWait)
	}
	if f.Slow || took >= s.StartTimeout { // what failed after that was the wait
		e.Word, e.Exit = string(call.Timeout), cmdmain.Timeout
	}
	return e
}

// listedByHub has a server that was never listed listed by a hub, where one is up,
// so that this command need not start it. done is true when that failed.
func (m *caller) listedByHub(args []string) (done bool, err error) {
	r := m.remotely()
	if r == nil {
		return false, nil
	}
	if _, err := r.find(args); err != nil {
		return false, nil
	}
	ctx, cancel := m.context()
	defer cancel()
	if _, err := r.listed(ctx); err != nil && !errors.Is(err, errHere) {
		return true, err
	}
	return false, nil
}
