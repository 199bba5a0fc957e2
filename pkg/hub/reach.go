package hub

import (
	"context"
	"errors"
	"net"
	"time"

	"postern/pkg/config"
	"postern/pkg/state"
)

// Reach connects to the hub of this place. When none answers spawn is called: by
// one of all that look for the same hub at the same time, and only while nobody
// holds the hub's lock; once, and once more each HubReachAgain that what it started
// is not there, for it may have been killed. The hub is looked for until HubReach
// is over or ctx ends. The error is Dial's last one, or spawn's.
func (p Place) Reach(ctx context.Context, spawn func() error) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, config.HubReach)
	defer cancel()
	var starter func() error // gives back the right to start the hub
	defer func() {
		if starter != nil {
			_ = starter()
		}
	}()
	var nobody *NoHubError
	var again time.Time
	for wait := config.HubReachFirst; ; wait = min(wait+wait/4, config.HubReachMost) {
		conn, err := p.Dial(ctx)
		if err == nil || !errors.As(err, &nobody) {
			return conn, err
		}
		var failed error
		switch now := time.Now(); {
		case starter == nil:
			starter, failed = p.start(spawn)
			again = now.Add(config.HubReachAgain)
		case now.After(again):
			_, failed = p.spawn(spawn)
			again = now.Add(config.HubReachAgain)
		}
		if failed != nil {
			return nil, failed
		}
		if !pause(ctx, wait) {
			return nil, nobody
		}
	}
}

// start calls spawn unless somebody else is about to start a hub, or one is there.
// Whoever called it keeps the right to until the hub answers: that many agents
// begin at the same time is the usual case.
func (p Place) start(spawn func() error) (release func() error, err error) {
	release, err = try(p.startFile())
	if release == nil || err != nil {
		return nil, err
	}
	if spawned, err := p.spawn(spawn); !spawned || err != nil {
		return nil, errors.Join(err, release())
	}
	return release, nil
}

// spawn calls spawn unless somebody holds the hub's lock.
func (p Place) spawn(spawn func() error) (spawned bool, err error) {
	free, err := try(p.lockFile())
	if free == nil || err != nil {
		return false, err
	}
	return true, errors.Join(free(), spawn())
}

// try takes a lock if nobody has it; nil when somebody has.
func try(path string) (unlock func() error, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return lockWithin(ctx, path)
}

// lockWithin takes a lock until ctx ends; nil when it did not get it.
func lockWithin(ctx context.Context, path string) (unlock func() error, err error) {
	unlock, err = state.Lock(ctx, path)
	var held *state.LockedError
	if errors.As(err, &held) || err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return nil, nil // any other error stays one: nobody gets a lock there
	}
	return unlock, err
}

// Free reports whether nobody is the hub of this place, looking for HubLockWait.
// It is the cheap question of whoever might become it.
func (p Place) Free(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, config.HubLockWait)
	defer cancel()
	unlock, err := lockWithin(ctx, p.lockFile())
	return err != nil || unlock != nil && unlock() == nil // an error is told by who wants the lock
}
