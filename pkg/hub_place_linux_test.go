package pkg

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"postern/pkg/mcptest"
)

// Hub and keeper are killed at the same time: the socket that is left is in
// nobody's way.
func TestHubStaleSocket(t *testing.T) {
	s := newShared(t, "s")
	one := s.agent()
	s.call(one, "s__echo", "")
	one.Close()
	h, before := s.theHub(), s.sockets()
	server := s.servers(h)
	s.kill(h.keeper, syscall.SIGSTOP)
	s.kill(h.owner, syscall.SIGKILL)
	s.kill(h.keeper, syscall.SIGKILL)
	s.wantGone(append(server, h.keeper, h.owner)...)
	if after := s.sockets(); len(before) != 1 || len(after) != 1 || after[0] != before[0] {
		t.Fatalf("sockets %v, then %v", before, after)
	}
	two := s.agent()
	s.call(two, "s__echo", "")
	s.theHub()
	if found := s.sockets(); len(found) != 1 || found[0] != before[0] {
		t.Errorf("sockets %v", found)
	}
	s.stop(two)
}

// spy listens where the hub would and counts the bytes it gets.
func spy(t *testing.T, path string) *atomic.Int64 {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var got atomic.Int64
	var wg sync.WaitGroup
	t.Cleanup(func() { l.Close(); wg.Wait() })
	wg.Go(func() { // ends with the listener
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.SetDeadline(time.Now().Add(time.Second))
			room := make([]byte, 1000)
			n, _ := conn.Read(room)
			got.Add(int64(n))
			conn.Close()
		}
	})
	return &got
}

// A folder that others can reach, or a socket of somebody else's, gets not one
// byte: the session is served by its own process, which says why once (S15, C1,
// C5, R76).
func TestHubForeignSocket(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, path string){
		"an open folder": func(t *testing.T, path string) {
			if err := os.Chmod(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
		},
		"a link": func(t *testing.T, path string) {
			dir := filepath.Dir(path)
			if err := errors.Join(os.Rename(dir, dir+"-real"), os.Symlink(dir+"-real", dir)); err != nil {
				t.Fatal(err)
			}
		},
		"the socket of another": func(t *testing.T, path string) {
			if os.Geteuid() != 0 {
				t.Skip("only root can give a file away")
			}
			if err := os.Chown(path, 65534, 65534); err != nil {
				t.Fatal(err)
			}
		},
		"the folder of another": func(t *testing.T, path string) {
			if os.Geteuid() != 0 {
				t.Skip("only root can give a folder away")
			}
			if err := os.Chown(filepath.Dir(path), 65534, 65534); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShared(t, "s")
			a := s.agent()
			s.theHub()
			path := s.sockets()[0]
			s.stop(a)
			got := spy(t, path)
			spoil(t, path)
			a = s.agent()
			s.call(a, "s__echo", "")
			if n := got.Load(); n > 0 {
				t.Errorf("%d bytes went to whoever listens there", n)
			}
			if found := s.hubs(); len(found) > 0 {
				t.Errorf("hubs %v", found)
			}
			if said := a.Stderr(); strings.Count(said, "\n") != 1 {
				t.Errorf("said: %s", said)
			}
			if status := a.Close(); status != 0 {
				t.Errorf("ended with %d", status)
			}
			s.nothingLeft()
		})
	}
}

// A hub without sessions ends by itself, with its servers, and takes its socket
// away. While there is one it stays.
func TestHubIdleExit(t *testing.T) {
	s := newShared(t, "s")
	s.setting("hub: {idle_exit: 1s}")
	a := s.agent()
	s.call(a, "s__echo", "")
	h := s.theHub()
	time.Sleep(1500 * time.Millisecond) // the subject: a session that does nothing is one
	if now := s.theHub(); now != h {
		t.Errorf("hub %v is now %v", h, now)
	}
	a.Close()
	s.wantGone(h.keeper, h.owner)
	s.nothingLeft()
	if found := s.sockets(); len(found) > 0 {
		t.Errorf("sockets are left: %v", found)
	}
	if n := len(mcptest.Events(t, s.events, "clean")); n != 1 {
		t.Errorf("%d servers saw the end of their input", n)
	}
	b := s.agent()
	s.call(b, "s__echo", "")
	s.stop(b)
}

// Where nothing is declared no hub is started, and nothing is written (R76).
func TestHubNothingDeclared(t *testing.T) {
	s := newShared(t)
	for _, text := range []string{"", "\n"} {
		s.write(".config/postern/mcp.yaml", text)
		a := s.agent()
		a.Ask("tools/list", "")
		if len(s.hubs()) > 0 || len(s.sockets()) > 0 {
			t.Errorf("%q: hubs %v, sockets %v", text, s.hubs(), s.sockets())
		}
		if status := a.Close(); status != 0 || a.Stderr() != "" {
			t.Errorf("ended with %d: %s", status, a.Stderr())
		}
	}
	s.nothingLeft()
}

// A bridge that may gain no privileges starts no hub, because all agents would
// share its bounds; it uses one that is there, and else says that it has none.
func TestHubConfined(t *testing.T) {
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		t.Skip("no setpriv here")
	}
	s := newShared(t, "s")
	confined := func() *mcptest.Agent {
		c := s.command("mcp-serve")
		c.Args = append([]string{setpriv, "--no-new-privs"}, c.Args...)
		c.Args[2] = c.Path
		c.Path = setpriv
		a := mcptest.Start(t, c)
		a.Initialize()
		return a
	}
	alone := confined()
	s.call(alone, "s__echo", "")
	if found := s.hubs(); len(found) > 0 {
		t.Errorf("hubs %v", found)
	}
	if n := strings.Count(alone.Stderr(), "\n"); n != 1 {
		t.Errorf("said: %s", alone.Stderr())
	}
	other := s.agent()
	pid := s.server(other, "s")
	with := confined()
	if got := s.server(with, "s"); got != pid || with.Stderr() != "" {
		t.Errorf("served by %d, not %d; said %s", got, pid, with.Stderr())
	}
	s.stop(alone, other, with)
}
