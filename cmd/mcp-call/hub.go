package main

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"time"

	"postern/pkg/call"
	"postern/pkg/catalog"
	"postern/pkg/cmdmain"
	"postern/pkg/config"
	"postern/pkg/hub"
	"postern/pkg/secret"
	"postern/pkg/state"
)

// remote is this command where a hub is up, which makes the call in its place
// (K7): it reads what the arguments need and starts nothing.
type remote struct {
	m        *caller
	dirs     state.Dirs
	project  string
	cfg      *config.Config // nil until it was read
	catalogs *catalog.Store
	session  *hub.Caller // of the one server that is called

	srv  *config.Server
	tool *call.Tool // as it was recorded
}

// throughHub makes the call through a hub. done is false when this command has to
// do the work itself: no hub is up, or what there is to say is known here. Nothing
// was sent to the server then.
func (m *caller) throughHub(args []string) (done bool, err error) {
	r := m.remotely()
	if r == nil {
		return false, nil
	}
	ctx, cancel := m.context()
	defer cancel()
	conn := r.dial(ctx)
	if conn == nil {
		return false, nil
	}
	opening := r.open(ctx, conn, args[0], 0) // while the files are read
	t, err := r.target(ctx, args)
	session, refused := opening()
	if err == nil && t.server != args[0] { // SERVER__TOOL
		if session != nil {
			session.Close()
		}
		if conn = r.dial(ctx); conn == nil {
			return false, nil
		}
		session, refused = r.open(ctx, conn, t.server, 0)()
	}
	if session != nil {
		defer session.Close()
	}
	if err == nil {
		err = refused
	}
	if err == nil {
		m.remote, r.session = r, session
		err = r.call(ctx, t)
	}
	if errors.Is(err, errHere) {
		m.remote = nil
		return false, nil
	}
	return true, err
}

// errHere says that the work is this command's own.
var errHere = errors.New("not through a hub")

// remotely is nil when no hub is to be looked for.
func (m *caller) remotely() *remote {
	if m.c.Bool("no-hub") || m.env.Kept() || m.env.Depth() > 0 {
		return nil
	}
	dirs, err := m.env.Dirs(m.c)
	if err != nil {
		return nil // told where the work is done
	}
	project, err := m.env.Project(m.c)
	if err != nil {
		return nil // likewise
	}
	return &remote{m: m, dirs: dirs, project: project, catalogs: catalog.NewStore(filepath.Join(dirs.Cache, "catalogs"), nil)}
}

// dial is nil when no hub answers. A place that is not to be believed is said.
func (r *remote) dial(ctx context.Context) net.Conn {
	conn, err := hub.DialAny(ctx, r.dirs)
	var nobody *hub.NoHubError
	if err != nil && !errors.As(err, &nobody) && ctx.Err() == nil {
		r.m.env.Sayf("no hub is used: %v", err)
	}
	if err != nil {
		return nil
	}
	return conn
}

// open begins a session of one server on conn, whose list waits so long for it, and
// gives it, or why there is none. The result must be called. Whatever a hub
// refuses before anything was asked for is this command's own to say.
func (r *remote) open(ctx context.Context, conn net.Conn, server string, wait time.Duration) func() (*hub.Caller, error) {
	type opened struct {
		session *hub.Caller
		err     error
	}
	done := make(chan opened, 1)
	go func() { // ends with the hub's answer, or with ctx
		dir, _ := os.Getwd() // "" = none
		session, err := hub.OpenCaller(ctx, conn, hub.Hello{
			Kind: hub.KindCall, Via: "mcp-call", Version: cmdmain.Version(), Dir: dir,
			Project: r.project, NoProject: r.project == "", Policy: r.m.c.String("policy"), Only: server,
			ListWaitMS: wait.Milliseconds(), ClientPID: os.Getpid(), Locale: secret.WithLocale(nil, r.m.env.Environ),
		}, r.m.env.LookupEnv, nil)
		done <- opened{session, err}
	}()
	return func() (*hub.Caller, error) {
		o := <-done
		switch {
		case o.err == nil:
			return o.session, nil
		case ctx.Err() != nil:
			return nil, r.m.ended(ctx, "before the hub answered")
		}
		return nil, errHere
	}
}
