//go:build linux || darwin

package hub

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"postern/pkg/config"
	"postern/pkg/mcptest"
	"postern/pkg/state"
)

// scratch are the directories of a user of a test, the paths short enough for a
// socket. What is made in them is as a hub makes it.
func scratch(t *testing.T) state.Dirs {
	t.Helper()
	Private()
	dir, err := os.MkdirTemp("/tmp", "hub")
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	dirs := state.Dirs{
		Config: filepath.Join(dir, "config"), State: filepath.Join(dir, "state"),
		Cache: filepath.Join(dir, "cache"), Runtime: filepath.Join(dir, "run"),
	}
	if err := state.EnsureDir(dirs.Config); err != nil {
		t.Fatal(err)
	}
	return dirs
}

func placeOf(t *testing.T, dirs state.Dirs, build string) Place {
	t.Helper()
	p, err := PlaceOf(dirs, build)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// MB-060, MB-063: each build and each set of directories has a hub of its own;
// which way a directory is named, or whether it exists yet, makes no difference.
func TestPlaces(t *testing.T) {
	dirs := scratch(t)
	here := placeOf(t, dirs, "a")
	seen := map[string]string{here.Socket: "the first"}
	for name, p := range map[string]Place{
		"another build":  placeOf(t, dirs, "b"),
		"another config": placeOf(t, state.Dirs{Config: dirs.State, State: dirs.State, Cache: dirs.Cache, Runtime: dirs.Runtime}, "a"),
		"swapped":        placeOf(t, state.Dirs{Config: dirs.State, State: dirs.Config, Cache: dirs.Cache, Runtime: dirs.Runtime}, "a"),
		"another cache":  placeOf(t, state.Dirs{Config: dirs.Config, State: dirs.State, Cache: dirs.Cache + "2", Runtime: dirs.Runtime}, "a"),
	} {
		if other := seen[p.Socket]; other != "" {
			t.Errorf("%s has the place of %s", name, other)
		}
		seen[p.Socket] = name
	}
	link := dirs.Config + "-link"
	if err := os.Symlink(dirs.Config, link); err != nil {
		t.Fatal(err)
	}
	linked := dirs
	linked.Config = link
	if p := placeOf(t, linked, "a"); p.Socket != here.Socket {
		t.Errorf("by a symlink it is %s, not %s", p.Socket, here.Socket)
	}
	if err := os.Mkdir(dirs.Cache, 0o700); err != nil { // it did not exist until now
		t.Fatal(err)
	}
	if p := placeOf(t, dirs, "a"); p.Socket != here.Socket {
		t.Errorf("once the cache is there it is %s, not %s", p.Socket, here.Socket)
	}
}

// C1: a path that the system does not take is an error that names both.
func TestSocketPathTooLong(t *testing.T) {
	dirs := scratch(t)
	dirs.Runtime = filepath.Join(dirs.Runtime, strings.Repeat("x", maxSocketPath))
	var long *PathError
	if _, err := PlaceOf(dirs, "a"); !errors.As(err, &long) || !strings.Contains(err.Error(), long.Path) || !strings.Contains(err.Error(), fmt.Sprint(maxSocketPath)) {
		t.Errorf("%v", err)
	}
	dirs = scratch(t)
	name := filepath.Base(placeOf(t, dirs, "a").Socket)
	dirs.Runtime += strings.Repeat("x", maxSocketPath-len(dirs.Runtime)-1-len(name))
	p := placeOf(t, dirs, "a")
	if l, err := listenOn(p.Socket); err != nil || len(p.Socket) != maxSocketPath {
		t.Errorf("%d bytes: %v", len(p.Socket), err)
	} else {
		l.Close()
	}
}

// MB-060: what the linker set names the build; else the file does.
func TestBuild(t *testing.T) {
	own := Build("")
	if again := Build(""); own != again || !strings.HasPrefix(own, "file ") {
		t.Errorf("this build is %q, then %q", own, again)
	}
	named := Build("1.2")
	if again := Build("1.2"); named == own || named == Build("1.3") || named != again {
		t.Error("versions are not told apart")
	}
}

// C1, C5: an unsafe folder, a socket that others can use or that is none, is not
// connected to.
func TestUnsafePlacesAreNotDialled(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, p Place){
		"a folder for all": func(t *testing.T, p Place) { chmod(t, filepath.Dir(p.Socket), 0o755) },
		"a socket for all": func(t *testing.T, p Place) { chmod(t, p.Socket, 0o666) },
		"a folder of another": func(t *testing.T, p Place) {
			giveAway(t, filepath.Dir(p.Socket))
		},
		"a socket of another": func(t *testing.T, p Place) { giveAway(t, p.Socket) },
		"a file": func(t *testing.T, p Place) {
			_ = os.Remove(p.Socket)
			if err := os.WriteFile(p.Socket, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"a symlink to a socket": func(t *testing.T, p Place) {
			if err := errors.Join(os.Rename(p.Socket, p.Socket+"2"), os.Symlink(p.Socket+"2", p.Socket)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := placeOf(t, scratch(t), "a")
			l, err := listenOn(p.Socket)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			spoil(t, p)
			var unsafe *state.UnsafeError
			if conn, err := p.Dial(t.Context()); !errors.As(err, &unsafe) {
				t.Errorf("%v, %v", conn, err)
			}
			spawned := false
			if _, err := p.Reach(t.Context(), func() error { spawned = true; return nil }); !errors.As(err, &unsafe) || spawned {
				t.Errorf("reached: %v, spawned %v", err, spawned)
			}
			if _, err := DialAny(t.Context(), p.Dirs); !errors.As(err, &unsafe) {
				t.Errorf("any: %v", err)
			}
			if err := l.SetDeadline(time.Now()); err != nil {
				t.Fatal(err)
			}
			if conn, err := l.Accept(); err == nil {
				t.Errorf("it was connected to: %v", conn.RemoteAddr())
			}
		})
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func giveAway(t *testing.T, path string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	if err := os.Lchown(path, 4711, -1); err != nil {
		t.Fatal(err)
	}
}

// MB-061: whether a hub is there is known by connecting: an old socket, and the pid
// in an old lock, say nothing. The one who listens next replaces the socket.
func TestStaleSocket(t *testing.T) {
	p := placeOf(t, scratch(t), "a")
	var nobody *NoHubError
	if _, err := p.Dial(t.Context()); !errors.As(err, &nobody) {
		t.Errorf("without a socket: %v", err)
	}
	l, err := listenOn(p.Socket)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := listenOn(p.Socket); err != nil || again != nil {
		t.Errorf("a socket that somebody listens on was taken: %v, %v", again, err)
	}
	l.Close() // as a killed hub leaves it
	if err := os.WriteFile(p.lockFile(), fmt.Appendf(nil, "%d\n", os.Getpid()), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Dial(t.Context()); !errors.As(err, &nobody) {
		t.Errorf("with an old socket: %v", err)
	}
	if !p.Free(t.Context()) {
		t.Error("an old lock is held")
	}
	again, err := listenOn(p.Socket)
	if err != nil || again == nil {
		t.Fatalf("%v, %v", again, err)
	}
	defer again.Close()
	conn, err := p.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

// K7: other commands find the newest hub that answers, of whatever build, and none
// of other directories.
func TestDialAny(t *testing.T) {
	dirs := scratch(t)
	var nobody *NoHubError
	if _, err := DialAny(t.Context(), dirs); !errors.As(err, &nobody) {
		t.Errorf("without a folder: %v", err)
	}
	other := dirs
	other.State = dirs.Cache
	stranger, err := listenOn(placeOf(t, other, "a").Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	if _, err := DialAny(t.Context(), dirs); !errors.As(err, &nobody) {
		t.Errorf("of other directories: %v", err)
	}
	var listeners []*net.UnixListener
	for i, build := range []string{"c", "a", "b"} {
		p := placeOf(t, dirs, build)
		l, err := listenOn(p.Socket)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		made := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(p.Socket, made, made); err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, l)
	}
	for i := len(listeners) - 1; i >= 0; i-- {
		conn, err := DialAny(t.Context(), dirs)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := conn.RemoteAddr().String(), listeners[i].Addr().String(); got != want {
			t.Errorf("connected to %s, not %s", got, want)
		}
		conn.Close()
		listeners[i].Close()
	}
	if _, err := DialAny(t.Context(), dirs); !errors.As(err, &nobody) {
		t.Errorf("with old sockets only: %v", err)
	}
}

// Of many that look for the same hub at the same time one starts it, and all come
// to it. Nobody starts one beside a hub that is about to listen.
func TestReach(t *testing.T) {
	p := placeOf(t, scratch(t), "a")
	var spawned atomic.Int32
	spawn := func() error { // a hub, which has the lock for as long as it listens
		spawned.Add(1)
		unlock, err := try(p.lockFile())
		if err != nil || unlock == nil {
			return errors.Join(err, errors.New("somebody has the lock"))
		}
		t.Cleanup(func() { _ = unlock() })
		l, err := listenOn(p.Socket)
		if err == nil {
			t.Cleanup(func() { l.Close() })
		}
		return err
	}
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { // ends with Reach
			conn, err := p.Reach(t.Context(), spawn)
			if err != nil {
				t.Error(err)
				return
			}
			conn.Close()
		})
	}
	wg.Wait()
	if n := spawned.Load(); n != 1 {
		t.Errorf("started %d times", n)
	}
}

func TestReachWaitsForTheHolder(t *testing.T) {
	p := placeOf(t, scratch(t), "a")
	unlock, err := try(p.lockFile())
	if err != nil || unlock == nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	asked := make(chan struct{})
	got := make(chan error, 1)
	go func() { // ends with Reach
		close(asked)
		conn, err := p.Reach(ctx, func() error { t.Error("started beside a hub"); return nil })
		if err == nil {
			conn.Close()
		}
		got <- err
	}()
	<-asked
	l, err := listenOn(p.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	defer func() { _ = unlock() }()
	select {
	case err := <-got:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(mcptest.Bound):
		t.Error("it does not come to the hub")
	}
}

// A hub that does not come, because it was killed say, is started again, and waited
// for as long as is said. What starting it said is the error.
func TestReachFails(t *testing.T) {
	p := placeOf(t, scratch(t), "a")
	broken := errors.New("broken")
	if _, err := p.Reach(t.Context(), func() error { return broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	var nobody *NoHubError
	begin, n := time.Now(), 0
	if _, err := p.Reach(t.Context(), func() error { n++; return nil }); !errors.As(err, &nobody) || n < 2 || n > int(config.HubReach/config.HubReachAgain) || time.Since(begin) < config.HubReach {
		t.Errorf("%v after %v, started %d times", err, time.Since(begin), n)
	}
	n = 0
	conn, err := p.Reach(t.Context(), func() error { // the second one lives
		if n++; n < 2 {
			return nil
		}
		l, err := listenOn(p.Socket)
		if err == nil {
			t.Cleanup(func() { l.Close() })
		}
		return err
	})
	if err != nil || n != 2 {
		t.Fatalf("%v, started %d times", err, n)
	}
	conn.Close()
	unlock, err := try(p.startFile())
	if err != nil || unlock == nil {
		t.Errorf("the right to start was kept: %v", err)
	} else if err := unlock(); err != nil {
		t.Error(err)
	}
}

// 00: what a hub on demand is started with.
func TestEnvironment(t *testing.T) {
	dirs := state.Dirs{Config: "/c", State: "/s", Cache: "/x", Runtime: "/r"}
	got := Environment([]string{"HOME=/h", "GITHUB_TOKEN=secret", "POSTERN_TOKEN=t", "POSTERN_STATE_DIR=/other", "LC_ALL=C", "XDG_RUNTIME_DIR=/run", "TERM=x", "LD_PRELOAD=y"}, dirs)
	want := "HOME=/h LC_ALL=C XDG_RUNTIME_DIR=/run POSTERN_CONFIG_DIR=/c POSTERN_STATE_DIR=/s POSTERN_CACHE_DIR=/x POSTERN_RUNTIME_DIR=/r"
	if text := strings.Join(got, " "); text != want {
		t.Errorf("%s\nnot\n%s", text, want)
	}
}

// The mark of a stop counts for who had a hub before, and for nobody else.
func TestStopMark(t *testing.T) {
	p := placeOf(t, scratch(t), "a")
	before := time.Now().Add(-time.Second)
	if p.StoppedSince(before) {
		t.Error("stopped by nobody")
	}
	p.markStopped()
	if !p.StoppedSince(before) || p.StoppedSince(time.Now().Add(time.Second)) || placeOf(t, p.Dirs, "b").StoppedSince(before) {
		t.Error("the mark is misread")
	}
	if err := os.Chtimes(p.stopFile(), before, before); err != nil {
		t.Fatal(err)
	}
	p.markStopped()
	if !p.StoppedSince(before.Add(500 * time.Millisecond)) {
		t.Error("a second stop does not count")
	}
}

// All hubs that take orders are reached, the newest of those that take sessions first;
// what is left of one that was killed is removed.
func TestDialAll(t *testing.T) {
	dirs := scratch(t)
	var nobody *NoHubError
	if _, err := DialAll(t.Context(), dirs); !errors.As(err, &nobody) {
		t.Errorf("without a hub: %v", err)
	}
	a, b := placeOf(t, dirs, "a"), placeOf(t, dirs, "b")
	old, stale := a.beside("-1"+retiredSuffix), a.beside("-2"+retiredSuffix)
	for _, path := range []string{a.Socket, b.Socket, old, stale} {
		l, err := listenOn(path)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if path == stale {
			l.Close()
		}
	}
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(a.Socket, past, past); err != nil {
		t.Fatal(err)
	}
	conns, err := DialAll(t.Context(), dirs)
	var reached []string
	for _, conn := range conns {
		reached = append(reached, conn.RemoteAddr().String())
		conn.Close()
	}
	if want := []string{b.Socket, a.Socket, old}; err != nil || fmt.Sprint(reached) != fmt.Sprint(want) {
		t.Errorf("%v, %v, not %v", reached, err, want)
	}
	if _, err := os.Lstat(stale); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what is left of a killed one: %v", err)
	}
}

// Where no lock can be taken there can be no hub: that is said at once, and with the
// reason, and nobody waits for a hub.
func TestReachWithoutLocks(t *testing.T) {
	for _, name := range []func(Place) string{Place.startFile, Place.lockFile} {
		p := placeOf(t, scratch(t), "a")
		if err := os.Mkdir(name(p), 0o700); err != nil { // as on a file system that is full or read-only
			t.Fatal(err)
		}
		var nobody *NoHubError
		_, err := p.Reach(t.Context(), func() error { t.Error("a hub was started"); return nil })
		if err == nil || errors.As(err, &nobody) || !strings.Contains(err.Error(), name(p)) {
			t.Errorf("%v", err)
		}
		if !p.Free(t.Context()) {
			t.Error("somebody is the hub")
		}
	}
}
