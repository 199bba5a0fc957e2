package main

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
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
// (K7). It starts nothing, and reads files only where the hub does not say what it
// needs: a call takes little longer than its way there and back.
type remote struct {
	m       *caller
	dirs    state.Dirs
	project string
	session *hub.Caller // of the one server that is called; of all for a prompt or resource
	tool    *call.Tool  // where a value has to be typed
	away    bool        // no hub answered: none is asked again

	cfg      *config.Config // nil until it was read
	catalogs *catalog.Store
	srv      *config.Server // nil until it was looked up
}

// throughHub makes the request through a hub. done is false when this command has
// to do the work itself: no hub is up, or what there is to say is known here. Nothing
// was sent to the server then.
func (m *caller) throughHub(args []string) (done bool, err error) {
	item := m.c.IsSet("resource") || m.c.IsSet("prompt")
	if !item && len(args) == 1 && !strings.Contains(args[0], "__") {
		return m.listedByHub(args)
	}
	r := m.remotely()
	if r == nil {
		return false, nil
	}
	ctx, cancel := m.context()
	defer cancel()
	if item {
		err = r.read(ctx, args)
	} else {
		err = r.callTool(ctx, args)
	}
	if r.session != nil {
		r.session.Close()
	}
	if errors.Is(err, errHere) {
		m.remote = nil
		return false, nil
	}
	return true, err
}

// read reads the resource or gets the prompt, in a session in which it has the name
// that agents know it by.
func (r *remote) read(ctx context.Context, args []string) (err error) {
	if r.session, err = r.open(ctx, "", 0); err != nil {
		return err
	}
	r.m.remote = r
	return r.m.read(ctx, args)
}

// callTool calls the tool that the arguments name.
func (r *remote) callTool(ctx context.Context, args []string) error {
	t, err := r.begin(ctx, args)
	if err != nil {
		return err
	}
	r.m.remote = r
	return r.call(ctx, t)
}

// begin opens a session of the server that the arguments name. Most of the time the
// first of them is its id, and the session says what the tool takes; only otherwise
// files are read.
func (r *remote) begin(ctx context.Context, args []string) (t target, err error) {
	if r.session, err = r.open(ctx, args[0], 0); err == nil && len(args) > 1 && args[1] != "" {
		t = target{server: args[0], tool: args[1], words: args[2:]}
		if err := r.described(ctx, t); err == nil || ctx.Err() != nil {
			return t, err
		}
	}
	if t, err = r.target(ctx, args); err != nil {
		return t, err
	}
	if r.session != nil && t.server == args[0] {
		return t, nil
	}
	if r.session != nil { // of a server that is named like the tool of another
		r.session.Close()
	}
	r.session, err = r.open(ctx, t.server, 0)
	return t, err
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
	m.userFile = filepath.Join(dirs.Config, "mcp.yaml")
	return &remote{m: m, dirs: dirs, project: project, catalogs: catalog.NewStore(filepath.Join(dirs.Cache, "catalogs"), nil)}
}

// dial is nil when no hub answers. A place that is not to be believed is said.
func (r *remote) dial(ctx context.Context) net.Conn {
	if r.away {
		return nil
	}
	conn, err := hub.DialAny(ctx, r.dirs)
	var nobody *hub.NoHubError
	if err != nil && !errors.As(err, &nobody) && ctx.Err() == nil {
		r.m.env.Sayf("no hub is used: %v", err)
	}
	if r.away = err != nil; r.away {
		return nil
	}
	return conn
}

// open opens a session of one server, "" for all, whose list waits so long for it.
// Whatever a hub refuses before anything was asked for is this command's own to say.
func (r *remote) open(ctx context.Context, server string, wait time.Duration) (*hub.Caller, error) {
	dir, _ := os.Getwd() // "" = none
	hello := hub.Hello{
		Kind: hub.KindCall, Via: "mcp-call", Version: cmdmain.Version(), Dir: dir,
		Project: r.project, NoProject: r.project == "", Policy: r.m.c.String("policy"), Only: server,
		ListWaitMS: wait.Milliseconds(), ClientPID: os.Getpid(), Locale: secret.WithLocale(nil, r.m.env.Environ),
	}
	if !hello.IsText() {
		return nil, errHere
	}
	conn := r.dial(ctx)
	if conn == nil {
		return nil, errHere
	}
	session, err := hub.OpenCaller(ctx, conn, hello, r.m.env.LookupEnv, r.m.agent)
	switch {
	case err == nil:
		return session, nil
	case ctx.Err() != nil:
		return nil, r.m.ended(ctx, "before the hub answered")
	}
	if r.away = !hub.Serves(err); r.away {
		r.m.env.Sayf("no hub is used: %v", err)
	}
	return nil, errHere
}
