package pkg

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"postern/pkg/mcptest"
)

// systemd is a service manager that holds the socket of mcp-serve install.
type systemd struct {
	*shared
	socket *os.File
	path   string
}

// installed listens where the units of mcp-serve install say.
func installed(s *shared) *systemd {
	s.t.Helper()
	units := s.run0("mcp-serve", "install", "--dry-run")
	_, path, _ := strings.Cut(units, "\nListenStream=")
	path, _, _ = strings.Cut(path, "\n")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil { // as DirectoryMode says
		s.t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		s.t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := os.Chmod(path, 0o600); err != nil {
		s.t.Fatal(err)
	}
	f, err := l.File()
	if err != nil {
		s.t.Fatal(err)
	}
	l.Close()
	s.t.Cleanup(func() { f.Close() })
	return &systemd{s, f, path}
}

// begin starts the service as the unit says.
func (m *systemd) begin() (ended chan error) {
	m.t.Helper()
	c := m.command("mcp-serve", "hub")
	c.Args = append([]string{"/bin/sh", "-c", `LISTEN_PID=$$ exec "$0" "$@"`, c.Path}, c.Args[1:]...)
	c.Path = "/bin/sh"
	c.Env = append(c.Env, "LISTEN_FDS=1", "LISTEN_FDNAMES=postern.socket")
	c.ExtraFiles, c.Dir = []*os.File{m.socket}, "/"
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		m.t.Fatal(err)
	}
	ended = make(chan error, 1)
	go func() { ended <- c.Wait() }() // ends with the hub
	return ended
}

func (m *systemd) wantEnd(ended chan error) {
	m.t.Helper()
	select {
	case err := <-ended:
		if err != nil {
			m.t.Errorf("the service ended with %v", err)
		}
	case <-time.After(mcptest.Bound):
		m.t.Error("the service does not end")
	}
}

// The service that mcp-serve install writes takes the socket through its keeper:
// agents that wait on it are served by that hub alone, its end leaves the socket to
// the manager, and the next one is served as well.
func TestHubActivated(t *testing.T) {
	s := newShared(t, "s")
	m := installed(s)
	for range 2 {
		one := mcptest.Start(t, s.command("mcp-serve"))
		hello := one.BeginInitialize()
		ended := m.begin() // as somebody connects
		if a := one.Expect(hello); a.Error.Ok() {
			t.Fatalf("%s", a.Raw)
		}
		one.Notify("notifications/initialized", "")
		s.call(one, "s__echo", "")
		two := s.agent()
		s.call(two, "s__echo", "")
		s.theHub()
		if found := s.environs("LISTEN_"); len(found) != 2 {
			t.Errorf("the manager's variables are in %q, not in the hub's two processes", found)
		}
		one.Close()
		two.Close()
		s.run0("mcp-serve", "stop")
		m.wantEnd(ended)
		s.nothingLeft()
		if found := s.sockets(); len(found) != 1 || found[0] != m.path {
			t.Errorf("sockets %v", found)
		}
	}
	if n := s.begun(); n != 2 {
		t.Errorf("%d servers", n)
	}
	s.once()
}

// Its hub is replaced while an agent uses it: that agent goes on, and others do not
// wait for the manager, which starts none before its end.
func TestHubActivatedUpgrade(t *testing.T) {
	s := newShared(t, "s")
	s.ownBinaries()
	s.linked("1.2.3") // so that the next one has the same place
	m := installed(s)
	ended := m.begin()
	one := s.agent()
	s.call(one, "s__echo", "")
	s.theHub()
	s.newBinary()
	for range 2 {
		two := s.agent()
		s.call(two, "s__echo", "")
		if said := two.Stderr(); said != "" {
			t.Errorf("said: %s", said)
		}
		two.Close()
	}
	if found := s.hubs(); len(found) != 2 {
		t.Errorf("hubs %v", found)
	}
	s.call(one, "s__echo", "")
	one.Close()
	m.wantEnd(ended)
	s.stop()
}

// linked puts mcp-serve as a release has it in the place of the home's own: what the
// linker sets names the build.
func (s *shared) linked(version string) {
	s.t.Helper()
	path := filepath.Join(s.bin, "mcp-serve")
	c := exec.Command("go", "build", "-buildvcs=false", "-ldflags", "-X postern/pkg/cmdmain.version="+version, "-o", path+".new", "postern/cmd/mcp-serve")
	if out, err := c.CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	if err := os.Rename(path+".new", path); err != nil {
		s.t.Fatal(err)
	}
}
