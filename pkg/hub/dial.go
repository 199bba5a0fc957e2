package hub

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"postern/pkg/config"
	"postern/pkg/state"
)

// Dial connects to the hub of this place. Before it returns, and so before a byte
// is sent, it knows that folder, socket and peer are this user's; what is not is
// an *state.UnsafeError. Nobody listening is a *NoHubError: no socket, or one
// whose hub is gone, which is recognised by connecting and by nothing else. The
// caller closes the connection. It takes HubReach at most, or until ctx ends.
func (p Place) Dial(ctx context.Context) (net.Conn, error) {
	if err := state.CheckRuntime(filepath.Dir(p.Socket), ""); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, &NoHubError{p.Socket}
		}
		return nil, err
	}
	if err := checkSocket(p.Socket); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, &NoHubError{p.Socket}
		}
		return nil, err
	}
	conn, err := connect(ctx, p.Socket)
	if err != nil {
		return nil, err
	}
	if err := checkPeer(conn); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// connect waits while the hub has more connections waiting than its queue takes.
func connect(ctx context.Context, socket string) (*net.UnixConn, error) {
	ctx, cancel := context.WithTimeout(ctx, config.HubReach)
	defer cancel()
	var d net.Dialer
	for wait := config.HubReachFirst; ; wait = min(2*wait, config.HubReachMost) {
		conn, err := d.DialContext(ctx, "unix", socket)
		switch {
		case err == nil:
			return conn.(*net.UnixConn), nil
		case isNobody(err):
			return nil, &NoHubError{socket}
		case !isQueueFull(err):
			return nil, err
		}
		if !pause(ctx, wait) {
			return nil, err
		}
	}
}

// pause waits for d; false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// DialAny connects to a hub of these directories, of whichever build: the newest
// one that answers (K7). It creates nothing. The rest is as with Place.Dial; a
// socket that is not to be believed counts only when no other answers.
func DialAny(ctx context.Context, dirs state.Dirs) (net.Conn, error) {
	found, err := dialFirst(ctx, dirs, 1, socketSuffix)
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// DialAll connects to every hub of these directories, the newest first, and after
// them to those that retire, which take orders as long as they have sessions. The
// error is DialAny's, when there is none.
func DialAll(ctx context.Context, dirs state.Dirs) ([]net.Conn, error) {
	return dialFirst(ctx, dirs, math.MaxInt, socketSuffix, retiredSuffix)
}

// dialFirst connects to the first most hubs that answer on sockets with these ends.
func dialFirst(ctx context.Context, dirs state.Dirs, most int, suffixes ...string) (found []net.Conn, err error) {
	for _, suffix := range suffixes {
		for _, s := range socketsOf(dirs, suffix) {
			conn, failed := Place{Dirs: dirs, Socket: s}.Dial(ctx)
			_, nobody := errors.AsType[*NoHubError](failed)
			switch {
			case failed == nil:
				if found = append(found, conn); len(found) == most {
					return found, nil
				}
			case !nobody:
				err = cmp.Or(err, failed)
			case suffix == retiredSuffix:
				_ = os.Remove(s) // that hub was killed, and its pid is in the name
			}
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	return nil, cmp.Or[error](err, &NoHubError{filepath.Join(dirs.Runtime, family(dirs)+"*"+socketSuffix)})
}

// socketsOf are the files of hubs of these directories, the newest first.
func socketsOf(dirs state.Dirs, suffix string) []string {
	sockets, _ := filepath.Glob(filepath.Join(quoteGlob(dirs.Runtime), family(dirs)+"*"+suffix)) // the pattern is one
	made := map[string]time.Time{}
	for _, s := range sockets {
		if fi, err := os.Lstat(s); err == nil {
			made[s] = fi.ModTime()
		}
	}
	slices.SortStableFunc(sockets, func(a, b string) int { return made[b].Compare(made[a]) })
	return sockets
}

// quoteGlob is dir as a pattern that matches it alone.
func quoteGlob(dir string) string {
	var out []rune
	for _, r := range dir {
		if r == '*' || r == '?' || r == '[' || r == '\\' && filepath.Separator == '/' {
			out = append(out, '\\')
		}
		out = append(out, r)
	}
	return string(out)
}
