package cmdtest

import (
	"net"
	"os"
	"testing"

	"postern/pkg/hub"
	"postern/pkg/state"
)

// Dirs are the directories of a test, removed when it ends.
func Dirs(t testing.TB) state.Dirs {
	t.Helper()
	run, err := os.MkdirTemp("", "run-") // short: paths of sockets have 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(run) })
	return state.Dirs{Config: t.TempDir(), State: t.TempDir(), Cache: t.TempDir(), Runtime: run}
}

// FakeHub listens where commands look for the hub of dirs, until the test ends. serve
// is given each connection and closes it; with nil nobody takes them.
func FakeHub(t testing.TB, dirs state.Dirs, serve func(net.Conn)) *net.UnixListener {
	t.Helper()
	place, err := hub.PlaceOf(dirs, "fake")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: place.Socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if err := os.Chmod(place.Socket, 0o600); err != nil {
		t.Fatal(err)
	}
	if serve != nil {
		go func() { // ends with l
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				go serve(conn) // ends with the connection
			}
		}()
	}
	return l
}
