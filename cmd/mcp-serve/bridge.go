package main

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"postern/pkg/calllog"
	"postern/pkg/cmdmain"
	"postern/pkg/config"
	"postern/pkg/hub"
	"postern/pkg/secret"
	"postern/pkg/state"
)

// relay serves the session through the hub. served is false when it is to be
// served by this process, of which nothing was read yet then. It is decided before
// there is a keeper, because a bridge has none: it starts no server.
func relay(env *cmdmain.Env, c *cli.Context, wait time.Duration) (served bool, err error) {
	dirs, err := env.Dirs(c)
	if err != nil {
		return true, err
	}
	project, err := env.Project(c)
	if err != nil {
		return true, err
	}
	if !config.Declared(dirs, project) {
		return false, nil // R76
	}
	place, err := hub.PlaceOf(dirs, cmdmain.Build())
	if err == nil {
		err = place.Outside(project)
	}
	if err != nil {
		return told(env, &hub.UnreachedError{Err: err})
	}
	hi := hello(env, c, project, wait)
	if !hi.IsText() {
		return told(env, &hub.UnreachedError{Err: errNoText})
	}
	started, err := bridge(env, place, hi)
	if served, err := told(env, err); served || !started {
		return served, err
	}
	// A keeper ends what is below it, and the hub that was started is below this
	// process: it may be late, and serve others by then.
	return true, alone(env.Ctx, env, env.Stdin, env.Stdout)
}

// errNoText says that there are no words for a hub.
var errNoText = errors.New("the path of this directory or of its project is no UTF-8 text")

// told is how the session ended, unless it did not begin: that is said once, and
// it is served otherwise.
func told(env *cmdmain.Env, err error) (served bool, _ error) {
	var unreached *hub.UnreachedError
	var nobody *hub.NoHubError
	switch {
	case errors.As(err, &nobody) && hub.Confined():
		env.Sayf("this process is confined, so it starts no hub, and none is up: the session is served by this process")
	case errors.Is(err, errors.ErrUnsupported): // no system for hubs
	case errors.As(err, &unreached):
		env.Sayf("%v; the session is served by this process", err)
	default:
		return true, cmdmain.Failure(err)
	}
	return false, nil
}

// hello is what the hub is told of the session.
func hello(env *cmdmain.Env, c *cli.Context, project string, wait time.Duration) hub.Hello {
	dir, _ := os.Getwd() // "" where it was removed: servers of this session run where shared ones do
	return hub.Hello{
		Kind: hub.KindBridge, Version: cmdmain.Version(), Dir: dir, Project: project, NoProject: project == "",
		Policy: c.String("policy"), Only: c.String("only"), Exposure: c.String("exposure"),
		ListWaitMS: wait.Milliseconds(), ClientPID: env.ParentPID(), Locale: secret.WithLocale(nil, env.Environ),
	}
}

// bridgeGCPercent keeps the heap of a bridge at 1 MiB and not 4: there is one for
// each agent, nearly nothing in it lives, and collecting that is quick.
const bridgeGCPercent = 25

// bridgeStart is how long a bridge does without: to set it collects at once, which
// the agent's first answer would wait for.
const bridgeStart = time.Second

// bridge runs one, and tells whether it has started a hub.
func bridge(env *cmdmain.Env, place hub.Place, hello hub.Hello) (started bool, _ error) {
	defer time.AfterFunc(bridgeStart, func() { debug.SetGCPercent(bridgeGCPercent) }).Stop()
	var since time.Time // when there was a hub last
	err := hub.Bridge(env.Ctx, env.Stdin, env.Stdout, hub.BridgeOptions{
		Hello:  hello,
		Lookup: env.LookupEnv,
		Reach: func(ctx context.Context) (net.Conn, error) {
			if !since.IsZero() && place.StoppedSince(since) {
				return nil, hub.ErrStopped
			}
			conn, err := reach(ctx, env, place, &started)
			if err == nil {
				since = time.Now()
				hub.NoCoreDumps()
			}
			return conn, err
		},
		Alone:     func(ctx context.Context, r io.Reader, w io.Writer) error { return alone(ctx, env, r, w) },
		Lost:      func(rows []calllog.Row) { logLost(env, place.Dirs, hello.Project, rows) },
		Say:       func(text string) { env.Sayf("%s", text) },
		ParentPID: env.ParentPID(),
	})
	return started, err
}

// reach connects to the hub, and starts it where there is none, which it notes in
// started. Who is confined starts none: all agents would be confined with it.
func reach(ctx context.Context, env *cmdmain.Env, place hub.Place, started *bool) (net.Conn, error) {
	if hub.Confined() {
		return place.Dial(ctx)
	}
	return place.Reach(ctx, func() error {
		err := hub.Spawn(hub.Executable(), []string{os.Args[0], "hub"}, hub.Environment(env.Environ, place.Dirs))
		*started = *started || err == nil
		return err
	})
}

// alone serves the rest of a session without a hub, in a process of its own: the
// same command with --no-hub. This process cannot do it: it has no keeper, and what
// it was sent so far is in its memory, so that it cannot be executed anew below
// one. So nothing of a server is ever in a bridge.
func alone(ctx context.Context, env *cmdmain.Env, r io.Reader, w io.Writer) error {
	c := exec.CommandContext(ctx, hub.Executable(), append([]string{"--no-hub"}, env.Args...)...)
	c.Args[0], c.Env = os.Args[0], env.Environ
	c.Stdin, c.Stdout, c.Stderr = r, w, env.Stderr
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = config.AloneEnd
	err := c.Run()
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil
	case errors.As(err, &ended):
		return &cmdmain.Error{Exit: cmdmain.Failed} // it has said why
	}
	return err
}

// logLost writes the rows of calls whose hub did not live to write them. Rows are
// kept: a bridge reads no configuration that would say for how long.
func logLost(env *cmdmain.Env, dirs state.Dirs, project string, rows []calllog.Row) {
	w, err := calllog.Open(filepath.Join(dirs.State, "calls"), calllog.Options{MaxFile: config.DefaultLogFile})
	if err != nil {
		env.Sayf("lost calls are not logged: %v", err)
		return
	}
	for _, r := range rows {
		r.Project, r.Tool = project, env.Clean(r.Tool)
		w.Append(r)
	}
	if err := w.Close(config.LogFlush); err != nil {
		env.Sayf("lost calls are not logged: %v", err)
	}
}
