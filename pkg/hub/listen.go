package hub

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"postern/pkg/config"
)

// post is where a hub stands: its socket and its lock. It is used by one
// goroutine, but for the listener.
type post struct {
	place    Place
	listener *net.UnixListener
	given    bool        // by a service manager, whose the socket is, until it is given up
	socket   os.FileInfo // as it was made
	unlock   func() error
}

// occupy takes lock and socket of a place. It returns nil when somebody else has
// them.
func occupy(ctx context.Context, p Place) (*post, error) {
	l, err := given(p)
	if err != nil {
		return nil, err
	}
	o := &post{place: p, listener: l, given: l != nil}
	if o.unlock, err = p.lock(ctx, o.given); err != nil || o.unlock == nil {
		o.close()
		return nil, err
	}
	if !o.given {
		o.listener, err = listenOn(p.Socket)
	}
	if err == nil && o.listener != nil {
		o.socket, err = os.Lstat(p.Socket)
	}
	if err != nil || o.listener == nil {
		o.close()
		return nil, errors.Join(err, o.unlock())
	}
	return o, nil
}

// lock waits longer where the socket is given: clients wait on it, and the hub
// before may not have noticed yet that it has been taken away.
func (p Place) lock(ctx context.Context, given bool) (func() error, error) {
	wait := config.HubLockWait
	if given {
		wait = config.HubSocketWait
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		unlock, err := lockWithin(ctx, p.lockFile())
		switch {
		case unlock != nil || err != nil:
			return unlock, err
		case ctx.Err() == nil: // state.Lock waits less
		case given:
			return nil, fmt.Errorf("another hub holds %s: mcp-serve stop ends it", p.lockFile())
		default:
			return nil, nil
		}
	}
}

// listenOn makes the socket, in the place of one that nobody listens on. It returns
// nil when somebody does. The lock is held: no other hub does this meanwhile. The
// umask is Private's, or who looks before its mode is set takes it for unsafe.
func listenOn(path string) (*net.UnixListener, error) {
	if _, err := os.Lstat(path); err == nil {
		conn, err := net.DialTimeout("unix", path, config.HubLockWait)
		if err == nil {
			return nil, conn.Close()
		}
		if !isNobody(err) {
			return nil, fmt.Errorf("the socket %s is in use: %w", path, err)
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // it would remove whatever is there by then
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// lost reports that another socket, or none, is where ours was: nobody finds this
// hub any more.
func (o *post) lost() bool {
	now, err := os.Lstat(o.place.Socket)
	return err != nil && os.IsNotExist(err) || err == nil && !os.SameFile(now, o.socket)
}

// leave gives up socket and lock and wakes who accepts.
func (o *post) leave() error {
	var err error
	if !o.given && !o.lost() {
		err = os.Remove(o.place.Socket)
	}
	return errors.Join(err, o.listener.SetDeadline(time.Now()), o.unlock())
}

func (o *post) close() {
	if o.listener != nil {
		o.listener.Close()
	}
}
