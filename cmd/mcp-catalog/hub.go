package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"postern/pkg/call"
	"postern/pkg/calllog"
	"postern/pkg/catalog"
	"postern/pkg/cmdmain"
	"postern/pkg/config"
	"postern/pkg/hub"
	"postern/pkg/secret"
)

// hubbed is a hub that is up, which lists servers in this command's place (K7):
// what runs there is asked, and what is started stays with it.
type hubbed struct {
	p       *place
	session *hub.Caller // as long as it is open, the hub knows the servers of the project
}

// hub is nil when none is up or it takes no session. The caller closes it.
func (p *place) hub(ctx context.Context) *hubbed {
	if p.env.Depth() > 0 {
		return nil
	}
	dir, _ := os.Getwd() // "" = none
	hello := hub.Hello{
		Kind: hub.KindCall, Via: "mcp-catalog", Version: cmdmain.Version(), Dir: dir, Project: p.project,
		NoProject: p.project == "", ClientPID: os.Getpid(), Locale: secret.WithLocale(nil, p.env.Environ),
	}
	if !hello.IsText() {
		return nil
	}
	conn, err := hub.DialAny(ctx, p.dirs)
	if err != nil {
		return nil // whoever makes calls is told what is wrong with the place
	}
	session, err := hub.OpenCaller(ctx, conn, hello, p.env.LookupEnv, nil)
	if err == nil {
		// The answer says that the hub knows the session, and its project's servers.
		limited, cancel := context.WithTimeoutCause(ctx, config.HubLineWait, &hub.LostError{Err: os.ErrDeadlineExceeded})
		defer cancel()
		if _, err = session.Do(limited, calllog.NewID(time.Now()), "ping", nil, func([]byte) {}); err == nil {
			return &hubbed{p, session}
		}
		session.Close()
	}
	if lost, ok := errors.AsType[*hub.LostError](err); ok {
		p.env.Sayf("no hub is used: %v", lost)
	}
	return nil
}

func (h *hubbed) close() {
	if h != nil {
		h.session.Close()
	}
}

// refresh is call.Session.Refresh by the hub. What may not start is left to
// session, which starts nothing of it.
func (h *hubbed) refresh(ctx context.Context, session *call.Session, v *call.View, servers []*call.Server, l call.RefreshLimits, done func(call.Refreshed)) {
	var refused []*call.Server
	results := make(chan call.Refreshed)
	go func() { // ends with the last server, each bounded by l.Timeout
		defer close(results)
		var jobs errgroup.Group
		jobs.SetLimit(l.Jobs)
		for _, s := range servers {
			if !s.Usable() {
				refused = append(refused, s)
				continue
			}
			jobs.Go(func() error { // ends with its server
				results <- h.list(ctx, s, l.Timeout)
				return nil
			})
		}
		_ = jobs.Wait() // no job returns an error: they are in the results
	}()
	for r := range results {
		done(r)
	}
	session.Refresh(ctx, v, refused, l, done)
}

// list has one server listed again and recorded.
func (h *hubbed) list(ctx context.Context, s *call.Server, limit time.Duration) call.Refreshed {
	id := catalog.IdentityOf(s.Declared)
	store := catalog.NewStore(h.p.catalogs(), nil)
	old, _ := store.Read(id)
	out := call.Refreshed{Server: s}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, &call.Refusal{
		Word: call.Timeout, Server: s.Declared.ID, Message: fmt.Sprintf("server %s did not start and list its tools within %s", s.Declared.ID, limit),
	})
	defer cancel()
	if out.Err = h.ask(ctx, s.Declared.ID); out.Err != nil {
		out.Stderr = h.p.stderrLog(s.Declared.ID)
		return out
	}
	fresh, _ := store.Read(id)
	if fresh == nil {
		out.Err = &call.Refusal{Word: call.Unavailable, Server: s.Declared.ID,
			Message: fmt.Sprintf("the hub listed server %s, and nothing is recorded", s.Declared.ID)}
		return out
	}
	out.Catalog, out.Change = fresh, catalog.Compare(old, fresh)
	return out
}

func (h *hubbed) ask(ctx context.Context, id string) *call.Refusal {
	conn, err := hub.DialAny(ctx, h.p.dirs)
	if err == nil {
		_, err = hub.Control(ctx, conn, hub.VerbRefresh, id)
	}
	var over *call.Refusal
	var refused *hub.RemoteError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &over):
		return over
	case errors.As(err, &refused):
		return &call.Refusal{Word: call.Word(refused.Word), Server: id, Message: refused.Message, Remedy: refused.Remedy}
	case ctx.Err() != nil:
		return &call.Refusal{Word: call.Cancelled, Server: id, Message: fmt.Sprintf("server %s was not waited for: interrupted", id)}
	}
	return &call.Refusal{Word: call.HubLost, Server: id, Message: fmt.Sprintf("server %s: %v", id, err)}
}
