package cmdmain

import (
	"context"
	"errors"
	"os"

	"postern/pkg/call"
	"postern/pkg/config"
	"postern/pkg/hub"
	"postern/pkg/state"
)

// ReloadHub has the hubs that are up look at what was just changed, so that what may
// not run any more ends now and not at the next look. It is waited for no longer
// than config.HubReach, and what comes of it is not this command's failure.
func (e *Env) ReloadHub(dirs state.Dirs) {
	ctx, cancel := context.WithTimeoutCause(e.Ctx, config.HubReach, &hub.LostError{Err: os.ErrDeadlineExceeded})
	defer cancel()
	conns, err := hub.DialAll(ctx, dirs)
	for _, conn := range conns {
		if _, failed := hub.Control(ctx, conn, call.VerbReload, ""); failed != nil {
			err = failed
		}
	}
	var nobody *hub.NoHubError
	if err != nil && !errors.As(err, &nobody) && e.Ctx.Err() == nil {
		e.Sayf("a hub that is up may notice the change later: %v", err)
	}
}
