package cmdmain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"postern/pkg/call"
	"postern/pkg/calllog"
	"postern/pkg/catalog"
	"postern/pkg/config"
	"postern/pkg/hub"
	"postern/pkg/pool"
	"postern/pkg/secret"
	"postern/pkg/state"
)

// HubLister is a hub that is up, which lists servers in a command's place (K7): what
// runs there is asked, and what is started stays with it. It is for one goroutine.
type HubLister struct {
	dirs    state.Dirs
	session *hub.Caller // as long as it is open, the hub knows the servers of the project
}

// HubLister is nil when no hub is up or it takes no session. The caller closes it.
func (e *Env) HubLister(ctx context.Context, dirs state.Dirs, project string) *HubLister {
	if e.Depth() > 0 {
		return nil
	}
	dir, _ := os.Getwd() // "" = none
	hello := hub.Hello{
		Kind: hub.KindCall, Via: e.Name, Version: Version(), Dir: dir, Project: project,
		NoProject: project == "", ClientPID: os.Getpid(), Locale: secret.WithLocale(nil, e.Environ),
	}
	if !hello.IsText() {
		return nil
	}
	conn, err := hub.DialAny(ctx, dirs)
	if err != nil {
		return nil // whoever makes calls is told what is wrong with the place
	}
	session, err := hub.OpenCaller(ctx, conn, hello, e.LookupEnv, nil)
	if err == nil {
		// The answer says that the hub knows the session, and its project's servers.
		limited, cancel := context.WithTimeoutCause(ctx, config.HubLineWait, &hub.LostError{Err: os.ErrDeadlineExceeded})
		defer cancel()
		if _, err = session.Do(limited, calllog.NewID(time.Now()), "ping", nil, func([]byte) {}); err == nil {
			return &HubLister{dirs, session}
		}
		session.Close()
	}
	if !hub.Serves(err) {
		e.Sayf("no hub is used: %v", err)
	}
	return nil
}

// Close ends the session; nil has none. What the hub started goes on as it would
// without it.
func (h *HubLister) Close() {
	if h != nil {
		h.session.Close()
	}
}

// Refresh is call.Session.Refresh by the hub. What may not start is left to
// session, which starts nothing of it.
func (h *HubLister) Refresh(ctx context.Context, session *call.Session, v *call.View, servers []*call.Server, l call.RefreshLimits, done func(call.Refreshed)) {
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
func (h *HubLister) list(ctx context.Context, s *call.Server, limit time.Duration) call.Refreshed {
	id := catalog.IdentityOf(s.Declared)
	store := catalog.NewStore(filepath.Join(h.dirs.Cache, "catalogs"), nil)
	old, _ := store.Read(id)
	out := call.Refreshed{Server: s}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, &call.Refusal{
		Word: call.Timeout, Server: s.Declared.ID, Message: fmt.Sprintf("server %s did not start and list its tools within %s", s.Declared.ID, limit),
	})
	defer cancel()
	if out.Err = AskHub(ctx, h.dirs, s.Declared.ID); out.Err != nil {
		if w := out.Err.Word; w != call.Spawn && (w != call.Unavailable || out.Err.Remedy == "") { // else it was not started
			out.Stderr = pool.NewestStderr(filepath.Join(h.dirs.State, "stderr"), s.Declared.ID)
		}
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

// AskHub has the hub of dirs list one server again, whatever is remembered of it, and
// record what it says. A session of whoever asks is open, so that the hub knows it.
func AskHub(ctx context.Context, dirs state.Dirs, id string) *call.Refusal {
	conn, err := hub.DialAny(ctx, dirs)
	if err == nil {
		_, err = hub.Control(ctx, conn, call.VerbRefresh, id)
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
