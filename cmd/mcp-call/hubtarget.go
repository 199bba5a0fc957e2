package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"postern/pkg/call"
	"postern/pkg/calllog"
	"postern/pkg/catalog"
	"postern/pkg/cmdmain"
	"postern/pkg/config"
)

// described has the hub say what the tool takes, where a value has to be typed. The
// error is errHere when the hub lists no such tool for this caller: it may be one
// that is not permitted, or its server was never listed.
func (r *remote) described(ctx context.Context, t target) error {
	if !slices.ContainsFunc(t.words, isTyped) {
		return nil
	}
	for params := []byte("{}"); ; {
		m, err := r.session.Do(ctx, calllog.NewID(time.Now()), "tools/list", params, func([]byte) {})
		if ctx.Err() != nil {
			return r.m.ended(ctx, "before server "+t.server+" answered")
		}
		if err != nil {
			return errHere
		}
		list := gjson.ParseBytes(m.ResultBytes())
		for _, tool := range member(list, "tools").Array() {
			if member(tool, "name").String() == t.tool {
				r.tool = &call.Tool{Def: &catalog.Tool{Name: t.tool, InputSchema: []byte(member(tool, "inputSchema").Raw)}}
				return nil
			}
		}
		next := member(list, "nextCursor")
		if next.Type != gjson.String {
			return errHere
		}
		params = append(append([]byte(`{"cursor":`), next.Raw...), '}')
	}
}

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

// declared is the server with this id, nil when there is none.
func (r *remote) declared(id string) *config.Server {
	if r.cfg == nil {
		r.cfg = config.Load(config.LoadOptions{Dirs: r.dirs, Project: r.project})
	}
	return r.cfg.Server(id)
}

// view is what this command would see without a hub; nil when it cannot be had. It
// is for words about a request that a hub has made, and starts nothing.
func (r *remote) view() *call.View {
	host, err := r.m.env.Host(r.dirs, config.Log{})
	if err != nil {
		return nil
	}
	defer host.Close()
	s, err := host.Open(call.SessionOptions{Project: r.project, Policy: r.m.c.String("policy"), Via: "mcp-call"})
	if err != nil {
		return nil
	}
	defer s.Close()
	return s.View()
}

// whose is the server that a request is for, with nothing but an id where it is not
// declared, and the server's own name for what it is about.
func (r *remote) whose(t target) (s *config.Server, name string) {
	s, name = r.declared(t.server), t.tool
	if t.method != "" {
		if name = t.name; s == nil {
			if v := r.view(); v != nil {
				s, name = v.Whose(t.method, t.name)
			}
		}
	}
	if s == nil {
		s = &config.Server{ID: t.server}
	}
	return s, name
}

// serverOf names the server of a request in messages.
func (r *remote) serverOf(t target) string {
	if t.server != "" {
		return t.server
	}
	if s, _ := r.whose(t); s.ID != "" {
		return s.ID
	}
	return "of " + t.String()
}

// find is what the arguments name: a server that is declared and enabled.
func (r *remote) find(args []string) (target, error) {
	_ = r.declared("") // reads the files
	if r.cfg.Refused {
		return target{}, errHere
	}
	t, err := address(r, args)
	if err != nil {
		return t, err
	}
	if r.srv = r.declared(t.server); r.srv == nil || !r.srv.Enabled {
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
	begin := time.Now()
	recorded, err := r.listed(ctx)
	if err != nil {
		var e *cmdmain.Error
		if errors.As(err, &e) { // no call follows that could have a row
			r.log(t, calllog.NewID(begin), begin, 0, call.Word(e.Word))
		}
		return t, err
	}
	def := recorded.Tool(t.tool)
	if def == nil {
		return t, errHere // nobody has it, and this command knows which there are
	}
	r.tool = &call.Tool{Def: def}
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
	session, err := r.open(ctx, r.srv.ID, config.MaxListWait)
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
	f, failed := r.catalogs.LastFailure(id)
	switch {
	case err != nil || !failed:
		return nil, errHere // it may not start, or the cache cannot be written
	case f.At.Before(begin):
		return r.again(ctx, id)
	}
	e := unlisted(r.srv, f, time.Since(begin))
	e.Hints = r.tail(r.srv.ID)
	return nil, e
}

// again has the hub start a server that failed a while ago: that it is remembered
// spares lists a wait, but whoever calls may have mended what was wrong.
func (r *remote) again(ctx context.Context, id catalog.Identity) (*catalog.Catalog, error) {
	v := r.view()
	if v == nil {
		return nil, errHere
	}
	if s := v.Server(r.srv.ID); s == nil || !s.Usable() || !v.Serves(s) {
		return nil, errHere // nor is it started here
	}
	refusal := cmdmain.AskHub(ctx, r.dirs, r.srv.ID)
	if ctx.Err() != nil {
		return nil, r.m.ended(ctx, "before server "+r.srv.ID+" answered")
	}
	if refusal != nil {
		return nil, r.refused(target{server: r.srv.ID}, refusal)
	}
	if c, _ := r.catalogs.Read(id); c != nil {
		return c, nil
	}
	return nil, errHere
}

// unlisted is the error of a server that gave no list.
func unlisted(s *config.Server, f catalog.Failure, took time.Duration) *cmdmain.Error {
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
